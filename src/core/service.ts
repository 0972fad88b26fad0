import type { Account, Opening } from "./account.ts";
import type { BulkRequest, Change, Request } from "./change.ts";
import type { CurrencyCode } from "./currency.ts";
import type { CalendarDate } from "./date.ts";
import type { FxError } from "./errors.ts";
import type { ExchangeOrder, ExchangeTerms, Quote } from "./exchange.ts";
import type { Histogram } from "./histogram.ts";
import type { Receipt } from "./journal.ts";
import type { Money } from "./money.ts";
import type { Pesel } from "./pesel.ts";
import type { LatestTable, RateOfTable } from "./rates.ts";

/**
 * What can be asked of fx, wherever it runs: in this process over a store, or behind HTTP.
 * Every method fails with an FxError and, if it does, has changed nothing, except where the code says that the
 * outcome is not known (`internal`, `storage-unavailable`, `outcome-unknown`).
 */
export interface ExchangeService {
  /** Opens an account. */
  createAccount(opening: Opening): Promise<Recorded>;
  /**
   * @param at the account as it was then; at least 10 seconds ago, so that no entry from before is on its way any more
   */
  account(pesel: Pesel, at?: Date): Promise<Account>;
  /** Settles an order. Resolves only when the exchange is durable. */
  exchange(order: ExchangeOrder): Promise<Settlement>;
  /** Does what else changes an account. Resolves only when that is durable. */
  change(change: Change): Promise<Settlement>;
  /**
   * Carries out lines, those of one account in their order, and answers each in its place. It resolves to an answer only
   * when that is durable. One that fails changes nothing and does not stop the others.
   * Lines are taken in as they can be carried out: a few chunks ahead of the answers that were read.
   */
  bulk(lines: AsyncIterable<readonly BulkLine[]>): AsyncIterable<readonly BulkAnswer[]>;
  /**
   * What `bulk`, or the request by itself, would answer now, each on the ledger as those before it would leave it.
   * Moves nothing and keeps nothing. What would be done has no receipt.
   */
  dryRun(lines: AsyncIterable<readonly (Request | FxError)[]>): AsyncIterable<readonly BulkAnswer[]>;
  /** What the order would do now. Moves nothing. */
  quote(terms: ExchangeTerms): Promise<Quote>;
  /** The last table, even if no order settles at it. */
  rates(): Promise<LatestTable>;
  /** One currency's bid and ask, table by table, oldest first, over the `days` that end with that table. */
  rateHistory(currency: CurrencyCode, days: number): Promise<readonly RateOfTable[]>;
  /** The account's entries, all or those of a period, newest first. */
  statement(pesel: Pesel, page: StatementRequest): Promise<Statement>;
  /** @param id its beginning is enough, from 8 characters on, where no other receipt begins so */
  receipt(id: string): Promise<Receipt>;
  /** All accounts, or those of a name, by PESEL. */
  accounts(page: AccountsRequest): Promise<Page<Account>>;
  /**
   * @param at as it was then, as for `account`
   * @param signal ends it where nobody else waits for it; it then fails
   */
  position(at?: Date, signal?: AbortSignal): Promise<Position>;
  audit(options?: AuditOptions): Promise<AuditReport>;
  /**
   * The journal as double entry, as text, made as it is read. If it fails before its end, what it gave is to be thrown
   * away. See `ExportRequest`.
   */
  export(request: ExportRequest): AsyncIterable<string>;
  close(): Promise<void>;
}

/** Where the receipt is. */
export interface Recorded {
  /** Empty if nothing was done, as in a dry run. */
  readonly receiptId: string;
  /** Whether an earlier request with the same key had done it. */
  readonly replayed: boolean;
}

/** The account after a request, and its receipt. */
export interface Settlement extends Recorded {
  readonly account: Account;
  /** What was exchanged. Absent where the answer does not tell, as that of `POST /api/exchange/{pesel}`. */
  readonly sold?: Money | undefined;
  readonly bought?: Money | undefined;
}

/** What a service over a store has counted since its start. A group is what it carries out in one commit. */
export interface CommitFigures {
  /** Requests and lines of bulks that wait for a commit now. */
  readonly waiting: number;
  /** Requests and lines in each group. */
  readonly sizes: Histogram;
  /** How long the store took for each group, in seconds, whether it was committed or failed. */
  readonly seconds: Histogram;
}

/** What a line of a bulk asks for. One that cannot be read is its own answer. */
export type BulkLine = BulkRequest | FxError;

/** What became of it: Recorded for an opening, a Settlement for anything else, or why nothing was done. */
export type BulkAnswer = Settlement | Recorded | FxError;

