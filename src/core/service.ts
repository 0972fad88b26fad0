import type { Account, ListedAccount, Opening } from "./account.ts";
import type { BulkRequest, Change, Request } from "./change.ts";
import type { CurrencyCode } from "./currency.ts";
import type { CalendarDate } from "./date.ts";
import type { ErrorCode, FxError } from "./errors.ts";
import type { ExchangeOrder, ExchangeTerms, Quote } from "./exchange.ts";
import type { HousePlace } from "./house.ts";
import type { Entry, Receipt } from "./journal.ts";
import type { Money } from "./money.ts";
import type { Pesel } from "./pesel.ts";
import type { LatestTable, RateOfTable, RateTable, TradingState } from "./rates.ts";
import type { TradingRequest } from "./suspension.ts";

/**
 * The operations of fx, wherever it runs: in this process over a store, or behind HTTP.
 * Every method fails with an FxError and, if it does, has changed nothing, except where the code says that the
 * outcome is not known (`internal`, `storage-unavailable`, `outcome-unknown`).
 */
export interface ExchangeService {
  createAccount(opening: Opening): Promise<Recorded>;
  /**
   * A customer's account, or one of the house's.
   * @param at a past time, at least 10 seconds ago, so that no entry from before it is still on its way
   */
  account(pesel: Pesel, at?: Date): Promise<Account>;
  /** The balances of the house's accounts, as of one moment. */
  house(at?: Date): Promise<Readonly<Record<HousePlace, Account["balances"]>>>;
  /** Settles an order. Resolves only when the exchange is durable. */
  exchange(order: ExchangeOrder): Promise<Settlement>;
  /** Carries out any other change of an account. Resolves only when it is durable. */
  change(change: Change): Promise<Settlement>;
  /**
   * Carries out lines, those of one account in their order, and answers each in its place, once it is durable. A line
   * that fails changes nothing and does not stop the others. A few chunks are read ahead of the answers.
   */
  bulk(lines: AsyncIterable<readonly BulkLine[]>): AsyncIterable<readonly BulkAnswer[]>;
  /**
   * Answers as `bulk` would now, each line on the ledger as those before it would leave it. Moves nothing and keeps
   * nothing; no answer has a receipt. All lines may be taken in before the first is answered.
   */
  dryRun(lines: AsyncIterable<readonly (Request | FxError)[]>): AsyncIterable<readonly BulkAnswer[]>;
  /** Prices an order now. Moves nothing. */
  quote(terms: ExchangeTerms): Promise<Quote>;
  /** The last table, even if no order settles at it. */
  rates(): Promise<LatestTable>;
  /**
   * Suspends trading: every process on the ledger refuses orders from now on. Without a reason, it resumes trading. The
   * same request can be sent again.
   */
  changeTrading(request: TradingRequest): Promise<TradingState>;
  /** One currency's bid and ask, table by table, oldest first, over the `days` that end with that table. */
  rateHistory(currency: CurrencyCode, days: number): Promise<readonly RateOfTable[]>;
  /** The rate tables of the `days` that end with the last one, oldest first. */
  rateTables(days: number): Promise<readonly RateTable[]>;
  /** The account's entries, all or those of a period, newest first. */
  statement(pesel: Pesel, page: StatementRequest): Promise<Statement>;
  /**
   * Everything that the ledger holds about one person.
   * @param signal aborts the read
   */
  personalData(pesel: Pesel, signal?: AbortSignal): Promise<PersonalData>;
  /** @param id the id, or its first 8 characters or more if no other receipt begins with them */
  receipt(id: string): Promise<Receipt>;
  /** A page of the entries of all accounts, in the order in which they were committed. */
  entries(page: EntriesRequest): Promise<EntriesPage>;
  /**
   * The entries of all accounts in that order, and then each new one as it comes, without end. The first chunk comes at
   * once, also if it is empty.
   */
  follow(request: FollowRequest): AsyncIterable<readonly Receipt[]>;
  /**
   * The proof of a receipt up to the account's newest entry.
   * @param id as for `receipt`
   */
  proof(id: string): Promise<ReceiptProof>;
  /** All accounts, or those of a name, by PESEL. */
  accounts(page: AccountsRequest): Promise<Page<ListedAccount>>;
  /**
   * @param at a past time, as for `account`
   * @param signal aborts the read, unless others wait for it, too
   */
  position(at?: Date, signal?: AbortSignal): Promise<Position>;
  /**
   * The cash that passed through one till on one day.
   * @param signal aborts the read, unless others wait for it, too
   */
  till(request: TillRequest, signal?: AbortSignal): Promise<Till>;
  audit(options?: AuditOptions): Promise<AuditReport>;
  /**
   * Streams the journal in a format for others. If it fails, discard the text before.
   */
  export(request: ExportRequest): AsyncIterable<string>;
  close(): Promise<void>;
}

