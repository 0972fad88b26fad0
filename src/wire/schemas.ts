import * as z from "zod";
import { parseDecimal } from "../core/decimal.ts";
import { answerCodes } from "../core/errors.ts";

/** The shapes of every body, query and answer. They validate, and the OpenAPI document is made from them. */

const symbol = z.string().meta({ description: "ISO 4217 code, read in any case", examples: ["USD"] });
const currency = z.string().regex(/^[A-Z]{3}$/);
const amount = z.number().meta({ description: "In units of the currency, exact", examples: [100.5] });
const decimalText = z.string().regex(/^-?\d+(\.\d+)?$/);
const pesel = z
  .string()
  .meta({ description: "Polish national identification number", examples: ["44051401359"] });
const date = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
const tableNumber = z.string().meta({ examples: ["108/C/NBP/2026"] });
const tableId = z
  .string()
  .regex(/^[0-9a-f]{32}$/)
  .meta({
    description: "Identifies one table of one source. A correction keeps the number and has another id",
  });
const source = z
  .string()
  .meta({ description: "nbp, demo, the path of a file, or the base URL of an API", examples: ["nbp"] });
const count = z.int().min(0);

export const openingBody = z
  .strictObject({
    name: z.string(),
    surname: z.string(),
    pesel,
    pln: amount.optional(),
    initial: amount.optional(),
  })
  .refine(({ pln, initial }) => pln !== undefined || initial !== undefined, {
    path: ["pln"],
    error: "is required (or initial, which means the same)",
  })
  .refine(({ pln, initial }) => pln === undefined || initial === undefined || pln === initial, {
    path: ["initial"],
    error: "must equal pln, where both are given",
  })
  .meta({ id: "Opening", anyOf: [{ required: ["pln"] }, { required: ["initial"] }] });

export const orderBody = z
  .strictObject({ pesel, from: symbol, to: symbol, toBuy: amount.optional(), toSell: amount.optional() })
  .refine(exactlyOneAmount, { path: [], error: "must have exactly one of toBuy and toSell" })
  .meta({ id: "Order", oneOf: [{ required: ["toBuy"] }, { required: ["toSell"] }] });

const amountText = z
  .string()
  .refine((text) => parseDecimal(text) !== undefined, "must be a decimal number, such as 12.30")
  .meta({ type: "number" });

export const quoteQuery = z
  .strictObject({ from: symbol, to: symbol, toBuy: amountText.optional(), toSell: amountText.optional() })
  .refine(exactlyOneAmount, { path: [], error: "must have exactly one of toBuy and toSell" });

export const pageQuery = z.strictObject({
  limit: wholeNumber(z.int().min(1).max(1000).default(50)),
  cursor: z
    .string()
    .regex(/^[!-~]{1,100}$/)
    .optional()
    .meta({ description: "`next` of the page before" }),
});

export const rateHistoryQuery = z.strictObject({ days: wholeNumber(z.int().min(1).max(3660).default(90)) });

export const money = z.object({ symbol: currency, amount }).meta({ id: "Money" });

export const account = z
  .object({ name: z.string(), surname: z.string(), pesel, currencies: z.array(money) })
  .meta({ id: "Account", description: "PLN first, then by symbol" });

const exchangeFields = {
  side: z.enum(["toBuy", "toSell"]),
  sold: money,
  bought: money,
  bid: z.number().nullable().meta({ description: "Of the sold currency in PLN; null where PLN is sold" }),
  ask: z.number().nullable().meta({ description: "Of the bought currency in PLN; null where PLN is bought" }),
  table: tableNumber,
  tableId: tableId.nullable().meta({ description: "null in exchanges from before fx kept it" }),
  effectiveDate: date,
};

const exchange = z.object(exchangeFields);

export const quote = z
  .object({
    ...exchangeFields,
    tableId,
    source,
    rate: z.number().meta({ description: "Bought per one sold, before rounding, to 6 significant digits" }),
  })
  .meta({ id: "Quote" });

const entryHead = {
  id: z.string(),
  pesel,
  sequence: z.int().min(1),
  time: z.iso.datetime(),
  key: z.string().nullable().meta({ description: "The Idempotency-Key of the request" }),
  currencies: z.array(money).meta({ description: "All balances after the entry" }),
};

export const openingEntry = z
  .object({ kind: z.literal("opening"), ...entryHead, name: z.string(), surname: z.string(), initial: money })
  .meta({ id: "OpeningEntry" });

