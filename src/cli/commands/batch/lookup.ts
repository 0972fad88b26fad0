import type { Account } from "../../../core/account.ts";
import { FxError } from "../../../core/errors.ts";
import type { ExchangeOrder } from "../../../core/exchange.ts";
import type { Entry } from "../../../core/journal.ts";
import type { Pesel } from "../../../core/pesel.ts";
import type { BulkAnswer, ExchangeService } from "../../../core/service.ts";
import type { LineRequest } from "./keys.ts";

/** Questions under way at once. */
const questionsAtOnce = 64;

/** Finds what was done before, and on which accounts. Carries nothing out, and leaves no answer under a key. */
export class Lookup {
  readonly #service: ExchangeService;
  /** By PESEL: the account, or why there is none. */
  readonly accounts = new Map<Pesel, Account | FxError>();

  constructor(service: ExchangeService) {
    this.#service = service;
  }

  /** The answer that each got before; undefined where none is known. */
  async answersOf(requests: readonly LineRequest[]): Promise<(BulkAnswer | undefined)[]> {
    const unknown = new Set(requests.map(({ pesel }) => pesel).filter((pesel) => !this.accounts.has(pesel)));
    await atOnce([...unknown], async (pesel) => void this.accounts.set(pesel, await this.#account(pesel)));
    const answers: (BulkAnswer | undefined)[] = requests.map(() => undefined);
    // An order without its account would be refused, and its key keep that answer.
    const known = [...requests.entries()].filter(([, { pesel }]) => !this.#isAbsent(pesel));
    const orders: number[] = [];
    const openings: number[] = [];
    for (const [index, request] of known) ("initial" in request ? openings : orders).push(index);
    const probes = orders.map((index) => ({ ...(requests[index] as ExchangeOrder), table: neverInForce }));
    let probed = 0;
    for await (const found of this.#service.bulk(once(probes))) {
      for (const answer of found) {
        const isNew = answer instanceof FxError && answer.code === "rate-changed" && !answer.replayed;
        answers[orders[probed] as number] = isNew ? undefined : answer;
        probed += 1;
      }
    }
    await atOnce(openings, async (index) => {
      const { pesel, key } = requests[index] as LineRequest;
      const entry = await findEntry(this.#service, pesel, key);
      if (entry !== undefined) answers[index] = { receiptId: entry.id, replayed: true };
    });
    return answers;
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

/** The account's entry that was made under a key. */
async function findEntry(service: ExchangeService, pesel: Pesel, key: string): Promise<Entry | undefined> {
  for (let cursor: string | undefined; ; ) {
    const { items, next } = await service.statement(pesel, { limit: 1000, cursor });
    const entry = items.find((one) => one.key === key);
    if (entry !== undefined || next === undefined) return entry;
    cursor = next;
  }
}

/** Asks for each, many at once. */
async function atOnce<T>(items: readonly T[], ask: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]();
  const askOnebyOne = async () => {
    for (const item of left) await ask(item);
  };
  await Promise.all(Array.from({ length: questionsAtOnce }, askOnebyOne));
}