/** `cursor` is the `next` of the page before; `limit` is 1 to 1000. */
export interface PageRequest {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface AccountsRequest extends PageRequest {
  /** As `parseNameSought` reads it, of the names that holders have, or had at `at`. */
  readonly name?: readonly string[] | undefined;
  /**
   * As they were then, as for `account`. Those that were not open yet are left out, so that a page may have fewer than
   * `limit` accounts, or none, and not be the last.
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

/** `opening` + what the entries of the period moved = `closing`. */
export interface Statement extends Page<Receipt> {
  /** All balances before the first entry of the period: none without `from`. Only on the first page. */
  readonly opening: readonly Money[] | undefined;
  /** All balances after the last entry of the period. Only on the first page. */
  readonly closing: readonly Money[] | undefined;
}

/** Whose files the journal can be had as. */
export const exportFormats = ["hledger", "beancount", "csv", "ndjson"] as const;

export type ExportFormat = (typeof exportFormats)[number];

/** Which entries of the journal, and how. Those of a limit itself belong to it. */
export interface ExportRequest {
  readonly format: ExportFormat;
  /** In Warsaw. */
  readonly from?: CalendarDate | undefined;
  /** In Warsaw. */
  readonly to?: CalendarDate | undefined;
  /** The journal as it was then. */
  readonly at?: Date | undefined;
  /** With what tells of people: PESELs, names, notes, reasons, the keys that clients chose, and the names of tokens. */
  readonly full: boolean;
}

/** Where the house stands. Over every currency, `customers` + `house` = `deposited`. */
export interface Position {
  readonly currencies: readonly CurrencyPosition[];
  /** What the bid-ask spread and the rounding earned so far, valued at each exchange's mid rate, rounded down. */
  readonly spreadEarned: Money;
}

export interface CurrencyPosition {
  readonly currency: CurrencyCode;
  /** Minor units that customers hold. */
  readonly customers: bigint;
  /** Minor units that the house is long (positive) or short (negative), against its opening of 0. */
  readonly house: bigint;
}

export interface AuditOptions {
  readonly onStart?: ((ledger: AuditStart) => void) | undefined;
  readonly onProgress?: ((done: AuditProgress) => void) | undefined;
  /** Takes the heads of all accounts, by PESEL, for a checkpoint. The audit waits for it. */
  readonly onHeads?: ((heads: readonly AccountHead[]) => Promise<void>) | undefined;
  /** The heads of an earlier checkpoint, which the chains must still hold. */
  readonly against?: AsyncIterable<readonly AccountHead[]> | undefined;
  /** Ends it where nobody else waits for it; it then fails. */
  readonly signal?: AbortSignal | undefined;
}

export interface AuditStart {
  /** Of the ledger. */
  readonly schemaVersion: number;
  /** How many there are to read, or about how many; 0 if the store cannot tell cheaply. */
  readonly entries: number;
}

/** How far an account's chain goes. */
export interface AccountHead {
  /** The customer's id: 20 letters. */
  readonly customer: string;
  readonly entries: number;
  /** Of the last entry, in hexadecimal. */
  readonly hash: string;
}

export interface AuditProgress {
  readonly accounts: number;
  readonly entries: number;
  /** About how many there are to read; 0 if the store cannot tell cheaply. */
  readonly totalEntries: number;
}

export interface AuditReport {
  readonly accounts: number;
  readonly entries: number;
  /** Empty when everything agrees. At most the first 1000. */
  readonly findings: readonly AuditFinding[];
  readonly findingsTotal: number;
  /** SHA-256 over the lines of all heads, as a checkpoint has them: equal where all chains are. */
  readonly digest: string;
  /** If the audit was against a checkpoint. */
  readonly against?: Comparison;
}

/** What is left of a checkpoint. */
export interface Comparison {
  /** Of the checkpoint. */
  readonly accounts: number;
  /** How many of them the ledger has, by their customers' ids. If none, it is another ledger, and `lost` is empty. */
  readonly found: number;
  /** Those whose chains do not hold what the checkpoint saw. */
  readonly lost: readonly LostHead[];
}

/** An account that is missing, has fewer entries, or another entry than the checkpoint saw. */
export interface LostHead {
  readonly customer: string;
  /** The PESEL; undefined if the ledger does not have the account. */
  readonly account: string | undefined;
  /** In the checkpoint. The entry of this number had the hash that is lost. */
  readonly entries: number;
  /** In the ledger; 0 if the account is missing. */
  readonly entriesNow: number;
}

/** One discrepancy. Its account and texts have PESELs. */
export interface AuditFinding {
  readonly account: string;
  /** The entry's sequence number in the account, where one entry is at fault. */
  readonly entry: number | undefined;
  /** That entry's id. */
  readonly id: string | undefined;
  /** The name of the token that it says it was made with. */
  readonly by?: string | undefined;
  readonly problem: string;
  readonly recorded: string;
  readonly recomputed: string;
}
