import * as z from "zod";
import type { CurrencyCode } from "../core/currency.ts";
import type { LatestTable, Rate, RateOfTable, RateTable, TradingState } from "../core/rates.ts";
import { notAnAnswer } from "./answers.ts";
import { currency, date, givenText, orNull, time } from "./fields.ts";
import { wholeNumber } from "./parameters.ts";
import { rateValue, reasonCode, source, tableId, tableNumber } from "./rate-fields.ts";

/** Rate tables and the history of rates. */

const inPln = "PLN for one unit: the bank buys at bid and sells at ask";
const rate = z.codec(
  z.object({ symbol: currency, name: z.string(), bid: rateValue, ask: rateValue }),
  z.custom<Rate>(),
  {
    decode: ({ symbol, ...rate }) => ({ currency: symbol as CurrencyCode, ...rate }),
    encode: ({ currency, name, bid, ask }) => ({ symbol: currency, name, bid, ask }),
  },
);
const tableFields = {
  table: tableNumber,
  tableId,
  tradingDate: date,
  effectiveDate: date,
  rates: z.array(rate),
};
const tableJson = z.object(tableFields).meta({ id: "RateTable", description: inPln });

function jsonOf({ number, id, tradingDate, effectiveDate, rates }: RateTable) {
  return { table: number, tableId: id, tradingDate, effectiveDate, rates: [...rates.values()] };
}

function tableOf({ table, tableId, rates, ...days }: z.output<typeof tableJson>, source: string): RateTable {
  const byCurrency = new Map(rates.map((rate) => [rate.currency, rate]));
  return { number: table, id: tableId, ...days, source, rates: byCurrency };
}

export const suspending = z
  .strictObject({ reason: givenText })
  .meta({ id: "Suspending", examples: [{ reason: "The bank corrects its table" }] });
export const resuming = z.strictObject({}).meta({ id: "Resuming", examples: [{}] });

const suspension = z
  .object({ reason: z.string(), by: orNull(z.string()), since: time })
  .meta({ id: "Suspension", description: "Why, by whose token, and since when orders are refused" });

const tradingFields = {
  tradable: z.boolean().meta({ description: "Whether orders are settled at this table now" }),
  reason: orNull(z.string()).meta({
    description: "Why no orders are settled at it; null if they are",
  }),
  reasonCode,
  suspension: orNull(suspension).meta({ description: "null unless an operator has suspended trading" }),
};
const tradingJson = z.object(tradingFields).meta({ id: "Trading" });

function tradingOf({ tradable, reason, reasonCode, suspension }: z.output<typeof tradingJson>): TradingState {
  if (tradable !== (reasonCode === undefined)) throw notAnAnswer("rates that contradict themselves");
  const notTraded = reasonCode && { code: reasonCode, reason: reason ?? "" };
  return { notTraded, suspension };
}

function tradingText({ notTraded, suspension }: TradingState) {
  const { code: reasonCode, reason } = notTraded ?? {};
  return { tradable: notTraded === undefined, reason, reasonCode, suspension };
}

/** Whether orders are settled. */
export const trading = z.codec(tradingJson, z.custom<TradingState>(), {
  decode: tradingOf,
  encode: tradingText,
});

/** The last table, and the one before it. */
export const rates = z.codec(
  z
    .object({
      ...tableFields,
      source,
      recorded: z.boolean().meta({ description: "Whether the table is a recorded one, which does not age" }),
      ...tradingFields,
      previous: orNull(tableJson),
    })
    .meta({ id: "Rates", description: inPln }),
  z.custom<LatestTable>(),
  {
    decode: ({ source, recorded, tradable, reason, reasonCode, suspension, previous, ...table }) => ({
      table: tableOf(table, source),
      recorded,
      ...tradingOf({ tradable, reason, reasonCode, suspension }),
      previous: previous && tableOf(previous, source),
    }),
    encode: ({ table, previous, recorded, ...state }) => ({
      ...jsonOf(table),
      source: table.source,
      recorded,
      ...tradingText(state),
      previous: previous && jsonOf(previous),
    }),
  },
);
export type RatesJson = z.input<typeof rates>;

/** All currencies, table by table. */
export const rateTables = z.codec(
  z.object({ source, tables: z.array(tableJson) }).meta({ id: "RateTables", description: "Oldest first" }),
  z.custom<readonly RateTable[]>(),
  {
    decode: ({ source, tables }) => tables.map((table) => tableOf(table, source)),
    encode: (tables) => ({ source: tables[0]?.source ?? "", tables: tables.map(jsonOf) }),
  },
);
export type RateTablesJson = z.input<typeof rateTables>;

/** The rates of one currency, table by table. */
export const rateHistory = z.codec(
  z
    .object({
      symbol: currency,
      rates: z.array(z.object({ table: tableNumber, effectiveDate: date, bid: rateValue, ask: rateValue })),
    })
    .meta({ id: "RateHistory", description: "Oldest first" }),
  z.custom<{ readonly currency: CurrencyCode; readonly rates: readonly RateOfTable[] }>(),
  {
    decode: ({ symbol, rates }) => ({
      currency: symbol as CurrencyCode,
      rates: rates.map(({ table: number, ...rate }) => ({ number, ...rate })),
    }),
    encode: ({ currency, rates }) => ({
      symbol: currency,
      rates: rates.map(({ number: table, effectiveDate, bid, ask }) => ({ table, effectiveDate, bid, ask })),
    }),
  },
);
export type RateHistoryJson = z.input<typeof rateHistory>;

const days = { description: "Number of days, ending with that of the table in force" };
export const rateHistoryQuery = z.strictObject({ days: wholeNumber(1, 3660, 90).meta(days) });
export const rateTablesQuery = z.strictObject({ days: wholeNumber(1, 93, 30).meta(days) });
