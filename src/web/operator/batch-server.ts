import { FxError, undecided } from "../../core/errors.ts";
import type { BulkAnswer, BulkLine } from "../../core/service.ts";
import { bulkType, decodeBulkAnswer, encodeBulkLine } from "../../wire/bulk.ts";
import { decodeProblem } from "../../wire/problem.ts";
import type { RatesJson } from "../../wire/schemas.ts";
import { NoAnswer, ProblemAnswer } from "../answers.ts";
import type { Api } from "../api.ts";

/** Attempts in a row that bring no answer. */
const attempts = 5;
/** The same, where the server answers that it is busy. */
const busyAttempts = 100;

/** The server, as a batch asks it. Lines without an answer are sent again with their keys. */
export class BatchServer {
  readonly #api: Api;
  readonly #signal: AbortSignal;
  /** Keys of lines that were sent, and may have been done without an answer. */
  readonly #open: Set<string>;

  /** @param open is kept from one run of a batch to the next */
  constructor(api: Api, signal: AbortSignal, open = new Set<string>()) {
    this.#api = api;
    this.#signal = signal;
    this.#open = open;
  }

  /**
   * The id of the rate table in force.
   * @throws NoAnswer or FxError if it is not told
   */
  async tableId(): Promise<string> {
    const { tableId } = await this.#insist(() => this.#api.get<RatesJson>("api/rates", this.#signal));
    return tableId;
  }

  /**
   * What the lines would come to. They are sent as one, because each is answered as those before it would leave the
   * ledger.
   * @throws NoAnswer or FxError if they are not answered
   */
  async *dryRun(chunks: AsyncIterable<readonly BulkLine[]>): AsyncGenerator<readonly BulkAnswer[]> {
    const lines: BulkLine[] = [];
    for await (const chunk of chunks) lines.push(...chunk);
    const answers = await this.#insist(async () => {
      const fresh = lines.map(unsendable);
      await this.#send("api/bulk?dryRun=true", lines, fresh);
      return fresh;
    });
    yield answers as BulkAnswer[];
  }

  /** @throws NoAnswer or FxError if the rest is not answered */
  async *bulk(chunks: AsyncIterable<readonly BulkLine[]>): AsyncGenerator<readonly BulkAnswer[]> {
    for await (const lines of chunks) {
      const answers = lines.map(unsendable);
      await this.#insist(() => this.#send("api/bulk", lines, answers));
      yield answers as BulkAnswer[];
    }
  }

  /** Sends those that have no answer yet, and takes their answers. */
  async #send(path: string, lines: readonly BulkLine[], answers: (BulkAnswer | undefined)[]): Promise<void> {
    const left = [...lines.entries()].flatMap(([index, line]) =>
      answers[index] !== undefined || line instanceof FxError ? [] : [{ index, line }],
    );
    if (left.length === 0) return;
    const body = left.map(({ line }) => `${encodeBulkLine(line)}\n`).join("");
    const init = { method: "POST", headers: { "content-type": bulkType }, body };
    let count = 0;
    try {
      for await (const texts of this.#api.lines(path, this.#signal, init)) {
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
      const isBegun = !(failure instanceof ProblemAnswer);
      if (isBegun) for (const { line } of left.slice(count)) this.#open.add(line.key ?? "");
      throw failure;
    }
  }

  /** Asks again while the server is busy or not there. */
  async #insist<T>(ask: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await ask();
      } catch (thrown) {
        const failure = thrown instanceof ProblemAnswer ? errorOf(thrown) : thrown;
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

function errorOf({ problem }: ProblemAnswer): FxError {
  return decodeProblem(problem, problem.status) ?? new FxError("internal", problem.detail);
}
