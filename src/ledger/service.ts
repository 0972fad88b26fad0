import type { Account, ListedAccount, Opening } from "../core/account.ts";
import { type Change, type Request, requireReadable } from "../core/change.ts";
import type { CurrencyCode } from "../core/currency.ts";
import { addDays, type CalendarDate, endOfTime, startOfDay, warsawDate } from "../core/date.ts";
import { FxError } from "../core/errors.ts";
import { type ExchangeOrder, type ExchangeTerms, type Quote, quoteExchange } from "../core/exchange.ts";
import { type HousePlace, houseNumber } from "../core/house.ts";
import type { Entry, Receipt } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import type { CurrentRates, LatestTable, RateOfTable, RateTable, TradingState } from "../core/rates.ts";
import type {
  AccountsRequest,
  AuditOptions,
  AuditReport,
  BulkAnswer,
  BulkLine,
  Commits,
  EntriesPage,
  EntriesRequest,
  ExchangeService,
  ExportRequest,
  FollowRequest,
  Page,
  PersonalData,
  Position,
  ReceiptProof,
  Recorded,
  Settlement,
  Statement,
  StatementRequest,
  Till,
  TillRequest,
} from "../core/service.ts";
import { planSuspension, type TradingRequest } from "../core/suspension.ts";
import { accountAt, accountsAt, entriesOf } from "./as-of.ts";
import { auditLedger } from "./audit.ts";
import { type DecisionRules, Decisions, failureOf, refusalsAtMost, Uncommitted } from "./decision.ts";
import { exportJournal } from "./export.ts";
import { followEntries } from "./follow.ts";
import { GroupCommit } from "./group-commit.ts";
import { idsFrom, isEntryId, newEntryId } from "./ids.ts";
import { entryWithId, type Pause, pauses } from "./journal-reader.ts";
import { limits } from "./limits.ts";
import { mapInOrder } from "./map-in-order.ts";
import { personalDataOf } from "./personal-data.ts";
import { positionOf } from "./position.ts";
import { proofOf } from "./proof.ts";
import { DamagedLedger, unlessDamaged } from "./rows.ts";
import type { FoundEntry, Store, StoredAccount } from "./store.ts";
import { tillOf } from "./till.ts";

/** The least characters of an id by which a receipt is found: its time, to 65 seconds. */
const shortestBeginning = 8;
/** Chunks of a batch that are read before the first of them is answered. */
const chunksAtOnce = 16;

/** ExchangeService over a store and the rates in force. `now` is injected so that tests control the time. */
export class LedgerService implements ExchangeService {
  readonly #store: Store;
  readonly #rates: Omit<CurrentRates, "status" | "refresh">;
  readonly #now: () => Date;
  readonly #commits: GroupCommit;
  readonly #rests: boolean;
  readonly #refusalsAtMost: number;

  constructor(
    store: Store,
    rates: Omit<CurrentRates, "status" | "refresh">,
    now: () => Date = () => new Date(),
    options: {
      readonly refusalsAtMost?: number | undefined;
      /** Whether long reads rest between their pages, because others wait meanwhile. */
      readonly rests?: boolean | undefined;
    } = {},
  ) {
    this.#store = store;
    this.#rates = rates;
    this.#now = now;
    this.#commits = new GroupCommit(store, () => this.#rules());
    this.#rests = options.rests ?? false;
    this.#refusalsAtMost = options.refusalsAtMost ?? refusalsAtMost;
  }

  createAccount(opening: Opening): Promise<Recorded> {
    return this.#run({ kind: "opening", ...opening });
  }

