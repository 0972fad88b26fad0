import { type CurrencyCode, compareCurrencies, minorUnitDigits, parseCurrencyCode, pln } from "./currency.ts";
import { type Decimal, parseDecimal } from "./money.ts";
import { type CalendarDate, dateExists } from "./pesel.ts";

/** The bank's side of one currency, in PLN for one unit: it buys at `bid` and sells at `ask`. */
export interface Rate {
  readonly currency: CurrencyCode;
  readonly name: string;
  readonly bid: Decimal;
  readonly ask: Decimal;
}

/** One table C, as published. `number` is its identity, such as "108/C/NBP/2026". */
export interface RateTable {
  readonly number: string;
  readonly tradingDate: CalendarDate;
  readonly effectiveDate: CalendarDate;
  readonly rates: ReadonlyMap<CurrencyCode, Rate>;
}

/** The tables that orders are settled at. */
export interface CurrentRates {
  /**
   * The table in force, from memory.
   * @throws FxError rates-unavailable, with the seconds after which to try again
   */
  inForce(): RateTable;
  status(): RatesStatus;
  /** Stops refreshing. */
  close(): Promise<void>;
}

export interface RatesStatus {
  /** "nbp", an address, a path or "demo". */
  readonly source: string;
  /** Whether the tables are recorded ones, which do not age. */
  readonly recorded: boolean;
  readonly table: RateTable | undefined;
  /** Why there is no newer table, after a failed refresh. */
  readonly problem: string | undefined;
}

/** A rate table of the wrong form. `message` says what is wrong with it. */
export class InvalidRateTable extends Error {
  override readonly name = "InvalidRateTable";
}

/**
 * Reads one table in the shape that the bank publishes:
 * `{table, no, tradingDate, effectiveDate, rates: [{currency, code, bid, ask}]}`.
 * Its numbers are taken by their shortest decimal text, which is what was published. A currency whose minor
 * unit fx does not know is left out, and so not traded.
 * @throws InvalidRateTable
 */
export function parseRateTable(untrusted: unknown): RateTable {
  const table = record(untrusted, "a rate table");
  if (table.table !== "C") throw new InvalidRateTable(`not a table C but ${show(table.table)}`);
  if (typeof table.no !== "string" || !/^\d{1,3}\/C\/NBP\/\d{4}$/.test(table.no)) {
    throw new InvalidRateTable(`the table number is ${show(table.no)}`);
  }
  if (!Array.isArray(table.rates) || table.rates.length === 0) throw new InvalidRateTable("it has no rates");
  const rates = table.rates.map(parseRate);
  const seen = new Set<CurrencyCode>();
  for (const { currency } of rates) {
    if (seen.has(currency)) throw new InvalidRateTable(`${currency} stands in it twice`);
    seen.add(currency);
  }
  return {
    number: table.no,
    tradingDate: parseDate(table.tradingDate, "trading date"),
    effectiveDate: parseDate(table.effectiveDate, "effective date"),
    rates: new Map(
      rates
        .filter(({ currency }) => minorUnitDigits(currency) !== undefined)
        .sort((a, b) => compareCurrencies(a.currency, b.currency))
        .map((rate) => [rate.currency, rate]),
    ),
  };
}

/** Whether two tables say the same. A published table never changes, so under one number they must. */
export function sameTable(a: RateTable, b: RateTable): boolean {
  return (
    a.number === b.number &&
    a.tradingDate === b.tradingDate &&
    a.effectiveDate === b.effectiveDate &&
    a.rates.size === b.rates.size &&
    [...a.rates.values()].every((rate) => {
      const other = b.rates.get(rate.currency);
      return (
        other !== undefined &&
        compareDecimals(rate.bid, other.bid) === 0 &&
        compareDecimals(rate.ask, other.ask) === 0
      );
    })
  );
}

/** −1, 0 or 1, exactly. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  const left = a.coefficient * 10n ** BigInt(b.scale);
  const right = b.coefficient * 10n ** BigInt(a.scale);
  return left < right ? -1 : left > right ? 1 : 0;
}

function parseRate(untrusted: unknown): Rate {
  const rate = record(untrusted, "a rate");
  if (typeof rate.code !== "string" || !/^[A-Z]{3}$/.test(rate.code) || rate.code === pln) {
    throw new InvalidRateTable(`a currency code is ${show(rate.code)}`);
  }
  const bid = parseQuotation(rate.bid, `the bid of ${rate.code}`);
  const ask = parseQuotation(rate.ask, `the ask of ${rate.code}`);
  if (compareDecimals(bid, ask) >= 0)
    throw new InvalidRateTable(`the bid of ${rate.code} is not below its ask`);
  return {
    currency: parseCurrencyCode(rate.code),
    name: typeof rate.currency === "string" ? rate.currency : rate.code,
    bid,
    ask,
  };
}

function parseQuotation(untrusted: unknown, what: string): Decimal {
  const decimal = typeof untrusted === "number" ? parseDecimal(String(untrusted)) : undefined;
  if (decimal === undefined || decimal.coefficient <= 0n || decimal.scale > 12) {
    throw new InvalidRateTable(`${what} is ${show(untrusted)}`);
  }
  return decimal;
}

function parseDate(untrusted: unknown, what: string): CalendarDate {
  if (typeof untrusted !== "string" || !/^\d{4}-\d{2}-\d{2}$/.test(untrusted) || !dateExists(untrusted)) {
    throw new InvalidRateTable(`its ${what} is ${show(untrusted)}`);
  }
  return untrusted;
}

function record(untrusted: unknown, what: string): Record<string, unknown> {
  if (typeof untrusted !== "object" || untrusted === null || Array.isArray(untrusted)) {
    throw new InvalidRateTable(`${show(untrusted)} is not ${what}`);
  }
  return untrusted as Record<string, unknown>;
}

function show(untrusted: unknown): string {
  return (JSON.stringify(untrusted) ?? "missing").slice(0, 60);
}
