import { type CurrencyCode, compareCurrencies } from "./currency.ts";
import type { CalendarDate } from "./date.ts";
import { type Decimal, formatDecimal } from "./decimal.ts";

/** The bank's side of one currency, in PLN for one unit: it buys at `bid` and sells at `ask`. */
export interface Rate {
  readonly currency: CurrencyCode;
  readonly name: string;
  readonly bid: Decimal;
  readonly ask: Decimal;
}

/** One table C, as published. Its number, such as "108/C/NBP/2026", does not identify it: a correction has the same number. */
export interface PublishedTable {
  readonly number: string;
  readonly tradingDate: CalendarDate;
  readonly effectiveDate: CalendarDate;
  readonly rates: ReadonlyMap<CurrencyCode, Rate>;
}

/** A table of one source. */
export interface RateTable extends PublishedTable {
  /** "nbp", "demo", the absolute path of a file as it was configured, or a base URL without user and query. */
  readonly source: string;
  /** 32 hexadecimal digits, made from source, number, dates, bids and asks by `identifyTable`. */
  readonly id: string;
}

/** The order by effective date, and on one date by number. */
export function compareTables(a: DatedTable, b: DatedTable): number {
  if (a.effectiveDate !== b.effectiveDate) return a.effectiveDate < b.effectiveDate ? -1 : 1;
  return a.number === b.number ? 0 : a.number < b.number ? -1 : 1;
}

type DatedTable = Pick<RateTable, "number" | "effectiveDate">;

/** The rate table at which a ledger trades. `epoch` counts the tables, suspensions and resumptions before it, and it. */
export interface TableInForce {
  readonly epoch: number;
  readonly table: RateTable;
  /** Present while an operator has orders refused. */
  readonly suspension?: Suspension;
}

/** An operator's decision that no order settles until trading is resumed. */
export interface Suspension {
  readonly reason: string;
  /** The name of the token that the request came with. */
  readonly by: string | undefined;
  readonly since: Date;
}

/** A table that has been in force. */
export interface AcceptedTable extends Pick<RateTable, "id" | "source" | "number"> {}

/** The rate of one currency in one table. */
export interface RateOfTable extends Pick<RateTable, "number" | "effectiveDate">, Pick<Rate, "bid" | "ask"> {}

/** How a table comes into force. */
export interface Acceptance {
  /** The number of the epoch before it; 0 if there was none. */
  readonly epoch: number;
  readonly at: Date;
  /** The operator who lets it through with --accept-table, in spite of the sanity check. */
  readonly overriddenBy: string | undefined;
}

/** Where a ledger keeps the table in force, for every process that works on it. */
export interface TableLedger {
  /** Undefined until a process that trades has started. */
  inForce(): Promise<TableInForce | undefined>;
  /** All that have been in force, oldest first. */
  acceptedTables(): Promise<readonly AcceptedTable[]>;
  /**
   * Puts a table in force, durably, if the epoch is still `epoch`. A suspension of trading stays in force.
   * @returns whether it did
   */
  acceptTable(table: RateTable, acceptance: Acceptance): Promise<boolean>;
  /** Keeps tables for the history of rates. */
  saveTables(tables: readonly RateTable[]): Promise<void>;
  /**
   * Tables of a source that took effect on the day `since` or later, and before the day `before`, oldest first. Of
   * several under one number, the last was in force last.
   */
  tables(range: {
    readonly source: string;
    readonly since: CalendarDate;
    readonly before?: CalendarDate;
  }): Promise<RateTable[]>;
}