  async account(pesel: Pesel, at?: Date): Promise<Account> {
    this.#requireSettled(at);
    const account = await this.#accountNow(pesel);
    if (at === undefined) return account;
    const then = await accountAt(this.#store, account, at);
    return then ?? accountNotFound("There was no account for this PESEL then.");
  }

  async house(at?: Date): Promise<Readonly<Record<HousePlace, Account["balances"]>>> {
    // Together, so that money on its way from one to the other is not in both.
    const [cash, bank] = await Promise.all([
      this.account(houseNumber("cash"), at),
      this.account(houseNumber("bank"), at),
    ]);
    return { cash: cash.balances, bank: bank.balances };
  }

  async #accountNow(pesel: Pesel): Promise<StoredAccount> {
    return (await this.#store.account(pesel)) ?? accountNotFound();
  }

  exchange(order: ExchangeOrder): Promise<Settlement> {
    return this.#run({ kind: "exchange", ...order }) as Promise<Settlement>;
  }

  change(change: Change): Promise<Settlement> {
    return this.#run(change) as Promise<Settlement>;
  }

  bulk(lines: AsyncIterable<readonly BulkLine[]>): AsyncIterable<readonly BulkAnswer[]> {
    return mapInOrder(lines, chunksAtOnce, (chunk) => this.#commits.runAll(chunk.map(readable)));
  }

  async *dryRun(lines: AsyncIterable<readonly (Request | FxError)[]>): AsyncGenerator<readonly BulkAnswer[]> {
    const uncommitted = new Uncommitted();
    for await (const chunk of lines) {
      yield await this.#tried(chunk.map(readable), uncommitted);
    }
  }

  /** Answers lines of a dry run. If the store meets damage in what they need, each half is tried by itself, as in a commit. */
  async #tried(lines: readonly (Request | FxError)[], uncommitted: Uncommitted): Promise<BulkAnswer[]> {
    try {
      return await this.#store.read(lines.filter(isRequest), (view) => {
        const decisions = new Decisions(view, { ...this.#rules(), newId: () => "" }, uncommitted);
        return lines.map((line) => (isRequest(line) ? decisions.decide(line) : line));
      });
    } catch (error) {
      if (!(error instanceof DamagedLedger)) throw error;
      if (lines.length === 1) return [error];
      const middle = Math.ceil(lines.length / 2);
      return [
        ...(await this.#tried(lines.slice(0, middle), uncommitted)),
        ...(await this.#tried(lines.slice(middle), uncommitted)),
      ];
    }
  }

  async quote(terms: ExchangeTerms): Promise<Quote> {
    return quoteExchange(terms, await this.#rates.forQuote());
  }

  rates(): Promise<LatestTable> {
    return this.#rates.latest();
  }

  async changeTrading(request: TradingRequest): Promise<TradingState> {
    const at = this.#now();
    await this.#store.transact([], ({ inForce }) => {
      const before = inForce();
      const suspension = planSuspension(before, request, at);
      const isChanged = before !== undefined && suspension !== before.suspension;
      const resumedBy = suspension === undefined ? request.by : undefined;
      const accepted = isChanged ? { table: before.table, at, suspension, resumedBy } : undefined;
      return { writes: { accounts: [], entries: [], accepted }, answer: undefined };
    });
    return this.#rates.latest();
  }

  async rateHistory(currency: CurrencyCode, days: number): Promise<readonly RateOfTable[]> {
    const tables = await this.#rates.tables(days);
    const found = tables.flatMap(({ number, effectiveDate, rates }) => {
      const rate = rates.get(currency);
      return rate === undefined ? [] : [{ number, effectiveDate, bid: rate.bid, ask: rate.ask }];
    });
    if (found.length > 0) return found;
    throw new FxError("unsupported-currency", "No rate table of these days quotes that currency.");
  }

  rateTables(days: number): Promise<readonly RateTable[]> {
    return this.#rates.tables(days);
  }

  async statement(pesel: Pesel, { limit, cursor, from, to, key }: StatementRequest): Promise<Statement> {
    requirePeriod(from, to);
    if (key !== undefined && (cursor ?? from ?? to) !== undefined) {
      throw invalid("key", "finds one entry, and cannot be given with from, to or cursor");
    }
    const account = await this.#accountNow(pesel);
    if (key !== undefined) {
      const found = await this.#store.read([{ pesel, key }], (view) => view.answered(pesel, key));
      const items = found !== undefined && "entry" in found ? [receiptOf(found)] : [];
      return { items, next: undefined, opening: undefined, closing: undefined };
    }
    const last = cursor === undefined ? undefined : await this.#entryAt(cursor);
    if (last !== undefined && last.pesel !== pesel) unknownCursor();
    const start = from === undefined ? undefined : startOfDay(from);
    const end = to === undefined || to === endOfTime ? undefined : startOfDay(addDays(to, 1));
    this.#requireBound("from", "have begun", start);
    this.#requireBound("to", "have ended", end);
    const period = { start, end, before: last?.sequence, limit };
    const { page, hasMore, opening, closing } = await entriesOf(this.#store, account, period);
    const items = page.map(receiptOf);
    return { items, next: hasMore ? items.at(-1)?.id : undefined, opening, closing };
  }

  /** A cursor is the id of an entry: it is part of a URL, which must not have a PESEL. */
  async #entryAt(cursor: string): Promise<Entry> {
    return (await entryWithId(this.#store, cursor))?.entry ?? unknownCursor();
  }

  async personalData(pesel: Pesel, signal?: AbortSignal): Promise<PersonalData> {
    const options = { time: this.#now(), pause: this.#pause(signal) };
    return (await personalDataOf(this.#store, pesel, options)) ?? accountNotFound();
  }

  async receipt(id: string): Promise<Receipt> {
    const ids = idsFrom(id.toLowerCase());
    if (ids === undefined) throw receiptNotFound();
    if (id.length < shortestBeginning) {
      throw incompleteId(`Give at least ${shortestBeginning} characters of the id.`);
    }
    const [found, another] = await this.#store.entriesBetween(ids, 2);
    if (found === undefined) throw receiptNotFound();
    if (another === undefined) return receiptOf(found);
    const both = `${found.entry.id} and ${another.entry.id}`;
    throw incompleteId(`More than one receipt begins like this, such as ${both}. Give more of the id.`);
  }

  async entries({ after, limit }: EntriesRequest): Promise<EntriesPage> {
    const position = after === undefined ? 0 : await this.#positionOf(after.toLowerCase());
    if (position === undefined) throw invalid("after", "is not the id of an entry");
    const items = (await this.#store.entries({ after: position, limit })).map(receiptOf);
    return { items, next: items.at(-1)?.id ?? after?.toLowerCase() };
  }

  async #positionOf(id: string): Promise<number | undefined> {
    if (!isEntryId(id)) return undefined;
    return (await this.#store.positionsBetween({ first: id, last: id }))?.first;
  }

  follow(request: FollowRequest): AsyncIterable<readonly Receipt[]> {
    return followEntries((page) => this.entries(page), request);
  }

  async proof(id: string): Promise<ReceiptProof> {
    return proofOf(this.#store, await this.receipt(id), this.#pause());
  }

  async accounts({ limit, cursor, name, at }: AccountsRequest): Promise<Page<ListedAccount>> {
    this.#requireSettled(at);
    const after = cursor === undefined ? undefined : (await this.#entryAt(cursor)).pesel;
    const found = await this.#store.accounts({ after, limit: limit + 1, name });
    const page = found.slice(0, limit);
    const items = at === undefined ? page : await accountsAt(this.#store, page, at, this.#pause());
    const last = found.length > limit ? page.at(-1)?.pesel : undefined;
    return last === undefined ? { items, next: undefined } : this.#pageUpTo(last, items);
  }

  /** A page of the accounts up to `last`. It ends earlier if the last ones have no whole entry, which a cursor needs. */
  async #pageUpTo(last: Pesel, items: readonly ListedAccount[]): Promise<Page<ListedAccount>> {
    const next = await this.#cursorAt(last);
    if (next !== undefined) return { items, next };
    const before = items.filter(({ pesel }) => pesel !== last);
    const newLast = before.at(-1)?.pesel;
    if (newLast === undefined) throw new DamagedLedger("the list ends at an account without a whole entry");
    return this.#pageUpTo(newLast, before);
  }

  /** The id of the account's newest entry, or of its first if it is damaged. */
  async #cursorAt(pesel: Pesel): Promise<string | undefined> {
    const newest = await unlessDamaged(this.#store.statement(pesel, { limit: 1 }));
    if (newest?.[0] !== undefined) return newest[0].entry.id;
    const first = await unlessDamaged(this.#store.statement(pesel, { before: 2, limit: 1 }));
    return first?.[0]?.entry.id;
  }

  async position(at?: Date, signal?: AbortSignal): Promise<Position> {
    this.#requireSettled(at);
    return positionOf(this.#store, at, this.#pause(signal));
  }

  async till({ date = warsawDate(this.#now()), by }: TillRequest, signal?: AbortSignal): Promise<Till> {
    this.#requireBound("date", "have ended", startOfDay(addDays(date, 1)));
    return tillOf(this.#store, { date, by }, this.#pause(signal));
  }

  async audit({ signal, ...options }: AuditOptions = {}): Promise<AuditReport> {
    const now = () => this.#now().getTime();
    return auditLedger(this.#store, { ...options, now, pause: this.#pause(signal) });
  }

  async *export(request: ExportRequest): AsyncGenerator<string> {
    const { from, to = endOfTime, at } = request;
    requirePeriod(from, to);
    this.#requireSettled(at);
    if (to !== endOfTime) this.#requireBound("to", "have ended", startOfDay(addDays(to, 1)));
    yield* exportJournal(this.#store, request, this.#pause());
  }

  /** @throws FxError invalid-request if entries from before `at` may still be on their way */
  #requireSettled(at: Date | undefined, name = "at", verb = "be"): void {
    if (at === undefined || at.getTime() + limits.settledAfterMs <= this.#now().getTime()) return;
    const detail = `must ${verb} at least ${limits.settledAfterMs / 1000} seconds ago`;
    const why = "because entries from before it may still be on their way";
    throw invalid(name, detail, `The request is not valid: ${name} ${detail}, ${why}.`);
  }

  /** @throws FxError invalid-request if it is past, and entries from before it may still be on their way */
  #requireBound(name: string, verb: string, bound: Date | undefined): void {
    if (bound !== undefined && bound <= this.#now()) this.#requireSettled(bound, name, verb);
  }

  #pause(signal?: AbortSignal): Pause {
    return pauses({ rests: this.#rests, signal });
  }

  async #run(request: Request): Promise<Settlement | Recorded> {
    requireReadable(request);
    return this.#commits.run(request);
  }

  #rules(): DecisionRules {
    const time = this.#now();
    return {
      time,
      newId: () => newEntryId(time),
      tableOf: (inForce) => this.#rates.forOrder(inForce),
      refusalsAtMost: this.#refusalsAtMost,
    };
  }

  get commits(): Commits {
    return this.#commits;
  }

  /** Answers what was taken in, then closes the rates and the store. */
  async close(): Promise<void> {
    await this.#commits.drained();
    await this.#rates.close();
    await this.#store.close();
  }
}

/** A line, or its error if it is wrong for any account. */
function readable<Asked extends Request>(line: Asked | FxError): Asked | FxError {
  if (line instanceof FxError) return line;
  try {
    requireReadable(line);
    return line;
  } catch (error) {
    return failureOf(error);
  }
}

function isRequest(line: Request | FxError): line is Request {
  return !(line instanceof FxError);
}

function accountNotFound(message = "There is no account for this PESEL."): never {
  throw new FxError("account-not-found", message);
}

function receiptOf({ entry, reversedBy }: Pick<FoundEntry, "entry" | "reversedBy">): Receipt {
  return { ...entry, reversedBy };
}

function receiptNotFound(): FxError {
  return new FxError("not-found", "There is no receipt with this id.");
}

/** @throws FxError invalid-request */
function requirePeriod(from: CalendarDate | undefined, to: CalendarDate | undefined): void {
  if (from !== undefined && to !== undefined && from > to) throw invalid("to", "must not be before from");
}

function incompleteId(message: string): FxError {
  return invalid("id", "is too short a beginning", message);
}

function unknownCursor(): never {
  throw invalid("cursor", "is not a cursor", "The cursor does not come from an earlier page.");
}

function invalid(
  parameter: string,
  detail: string,
  message = `The request is not valid: ${parameter} ${detail}.`,
): FxError {
  return new FxError("invalid-request", message, { fields: [{ pointer: `/${parameter}`, detail }] });
}
