import * as z from "zod";
import type { CurrencyCode } from "../core/currency.ts";
import type { LatestTable, Rate, RateOfTable, RateTable, TradingState } from "../core/rates.ts";
import {
  currency,
  date,
  givenText,
  orNull,
  rateValue,
  reasonCode,
  source,
  tableId,
  tableNumber,
  time,
  wholeNumber,
} from "./fields.ts";
import type { Operation } from "./operation.ts";

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
  return { notTraded: tradable ? undefined : (reason ?? ""), notTradedCode: reasonCode, suspension };
}

function tradingText({ notTraded, notTradedCode, suspension }: TradingState) {
  return { tradable: notTraded === undefined, reason: notTraded, reasonCode: notTradedCode, suspension };
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

/** One currency, table by table. */
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

const errors = ["rates-unavailable", "storage-unavailable", "overloaded"] as const;

/** Operations of the tag "rates". */
export const rateOperations = {
  rates: {
    method: "GET",
    path: "/api/rates",
    summary: "The table in force, or the last there was, and the one before it",
    description: "PLN for one unit: the bank buys at bid and sells at ask.",
    tag: "rates",
    role: "viewer",
    success: { status: 200, schema: rates },
    errors,
  },
  suspendTrading: {
    method: "POST",
    path: "/api/trading/suspension",
    summary: "Refuse all orders from now on",
    description:
      "Every process on the ledger answers `trading-suspended` to orders until `/api/trading/resumption`. Everything else " +
      "goes on: quotes, deposits, withdrawals, reversals and reading. It is kept in the ledger, with the token's name, and " +
      "a new rate table does not end it. Sent again, it replaces the reason. Who can reach the server can read the reason.",
    tag: "rates",
    role: "operator",
    body: suspending,
    success: { status: 200, schema: trading },
    errors,
  },
  resumeTrading: {
    method: "POST",
    path: "/api/trading/resumption",
    summary: "Settle orders again",
    description: "Ends a suspension, and changes nothing where there is none.",
    tag: "rates",
    role: "operator",
    body: resuming,
    isBodyOptional: true,
    success: { status: 200, schema: trading },
    errors,
  },
  rateHistory: {
    method: "GET",
    path: "/api/rates/{code}/history",
    summary: "Bid and ask of one currency, table by table",
    description: "Oldest first, over the `days` that end with the table in force.",
    tag: "rates",
    role: "viewer",
    query: rateHistoryQuery,
    success: { status: 200, schema: rateHistory },
    errors: ["unsupported-currency", ...errors],
  },
  rateTables: {
    method: "GET",
    path: "/api/rates/history",
    summary: "Bid and ask of all currencies, table by table",
    description:
      "Oldest first, over the `days` that end with the table in force: every trend in one request.",
    tag: "rates",
    role: "viewer",
    query: rateTablesQuery,
    success: { status: 200, schema: rateTables },
    errors,
  },
} as const satisfies Record<string, Operation>;