/** The tables that one process trades and quotes at. */
export interface CurrentRates {
  /**
   * The table that an order settles at, unless trading is suspended. `inForce` is what the order's transaction read in the
   * ledger.
   * @throws FxError rates-unavailable, with the seconds after which to try again where that may help
   */
  forOrder(inForce: TableInForce | undefined): RateTable;
  /**
   * The table of an order that came now; or, where the ledger trades at another source, the newest of this process's.
   * @throws FxError rates-unavailable, storage-unavailable
   */
  forQuote(): Promise<RateTable>;
  /**
   * The table to show: that of a quote, or the last there is, however old.
   * @throws FxError rates-unavailable if there never was one, storage-unavailable
   */
  latest(): Promise<LatestTable>;
  /** The tables of the `days` that end with that table, oldest first. Of several under one number, the last in force. */
  tables(days: number): Promise<readonly RateTable[]>;
  status(): RatesStatus;
  /** Applies the rules and asks the source now. Resolves when that is over, whether it succeeded or not. */
  refresh(rules: TableRules): Promise<void>;
  /** Stops refreshing. */
  close(): Promise<void>;
}

/** An operator's decisions about rate tables. */
export interface TableRules {
  /** How many calendar days after its effective date a live table is still traded on. */
  readonly maxAgeDays: number;
  /** The number or id of a table to put in force in spite of any doubt but its effective date. */
  readonly acceptTable: string | undefined;
}

/** Whether orders settle now. */
export interface TradingState {
  /** Why no order settles; undefined if orders do. */
  readonly notTraded: NotTraded | undefined;
  readonly suspension: Suspension | undefined;
}

/** A reason why no order settles, and the same in words. */
export interface NotTraded {
  readonly code: NotTradedCode;
  readonly reason: string;
}

export interface LatestTable extends TradingState {
  readonly table: RateTable;
  /** The newest table of an earlier day, if fx has seen one. */
  readonly previous: RateTable | undefined;
  /** Whether it is a recorded one, which does not age. */
  readonly recorded: boolean;
}

/**
 * The reasons why no order settles: the table in force is none, takes effect later, is too old, or of another source; or
 * an operator has suspended trading.
 */
export const notTradedCodes = ["no-table", "not-effective", "too-old", "other-source", "suspended"] as const;
export type NotTradedCode = (typeof notTradedCodes)[number];

/**
 * The outcome of a request to the source: a new table is in force; there is none, or it is not effective yet; a check
 * held it back; there was no answer, or no table in it.
 */
export const fetchOutcomes = ["accepted", "unchanged", "refused", "failed"] as const;
type FetchOutcome = (typeof fetchOutcomes)[number];

export interface RatesStatus {
  /** This process's source. */
  readonly source: string;
  /** Whether the tables are recorded ones, which do not age. */
  readonly recorded: boolean;
  readonly table: RateTable | undefined;
  /** Why no order settles now; undefined if orders do. */
  readonly notTraded: NotTraded | undefined;
  /** Why there is no newer table, after a failed refresh or for a table that is held back. */
  readonly problem: string | undefined;
  /** The number of the newest table, if a check holds it back. */
  readonly heldBack: string | undefined;
  /** How far this machine's clock is from the time that the source tells, where that is more than a few minutes. */
  readonly clock: string | undefined;
  /** How often this process has asked its source. */
  readonly fetches: Readonly<Record<FetchOutcome, number>>;
}

export function noFetches(): Record<FetchOutcome, number> {
  return { accepted: 0, unchanged: 0, refused: 0, failed: 0 };
}

/**
 * A table with its source and its id, the first 32 digits of the SHA-256 of what it says.
 * @param sha256 gives the hash of a text in hexadecimal
 */
export function identifyTable(
  published: PublishedTable,
  source: string,
  sha256: (text: string) => string,
): RateTable {
  const { number, tradingDate, effectiveDate, rates } = published;
  const quotations = [...rates.values()]
    .sort((a, b) => compareCurrencies(a.currency, b.currency))
    .map(({ currency, bid, ask }) => [currency, formatDecimal(bid), formatDecimal(ask)]);
  const content = JSON.stringify([source, number, tradingDate, effectiveDate, quotations]);
  return { number, tradingDate, effectiveDate, rates, source, id: sha256(content).slice(0, 32) };
}