export const exchangeEntry = z
  .object({ kind: z.literal("exchange"), ...entryHead, ...exchangeFields })
  .meta({ id: "ExchangeEntry" });

export const entry = z.discriminatedUnion("kind", [openingEntry, exchangeEntry]).meta({
  id: "Entry",
  discriminator: {
    propertyName: "kind",
    mapping: { opening: "#/components/schemas/OpeningEntry", exchange: "#/components/schemas/ExchangeEntry" },
  },
});

const next = z.string().nullable().meta({ description: "The cursor of the next page; null on the last" });

export const statement = z
  .object({ entries: z.array(entry), next })
  .meta({ id: "Statement", description: "Newest first" });

export const accounts = z.object({ users: z.array(account), next }).meta({ id: "Accounts" });

const rateTable = {
  table: tableNumber,
  tableId,
  tradingDate: date,
  effectiveDate: date,
  rates: z.array(z.object({ symbol: currency, name: z.string(), bid: z.number(), ask: z.number() })),
};

export const rates = z
  .object({
    ...rateTable,
    source,
    recorded: z.boolean().meta({ description: "Whether the table is a recorded one, which does not age" }),
    tradable: z.boolean().meta({ description: "Whether orders are settled at it now" }),
    reason: z.string().nullable().meta({ description: "Why they are not; null where they are" }),
    previous: z.object(rateTable).nullable(),
  })
  .meta({ id: "Rates", description: "PLN for one unit: the bank buys at bid and sells at ask" });

export const rateHistory = z
  .object({
    symbol: currency,
    rates: z.array(z.object({ table: tableNumber, effectiveDate: date, bid: z.number(), ask: z.number() })),
  })
  .meta({ id: "RateHistory", description: "Oldest first" });

export const position = z
  .object({
    currencies: z.array(z.object({ symbol: currency, customers: decimalText, house: decimalText })),
    spreadEarned: z.object({ symbol: currency, amount: decimalText }),
  })
  .meta({
    id: "Position",
    description: "Amounts are decimal text, because totals may pass what a JSON number holds exactly",
  });

export const audit = z
  .object({
    ok: z.boolean(),
    accounts: count,
    entries: count,
    findings: z.array(
      z.object({
        account: z.string(),
        entry: z.int().nullable(),
        id: z.string().nullable(),
        problem: z.string(),
        recorded: z.string(),
        recomputed: z.string(),
      }),
    ),
    findingsTotal: count,
  })
  .meta({ id: "Audit" });

export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    code: z.enum(answerCodes),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
  })
  .meta({ id: "Problem", description: "RFC 9457. Tell errors apart by `code`" });

export const live = z.object({ status: z.literal("live") }).meta({ id: "Live" });

export const ready = z
  .object({
    status: z.enum(["ready", "draining", "store-unavailable"]),
    version: z.string().meta({ description: "Of fx" }),
    store: z
      .enum(["memory", "sqlite", "postgres"])
      .meta({ description: "memory is gone when the server ends" }),
    schemaVersion: z.int().min(1).meta({ description: "Of the database schema that the server writes" }),
    rates: z.object({
      source,
      recorded: z.boolean(),
      table: tableNumber.nullable(),
      effectiveDate: date.nullable(),
      problem: z.string().nullable(),
    }),
  })
  .meta({ id: "Ready" });

export type AccountJson = z.infer<typeof account>;
export type AccountsJson = z.infer<typeof accounts>;
export type AuditJson = z.infer<typeof audit>;
export type EntryJson = z.infer<typeof entry>;
export type ExchangeJson = z.infer<typeof exchange>;
export type MoneyJson = z.infer<typeof money>;
export type PositionJson = z.infer<typeof position>;
export type ProblemJson = z.infer<typeof problem>;
export type QuoteJson = z.infer<typeof quote>;
export type RateHistoryJson = z.infer<typeof rateHistory>;
export type RatesJson = z.infer<typeof rates>;
export type ReadyJson = z.infer<typeof ready>;
export type StatementJson = z.infer<typeof statement>;

function exactlyOneAmount(order: { toBuy?: unknown; toSell?: unknown }): boolean {
  return (order.toBuy === undefined) !== (order.toSell === undefined);
}

/** A whole number that comes as the text of a query. */
function wholeNumber<T extends z.ZodType>(schema: T) {
  return z.preprocess(
    (text) => (typeof text === "string" && /^\d{1,9}$/.test(text) ? Number(text) : text),
    schema,
  );
}
