import type { Account } from "../core/account.ts";
import { type BulkRequest, requestText, requestTextOf } from "../core/change.ts";
import { FxError } from "../core/errors.ts";
import { accountAfter, type Entry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import { keyReused } from "../core/refusal.ts";
import type { BulkAnswer, ExchangeService } from "../core/service.ts";
import type { LineRequest } from "./keys.ts";

/** What is asked of the place that a batch is for. */
export type Asked = Pick<ExchangeService, "account" | "bulk" | "statement" | "rates">;

/** Questions under way at once. */
const questionsAtOnce = 64;

/** Finds what was done before, and on which accounts. Carries nothing out, and leaves no answer under a key. */
export class Lookup {
  readonly #service: Asked;
  /** By PESEL: the account as the place has it, or why there is none. */
  readonly accounts = new Map<Pesel, Account | FxError>();

  constructor(service: Asked) {
    this.#service = service;
  }

  /** The answer that each got before; undefined where none is known. */
  async answersOf(requests: readonly LineRequest[]): Promise<(BulkAnswer | undefined)[]> {
    const unknown = new Set(requests.map(({ pesel }) => pesel).filter((pesel) => !this.accounts.has(pesel)));
    await atOnce([...unknown], async (pesel) => void this.accounts.set(pesel, await this.#account(pesel)));
    const answers: (BulkAnswer | undefined)[] = requests.map(() => undefined);
    const known = [...requests.entries()].filter(([, { pesel }]) => !this.#isAbsent(pesel));
    const orders: number[] = [];
    const probes: BulkRequest[] = [];
    const others = new Map<Pesel, [index: number, request: LineRequest][]>();
    for (const [index, request] of known) {
      // Without an open account, an order would be refused, and its key keep that answer.
      if (request.kind === "exchange" && !(this.accounts.get(request.pesel) as Account).closed) {
        orders.push(index);
        probes.push({ ...request, table: neverInForce });
      } else others.set(request.pesel, [...(others.get(request.pesel) ?? []), [index, request]]);
    }
    let probed = 0;
    for await (const found of this.#service.bulk(once(probes))) {
      for (const answer of found) {
        const isNew = answer instanceof FxError && answer.code === "rate-changed" && !answer.replayed;
        answers[orders[probed] as number] = isNew ? undefined : answer;
        probed += 1;
      }
    }
    await atOnce([...others], async ([pesel, asked]) => {
      const entries = await this.#entries(pesel, new Set(asked.map(([, { key }]) => key)));
      for (const [index, request] of asked) {
        const entry = entries.get(request.key);
        if (entry !== undefined) answers[index] = this.#answerOf(entry, request);
      }
    });
    return answers;
  }

  /** The account's entries that were made under these keys. */
  async #entries(pesel: Pesel, keys: ReadonlySet<string>): Promise<ReadonlyMap<string, Entry>> {
    const found = new Map<string, Entry>();
    for (let cursor: string | undefined; ; ) {
      const { items, next } = await this.#service.statement(pesel, { limit: 1000, cursor });
      for (const entry of items) {
        if (entry.key !== undefined && keys.has(entry.key)) found.set(entry.key, entry);
      }
      if (next === undefined || found.size === keys.size) return found;
      cursor = next;
    }
  }

  /** What is answered to a request under a key that `entry` has. */
  #answerOf(entry: Entry, request: LineRequest): BulkAnswer {
    if (requestTextOf(entry) !== requestText(request)) return keyReused();
    const done = { receiptId: entry.id, replayed: true };
    if (request.kind === "opening") return done;
    const account = accountAfter(entry, this.accounts.get(request.pesel) as Account);
    if (request.kind !== "exchange") return { ...done, account };
    return { ...done, account, sold: entry.debited, bought: entry.credited };
  }

  async #account(pesel: Pesel): Promise<Account | FxError> {
    try {
      return await this.#service.account(pesel);
    } catch (error) {
      if (error instanceof FxError && error.code === "account-not-found") return error;
      throw error;
    }
  }

  #isAbsent(pesel: Pesel): boolean {
    return this.accounts.get(pesel) instanceof FxError;
  }
}

/** At this table, an order that was done is answered, and no other is carried out or kept. */
const neverInForce = "none";

async function* once<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  if (items.length > 0) yield items;
}

/** Asks for each, many at once. */
async function atOnce<T>(items: readonly T[], ask: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]();
  const askOnebyOne = async () => {
    for (const item of left) await ask(item);
  };
  await Promise.all(Array.from({ length: questionsAtOnce }, askOnebyOne));
}
