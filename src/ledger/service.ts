import { Readable } from "node:stream";
import { type Account, type Opening, planOpening, requireAdult } from "../core/account.ts";
import { type CurrencyCode, pln } from "../core/currency.ts";
import { warsawDate } from "../core/date.ts";
import { FxError } from "../core/errors.ts";
import {
  type ExchangeOrder,
  type ExchangeTerms,
  planExchange,
  type Quote,
  quoteExchange,
} from "../core/exchange.ts";
import {
  accountAfter,
  type Entry,
  type ExchangeEntry,
  isAnswerToOpening,
  isAnswerToOrder,
  type OpeningEntry,
} from "../core/journal.ts";
import type { Money } from "../core/money.ts";
import type { Pesel } from "../core/pesel.ts";
import type { CurrentRates, RateTable } from "../core/rates.ts";
import type {
  AuditProgress,
  AuditReport,
  BulkAnswer,
  BulkLine,
  ExchangeService,
  Page,
  PageRequest,
  Position,
  RateOnDay,
  RatesInForce,
  Recorded,
  Settlement,
} from "../core/service.ts";
import { Batcher, type Command } from "./batch.ts";
import { type Books, booksOf } from "./books.ts";
import { isEntryId } from "./entry-id.ts";
import { openingBody, orderBody, type RefusalRetention, requireSameRequest } from "./refusal.ts";
import { decodeAccount } from "./rows.ts";
import type { Store, StoredAccount } from "./store.ts";

const dayMs = 86_400_000;
/** Longer than any holidays, so the table before is among those of these days. */
const daysToPrevious = 30;
/** Of a bulk, taken in and not answered. */
const chunksAtOnce = 8;

/** ExchangeService over a store and the rates in force. `now` is injected so that tests control the time. */
export class LedgerService implements ExchangeService {
  readonly #store: Store;
  readonly #rates: CurrentRates;
  readonly #now: () => Date;
  readonly #batcher: Batcher;
  readonly #books: Books;

  constructor(
    store: Store,
    rates: CurrentRates,
    now: () => Date = () => new Date(),
    {
      retention,
      books = booksOf(store),
    }: { retention?: RefusalRetention | undefined; books?: Books | undefined } = {},
  ) {
    this.#store = store;
    this.#rates = rates;
    this.#now = now;
    this.#batcher = new Batcher(store, now, { retention });
    this.#books = books;
  }

  createAccount(opening: Opening): Promise<Recorded> {
    return this.#batcher.run(this.#opening(opening));
  }

