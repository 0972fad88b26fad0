import {
  type CurrencyCode,
  compareCurrencies,
  minorUnitDigits,
  parseCurrencyCode,
  pln,
} from "../core/currency.ts";
import { type CalendarDate, isDate } from "../core/date.ts";
import { compareDecimals, type Decimal, parseDecimal } from "../core/decimal.ts";
import type { PublishedTable, Rate } from "../core/rates.ts";
import { visible } from "../core/visible.ts";

/** A rate table of the wrong form. `message` says what is wrong with it. */
export class InvalidRateTable extends Error {
  override readonly name = "InvalidRateTable";
}

/**
 * Parses an array of rate tables as the bank publishes it, oldest first. The result is never empty. A wrong table is left
 * out if a right one follows it, because it must not hold back those of later days.
 * @throws InvalidRateTable
 */
export function parseTables(text: string): readonly PublishedTable[] {
  let untrusted: unknown;
  try {
    // Editors on Windows save JSON with a byte order mark.
    untrusted = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    throw new InvalidRateTable(`not JSON but ${excerpt(text)}`);
  }
  if (!Array.isArray(untrusted)) {
    throw new InvalidRateTable(`not an array of tables but ${excerpt(JSON.stringify(untrusted))}`);
  }
  if (untrusted.length === 0) throw new InvalidRateTable("an empty array");
  const last = untrusted.length - 1;
  return untrusted.flatMap((table, index) => {
    try {
      return [parseRateTable(table)];
    } catch (error) {
      if (!(error instanceof InvalidRateTable)) throw error;
      if (index < last) return [];
      throw new InvalidRateTable(`table ${index + 1} of ${untrusted.length} is wrong: ${error.message}`);
    }
  });
}

/**
 * Reads one table in the shape that the bank publishes:
 * `{table, no, tradingDate, effectiveDate, rates: [{currency, code, bid, ask}]}`.
 * Its numbers are taken by their shortest decimal text, which is what was published. A currency whose minor
 * unit fx does not know is left out, and so not traded.
 * @throws InvalidRateTable
 */
export function parseRateTable(untrusted: unknown): PublishedTable {
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

const longestName = 100;

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
    name:
      typeof rate.currency === "string" && rate.currency.length <= longestName ? rate.currency : rate.code,
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
  if (typeof untrusted !== "string" || !isDate(untrusted)) {
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
  return visible((JSON.stringify(untrusted) ?? "missing").slice(0, 60));
}

/** Describes a text in a few words, for a message. */
export function excerpt(text: string): string {
  const line = text.slice(0, 1000).replace(/\s+/g, " ").trim();
  if (line === "") return "nothing";
  if (line.startsWith("<")) return "a web page";
  return visible(JSON.stringify(line.length > 120 ? `${line.slice(0, 119)}…` : line));
}
