import { type Account, requireAdult } from "../core/account.ts";
import { planChange, requestText } from "../core/change.ts";
import type { CalendarDate } from "../core/date.ts";
import { FxError } from "../core/errors.ts";
import type { Pesel } from "../core/pesel.ts";
import type { RateTable } from "../core/rates.ts";
import { isFinal, requireSameRequest } from "../core/refusal.ts";
import type { BulkAnswer, BulkLine, ExchangeService } from "../core/service.ts";
import type { LineRequest } from "./keys.ts";
import { type Asked, Lookup } from "./lookup.ts";

/**
 * A bulk that decides each line as the place would, on the account as the lines before leave it, and moves and keeps
 * nothing. What it does not do has no receipt.
 */
export class DryRun implements Pick<ExchangeService, "bulk"> {
  readonly #service: Asked;
  readonly #today: CalendarDate;
  readonly #lookup: Lookup;
  /** Accounts as the lines so far leave them, where these change them. */
  readonly #accounts = new Map<Pesel, Account>();
  /** Lines and their answers by PESEL and key, where the file names the key and so may name it again. */
  readonly #answered = new Map<string, { readonly body: string; readonly answer: BulkAnswer }>();
  readonly #isNamed: (key: string) => boolean;
  /** In force, or why there is none. */
  #table: RateTable | FxError | undefined;

  constructor(service: Asked, { today, id }: { readonly today: CalendarDate; readonly id: string }) {
    this.#service = service;
    this.#today = today;
    this.#lookup = new Lookup(service);
    this.#isNamed = (key) => !key.startsWith(`${id}:`);
  }

  async *bulk(lines: AsyncIterable<readonly BulkLine[]>): AsyncGenerator<readonly BulkAnswer[]> {
    for await (const chunk of lines) {
      const requests = chunk.filter((line): line is LineRequest => !(line instanceof FxError));
      const earlier = await this.#lookup.answersOf(requests);
      if (requests.some(({ kind }) => kind !== "opening")) this.#table ??= await this.#tableInForce();
      const answers = requests.map((line, index) => this.#decide(line, earlier[index]));
      const next = answers.values();
      yield chunk.map((line) => (line instanceof FxError ? line : (next.next().value as BulkAnswer)));
    }
  }

  #decide(line: LineRequest, earlier: BulkAnswer | undefined): BulkAnswer {
    if (earlier !== undefined) return earlier;
    const body = requestText(line);
    const name = line.pesel + line.key;
    const before = this.#answered.get(name);
    const answer = attempt(() => (before === undefined ? this.#carryOut(line) : repeated(before, body)));
    const isKept = !(answer instanceof FxError) || isFinal(answer);
    if (isKept && this.#isNamed(line.key)) this.#answered.set(name, { body, answer });
    return answer;
  }

  #carryOut(request: LineRequest): BulkAnswer {
    const { pesel, kind } = request;
    if (kind === "opening") requireAdult(pesel, this.#today);
    const before = this.#accounts.get(pesel) ?? this.#lookup.accounts.get(pesel);
    if (before instanceof FxError && kind !== "opening") throw before;
    const { account, exchange } = planChange(before instanceof FxError ? undefined : before, request, {
      table: () => this.#tableNow(),
      entry: () => undefined,
    });
    this.#accounts.set(pesel, account);
    if (kind === "opening") return { receiptId: "", replayed: false };
    return { account, sold: exchange?.sold, bought: exchange?.bought, receiptId: "", replayed: false };
  }

  #tableNow(): RateTable {
    if (this.#table === undefined || this.#table instanceof FxError) throw this.#table;
    return this.#table;
  }

  async #tableInForce(): Promise<RateTable | FxError> {
    try {
      const { table, notTraded } = await this.#service.rates();
      return notTraded === undefined ? table : new FxError("rates-unavailable", notTraded);
    } catch (error) {
      if (error instanceof FxError) return error;
      throw error;
    }
  }
}

function attempt(decide: () => BulkAnswer): BulkAnswer {
  try {
    return decide();
  } catch (error) {
    if (error instanceof FxError) return error;
    throw error;
  }
}

/** The answer to a request under a key that a line before has. */
function repeated(
  { body, answer }: { readonly body: string; readonly answer: BulkAnswer },
  again: string,
): BulkAnswer {
  requireSameRequest(body === again);
  if (!(answer instanceof FxError)) return { ...answer, replayed: true };
  return new FxError(answer.code, answer.message, { replayed: true });
}