  async account(pesel: Pesel): Promise<Account> {
    return (await this.#store.account(pesel)) ?? accountNotFound();
  }

  exchange(order: ExchangeOrder): Promise<Settlement> {
    return this.#batcher.run(this.#order(order));
  }

  bulk(lines: AsyncIterable<readonly BulkLine[]>): AsyncIterable<readonly BulkAnswer[]> {
    const commandOf = (line: BulkLine): Command<BulkAnswer> | FxError => {
      if (line instanceof FxError) return line;
      return "initial" in line ? this.#opening(line) : this.#order(line);
    };
    return Readable.from(lines).map(
      (chunk: readonly BulkLine[]) => this.#batcher.runAll(chunk.map(commandOf)),
      { concurrency: chunksAtOnce },
    );
  }

  async quote(terms: ExchangeTerms): Promise<Quote> {
    return quoteExchange(terms, await this.#rates.forQuote());
  }

  async rates(): Promise<RatesInForce> {
    const latest = await this.#rates.latest();
    const { effectiveDate } = latest.table;
    const recent = await this.#tablesUpTo(latest.table, daysToPrevious);
    return { ...latest, previous: recent.findLast((table) => table.effectiveDate < effectiveDate) };
  }

  async rateHistory(currency: CurrencyCode, days: number): Promise<readonly RateOnDay[]> {
    const { table } = await this.#rates.latest();
    if (currency === pln || !table.rates.has(currency)) {
      throw new FxError("unsupported-currency", `Table ${table.number} does not quote that currency.`);
    }
    const tables = await this.#tablesUpTo(table, days);
    return tables.flatMap(({ number, effectiveDate, rates }) => {
      const rate = rates.get(currency);
      return rate === undefined ? [] : [{ table: number, effectiveDate, bid: rate.bid, ask: rate.ask }];
    });
  }

  /** The tables of the `days` that end with `table`. */
  #tablesUpTo(table: RateTable, days: number): Promise<readonly RateTable[]> {
    const since = new Date(Date.parse(table.effectiveDate) - (days - 1) * dayMs).toISOString().slice(0, 10);
    return this.#rates.history(table, since);
  }

  async statement(pesel: Pesel, { limit, cursor }: PageRequest): Promise<Page<Entry>> {
    await this.account(pesel);
    const before = cursor === undefined ? undefined : await this.#entryOf(pesel, cursor);
    const sealed = await this.#store.statement(pesel, { before, limit: limit + 1 });
    const items = sealed.slice(0, limit).map(({ entry }) => entry);
    return { items, next: sealed.length > limit ? items.at(-1)?.id : undefined };
  }

  async #entryOf(pesel: Pesel, id: string): Promise<Entry> {
    const entry = isEntryId(id) ? (await this.#store.entry(id))?.entry : undefined;
    if (entry?.pesel === pesel) return entry;
    throw unknownCursor();
  }

  async receipt(id: string): Promise<Entry> {
    const entry = isEntryId(id) ? (await this.#store.entry(id))?.entry : undefined;
    if (entry !== undefined) return entry;
    throw new FxError("not-found", "There is no receipt with this id.");
  }

  async accounts({ limit, cursor }: PageRequest): Promise<Page<Account>> {
    if (cursor !== undefined && !/^\d{11}$/.test(cursor)) throw unknownCursor();
    const accounts = await this.#store.accounts({ after: cursor, limit: limit + 1 });
    const items = accounts.slice(0, limit).map(decodeAccount);
    return { items, next: accounts.length > limit ? items.at(-1)?.pesel : undefined };
  }

  position(): Promise<Position> {
    return this.#books.position();
  }

  audit(onProgress?: (done: AuditProgress) => void): Promise<AuditReport> {
    return this.#books.audit(onProgress);
  }

  #opening(opening: Opening): Command<Recorded> {
    const { pesel, key } = opening;
    return {
      request: { pesel, key, body: () => openingBody(opening) },
      decide: (existing, { earlier, nextId }) => {
        if (earlier !== undefined) {
          requireSameRequest(isAnswerToOpening(earlier, opening));
          return { answer: { receiptId: earlier.id, replayed: true } };
        }
        requireAdult(pesel, warsawDate(this.#now()));
        const { name, surname, balances } = planOpening(existing, opening);
        const entry: OpeningEntry = {
          kind: "opening",
          id: nextId(),
          pesel,
          sequence: 1,
          time: this.#now(),
          key,
          name,
          surname,
          initial: balances[0] as Money,
          balances,
        };
        return { answer: { receiptId: entry.id, replayed: false }, written: { entry, holder: opening } };
      },
    };
  }

  #order(order: ExchangeOrder): Command<Settlement> {
    const { pesel, key } = order;
    return {
      request: { pesel, key, body: () => orderBody(order) },
      decide: (stored, { earlier, inForce, nextId }) => {
        if (stored === undefined) return accountNotFound();
        if (earlier !== undefined) {
          requireSameRequest(isAnswerToOrder(earlier, order));
          return { answer: settlementOf(earlier, stored, true) };
        }
        const table = this.#rates.forOrder(inForce);
        const { exchange, account } = planExchange(stored, order, table);
        // Listed one by one, because V8 is slow at a spread between other fields (docs/PERFORMANCE.md).
        const { side, sold, bought, bid, ask, effectiveDate } = exchange;
        const entry: ExchangeEntry = {
          kind: "exchange",
          id: nextId(),
          pesel,
          sequence: stored.sequence + 1,
          time: this.#now(),
          key,
          side,
          sold,
          bought,
          bid,
          ask,
          table: exchange.table,
          tableId: exchange.tableId,
          effectiveDate,
          balances: account.balances,
        };
        return {
          answer: settlementOf(entry, stored, false),
          written: { entry, holder: stored, table },
        };
      },
    };
  }

  /** Answers what was taken in, then closes the rates and the store. */
  async close(): Promise<void> {
    await this.#batcher.drained();
    await this.#books.close();
    await this.#rates.close();
    await this.#store.close();
  }
}

function settlementOf(entry: ExchangeEntry, holder: StoredAccount, replayed: boolean): Settlement {
  const { id, sold, bought } = entry;
  return { account: accountAfter(entry, holder), receiptId: id, replayed, sold, bought };
}

function accountNotFound(): never {
  throw new FxError("account-not-found", "There is no account for this PESEL.");
}

function unknownCursor(): FxError {
  return new FxError("invalid-request", "The cursor does not come from an earlier page.", {
    fields: [{ pointer: "/cursor", detail: "is not a cursor" }],
  });
}
