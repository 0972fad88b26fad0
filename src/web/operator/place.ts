import type { Asked } from "../../batch/lookup.ts";
import type { Account } from "../../core/account.ts";
import { FxError, undecided } from "../../core/errors.ts";
import type { Pesel } from "../../core/pesel.ts";
import type { BulkAnswer, BulkLine, RatesInForce, Statement, StatementRequest } from "../../core/service.ts";
import { bulkType, decodeBulkAnswer, encodeBulkLine } from "../../wire/bulk.ts";
import { decodeAccount, decodeAccounts, decodeRates, decodeStatement } from "../../wire/codecs.ts";
import { decodeProblem } from "../../wire/problem.ts";
import { NoAnswer, Refusal, urlOf } from "../answers.ts";
import type { Api } from "../api.ts";

/** Attempts in a row that bring no answer. */
const attempts = 5;
/** The same, where the server answers that it is busy. */
const busyAttempts = 100;

/** How many customers' accounts are asked for one by one rather than as a page of all. */
const customersPerPage = 50;

/** The server, as what decides a batch asks it. Lines without an answer are sent again with their keys. */
export class Place implements Asked {
  readonly #api: Api;
  readonly #signal: AbortSignal;
  /** Keys of lines that were sent, and may have been done without an answer. */
  readonly #open: Set<string>;
  readonly #known = new Map<Pesel, Account>();
  #isAllKnown = false;

  /** @param open is kept from one run of a batch to the next */
  constructor(api: Api, signal: AbortSignal, open = new Set<string>()) {
    this.#api = api;
    this.#signal = signal;
    this.#open = open;
  }

  /**
   * Reads the accounts of many customers a thousand at a time, for `account` to give: as long as that takes fewer
   * requests than one for each, whatever the ledger holds.
   */
  async readAccounts(count: number): Promise<void> {
    let cursor: string | undefined;
    for (let page = 0; page * customersPerPage < count; page += 1) {
      const { items, next } = decodeAccounts(await this.#get("api/users", { limit: 1000, cursor }));
      for (const account of items) this.#known.set(account.pesel, account);
      if (next === undefined) {
        this.#isAllKnown = true;
        return;
      }
      cursor = next;
    }
  }

  async account(pesel: Pesel): Promise<Account> {
    const known = this.#known.get(pesel);
    if (known !== undefined) return known;
    if (this.#isAllKnown) throw new FxError("account-not-found", "There is no account for this PESEL.");
    const body = await this.#get<object>(`api/user/${pesel}`);
    const { closed = false, ...account } = body as { readonly closed?: boolean };
    return decodeAccount(account, closed);
  }

  async rates(): Promise<RatesInForce> {
    return decodeRates(await this.#get("api/rates"));
  }

  async statement(pesel: Pesel, { limit, cursor }: StatementRequest): Promise<Statement> {
    return decodeStatement(await this.#get(`api/user/${pesel}/history`, { limit, cursor }));
  }

  /** @throws NoAnswer or FxError if the rest is not answered */
  async *bulk(chunks: AsyncIterable<readonly BulkLine[]>): AsyncGenerator<readonly BulkAnswer[]> {
    for await (const lines of chunks) {
      const answers = lines.map(unsendable);
      await this.#insist(() => this.#send(lines, answers));
      yield answers as BulkAnswer[];
    }
  }

  /** Sends those that have no answer yet, and takes their answers. */
  async #send(lines: readonly BulkLine[], answers: (BulkAnswer | undefined)[]): Promise<void> {
    const left = [...lines.entries()].flatMap(([index, line]) =>
      answers[index] !== undefined || line instanceof FxError ? [] : [{ index, line }],
    );
    if (left.length === 0) return;
    const body = left.map(({ line }) => `${encodeBulkLine(line)}\n`).join("");
    const init = { method: "POST", headers: { "content-type": bulkType }, body };
    let count = 0;
    try {
      for await (const texts of this.#api.lines("api/bulk", this.#signal, init)) {
        for (const text of texts) {
          const { line: number, answer } = decodeBulkAnswer(JSON.parse(text));
          const asked = left[count];
          if (number === null && answer instanceof FxError) throw answer;
          if (asked === undefined || number !== count + 1) throw new NoAnswer();
          const key = asked.line.key ?? "";
          const isUndecided = answer instanceof FxError && undecided.includes(answer.code);
          // What was done over a connection that broke was not done before.
          const isOwn = this.#open.has(key) && "receiptId" in answer;
          if (isUndecided) this.#open.add(key);
          else this.#open.delete(key);
          answers[asked.index] = isOwn ? { ...answer, replayed: false } : answer;
          count += 1;
        }
      }
      if (count < left.length) throw new NoAnswer();
    } catch (failure) {
      // A refusal of the whole came before any was begun.
      const isBegun = !(failure instanceof Refusal);
      if (isBegun) for (const { line } of left.slice(count)) this.#open.add(line.key ?? "");
      throw failure;
    }
  }

  #get<T>(path: string, query: Readonly<Record<string, string | number | undefined>> = {}): Promise<T> {
    return this.#insist(() => this.#api.get<T>(urlOf(path, query), this.#signal));
  }

  /** Asks again while the server is busy or not there. */
  async #insist<T>(ask: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await ask();
      } catch (thrown) {
        const failure = thrown instanceof Refusal ? errorOf(thrown) : thrown;
        this.#signal.throwIfAborted();
        const isBusy = failure instanceof FxError && ["overloaded", "rate-limited"].includes(failure.code);
        if (!isBusy && !(failure instanceof NoAnswer)) throw failure;
        if (attempt >= (isBusy ? busyAttempts : attempts)) throw failure;
        await new Promise((resolve) => setTimeout(resolve, Math.min(attempt, attempts) * 500));
      }
    }
  }
}

/** The answer to a line that cannot be sent. */
function unsendable(line: BulkLine): BulkAnswer | undefined {
  if (line instanceof FxError) return line;
  try {
    encodeBulkLine(line);
    return undefined;
  } catch (error) {
    if (error instanceof FxError) return error;
    throw error;
  }
}

function errorOf({ problem }: Refusal): FxError {
  return decodeProblem(problem, problem.status) ?? new FxError("internal", problem.detail);
}