/** The receipt of a request. */
export interface Recorded {
  /** Empty in a dry run. */
  readonly receiptId: string;
  /** Whether an earlier request with the same key had done it. */
  readonly replayed: boolean;
}

/** The account after a request, and its receipt. */
export interface Settlement extends Recorded {
  readonly account: Account;
  /** The exchange. Absent in the answer to `POST /api/exchange/{pesel}`. */
  readonly sold?: Money | undefined;
  readonly bought?: Money | undefined;
}

/** Measures of the group commit. */
export interface Commits {
  /** Requests and lines of batches that wait for a commit now. */
  readonly waiting: number;
  /**
   * Has the observer called after each group, committed or failed, with the number of its requests and lines, and the
   * store's time for it in seconds.
   */
  observe(observer: (requests: number, seconds: number) => void): void;
}

/** A line of a batch. One that cannot be read is its own answer. */
export type BulkLine = BulkRequest | FxError;

/** The answer to a line: Recorded for an opening, a Settlement for any other, or why nothing was done. */
export type BulkAnswer = Settlement | Recorded | FxError;

/** The maximum number of items on a page. */
export const longestPage = 200;

/** `cursor` is the `next` of the page before; `limit` is 1 to `longestPage`. */
export interface PageRequest {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface AccountsRequest extends PageRequest {
  /** Beginnings of words of the holder's present name: see `parseNameSought`. */
  readonly name?: readonly string[] | undefined;
  /**
   * A past time, as for `account`. Accounts that were not open yet are left out, so that a page that is not the last may
   * have fewer than `limit` accounts, or none.
   */
  readonly at?: Date | undefined;
}

export interface StatementRequest extends PageRequest {
  /** The first and the last day, in Poland. */
  readonly from?: CalendarDate | undefined;
  readonly to?: CalendarDate | undefined;
  /** Only the entry with this idempotency key. Not with a cursor or a period. */
  readonly key?: string | undefined;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Absent on the last page. */
  readonly next: string | undefined;
}

/** Everything that the ledger holds about one person: the answer to a request under article 15 of the GDPR. */
export interface PersonalData {
  /** When it was read. */
  readonly time: Date;
  /** Undefined for somebody whose requests were only refused. */
  readonly account: Account | undefined;
  /** The person's pseudonym in exports and checkpoints: 20 letters. */
  readonly customer: string;
  /** The words of the names by which the account is found. */
  readonly nameWords: readonly string[];
  /** Refusals kept under idempotency keys, oldest first. */
  readonly refusals: readonly KeptRefusal[];
  /** Oldest first. */
  readonly entries: readonly Receipt[];
}

/** A refused request that had an idempotency key. */
export interface KeptRefusal {
  readonly time: Date;
  readonly key: string;
  /** The name of the token that the request came with. */
  readonly by: string | undefined;
  readonly code: ErrorCode;
  readonly message: string;
}

/** Entries after the one with the id `after`, or from the first on. `limit` is 1 to `longestPage`. */
export interface EntriesRequest {
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface EntriesPage {
  readonly items: readonly Receipt[];
  /** The next page's `after`, also if there are no more entries now. Undefined while the ledger has none. */
  readonly next: string | undefined;
}

export interface FollowRequest {
  readonly after?: string | undefined;
  /** Ends the stream. */
  readonly signal?: AbortSignal | undefined;
}

/** `opening` + what the entries of the period moved = `closing`. */
export interface Statement extends Page<Receipt> {
  /** All balances before the period: none without `from`. Only on the first page. */
  readonly opening: readonly Money[] | undefined;
  /** All balances after the period. Only on the first page. */
  readonly closing: readonly Money[] | undefined;
}

/** CSV for a spreadsheet, newest entry first; or camt.053 of ISO 20022, oldest first. */
export const statementFormats = ["csv", "camt.053"] as const;

export type StatementFormat = (typeof statementFormats)[number];

/** The journal as double entry. */
export const bookFormats = ["hledger", "beancount", "csv", "ndjson"] as const;
/** `register` is the record of purchases and sales that a Polish exchange office keeps. */
export const exportFormats = [...bookFormats, "register"] as const;

export type BookFormat = (typeof bookFormats)[number];
export type ExportFormat = (typeof exportFormats)[number];

/** Limits are inclusive. Days are those in Warsaw. */
export interface ExportRequest {
  readonly format: ExportFormat;
  readonly from?: CalendarDate | undefined;
  readonly to?: CalendarDate | undefined;
  /** A past time, as for `account`. */
  readonly at?: Date | undefined;
  /** With personal data: PESELs, names, notes, reasons, idempotency keys, and the names of tokens. */
  readonly full: boolean;
}

export interface Position {
  readonly currencies: readonly CurrencyPosition[];
  /** Earned by the bid-ask spread and by rounding, at the mid rate of each exchange, rounded down. */
  readonly spreadEarned: Money;
}

interface CurrencyPosition {
  readonly currency: CurrencyCode;
  /** Minor units that customers hold. */
  readonly customers: bigint;
  /** Minor units that the house is long (positive) or short (negative), against its opening of 0. */
  readonly house: bigint;
  /** Minor units that should be in the drawers now: all that was brought and not taken, and the house's own cash. */
  readonly cash: bigint;
  /** Minor units that the house has put to the bank and not taken back. */
  readonly bank: bigint;
}

export interface TillRequest {
  /** A day in Warsaw; by default today. */
  readonly date?: CalendarDate | undefined;
  /** The actor. Without it, entries without an actor; over HTTP those of the caller, if its token has a name. */
  readonly by?: string | undefined;
}

/**
 * The cash of one actor on one day: openings, deposits, withdrawals, and their reversals, also by others. Exchanges
 * move no cash.
 */
export interface Till {
  readonly date: CalendarDate;
  readonly by: string | undefined;
  /** The currencies that moved, PLN first, then by symbol. */
  readonly currencies: readonly CashFlow[];
  /** How many entries moved cash. */
  readonly entries: number;
  readonly first: TillEntry | undefined;
  readonly last: TillEntry | undefined;
  /** SHA-256 over the hashes of these entries, in the order of the journal. */
  readonly digest: string;
}

interface CashFlow {
  readonly currency: CurrencyCode;
  /** Minor units that came into the till. */
  readonly in: bigint;
  /** Minor units that left it. */
  readonly out: bigint;
}

export type TillEntry = Pick<Entry, "id" | "time">;

export interface AuditOptions {
  readonly onStart?: ((ledger: AuditStart) => void) | undefined;
  readonly onProgress?: ((done: AuditProgress) => void) | undefined;
  /** Receives the heads of all accounts, by PESEL, for a checkpoint. The audit waits for it. */
  readonly onHeads?: ((heads: readonly AccountHead[]) => Promise<void>) | undefined;
  /** The heads of an earlier checkpoint, which the chains must still hold. */
  readonly against?: AsyncIterable<readonly AccountHead[]> | undefined;
  /** Aborts the audit, unless others wait for it, too. */
  readonly signal?: AbortSignal | undefined;
}

export interface AuditStart {
  readonly schemaVersion: number;
  /** The number of entries to read. */
  readonly entries: number;
}

/** The end of an account's chain. */
export interface AccountHead {
  /** The customer's pseudonym: 20 letters. */
  readonly customer: string;
  readonly entries: number;
  /** The hash of the last entry, in hexadecimal. */
  readonly hash: string;
}

/**
 * A part of an account's chain, from an entry on. With a checkpoint it shows that the ledger had the entry then. Of the
 * entries after it, it has hashes of their texts alone.
 */
export interface ReceiptProof {
  /** The entry's text, as the ledger keeps it. */
  readonly entry: string;
  /** The hash of the account's entry before it; empty for the first. */
  readonly before: string;
  /** The SHA-256 of the texts of the account's later entries, in their order. */
  readonly after: readonly string[];
  /** The end of the chain, as a checkpoint has it. */
  readonly head: AccountHead;
}

export interface AuditProgress {
  readonly accounts: number;
  readonly entries: number;
  /** The number of entries to read. */
  readonly totalEntries: number;
}

export interface AuditReport {
  readonly accounts: number;
  readonly entries: number;
  /** The first findings, at most 1000. */
  readonly findings: readonly AuditFinding[];
  readonly findingsTotal: number;
  /** SHA-256 over the lines of all heads in a checkpoint. */
  readonly digest: string;
  /** Present if the audit was against a checkpoint. */
  readonly against?: Comparison;
}

export interface Comparison {
  /** Accounts in the checkpoint. */
  readonly accounts: number;
  /** Accounts of these that the ledger has. If 0, it is another ledger, and `lost` is empty. */
  readonly found: number;
  /** Accounts whose chains lack an entry of the checkpoint. */
  readonly lost: readonly LostHead[];
}

/** An account that is missing, has fewer entries, or another entry than the checkpoint saw. */
export interface LostHead {
  readonly customer: string;
  /** The PESEL; undefined if the ledger does not have the account. */
  readonly account: string | undefined;
  /** The account's number of entries in the checkpoint. */
  readonly entries: number;
  /** The account's number of entries in the ledger; 0 if it is missing. */
  readonly entriesNow: number;
}

/** One discrepancy. Its account and texts contain PESELs. */
export interface AuditFinding {
  readonly account: string;
  /** The sequence, where one entry is at fault. */
  readonly entry: number | undefined;
  /** The id of the entry, and the name of the token that it was made with. */
  readonly id: string | undefined;
  readonly by?: string | undefined;
  readonly problem: string;
  readonly recorded: string;
  readonly recomputed: string;
}
