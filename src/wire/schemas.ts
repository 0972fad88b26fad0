import * as z from "zod";
import { unfitForNames, unfitToBegin } from "../core/account.ts";
import { parseDecimal } from "../core/decimal.ts";
import { answerCodes } from "../core/errors.ts";
import { roles } from "./role.ts";

/**
 * The shapes of every body and answer; most of queries are in query-schemas.ts. They validate, and the OpenAPI document is made from them. What is in
 * `meta` is only published: the core checks those patterns and ranges later, with better messages.
 */

export const symbol = z.string().meta({
  pattern: "^[A-Za-z]{3}$",
  description: "ISO 4217 code, read in any case",
  examples: ["USD"],
});
const currency = z
  .string()
  .regex(/^[A-Z]{3}$/)
  .meta({ description: "ISO 4217 code", examples: ["USD"] });
const largest = { PLN: 9_999_999_999_999.99, any: 999_999_999_999_999 };
const amount = z.number().meta({
  format: "double",
  minimum: 0,
  maximum: largest.any,
  description: "In units of the currency, exact: a double holds 15 digits",
  examples: [100.5],
});
const orderAmount = z.number().meta({
  format: "double",
  exclusiveMinimum: 0,
  maximum: largest.any,
  description: "No finer than the minor unit of the currency: 2 decimals, for JPY none",
  examples: [100.5],
});
const initialAmount = z.number().meta({
  format: "double",
  minimum: 0,
  maximum: largest.PLN,
  description: "The initial balance in PLN, with at most 2 decimals",
  examples: [1000],
});
const decimalText = z
  .string()
  .regex(/^-?\d+(\.\d+)?$/)
  .meta({ examples: ["1234.50"] });
const rateValue = z.number().meta({ format: "double", exclusiveMinimum: 0, examples: [4.2963] });
/** Born in 1801, so that nobody ever had this PESEL: who tries an example at /docs meets nobody's account. */
const exampleHolder = { name: "Maria", surname: "Zielińska", pesel: "01851400010" };
export const pesel = z.string().meta({
  pattern: "^[0-9]{2}([02468][1-9]|[13579][0-2])(0[1-9]|[12][0-9]|3[01])[0-9]{5}$",
  description:
    "Polish national identification number: date of birth (the month's tens also tell the century), number, check digit",
  examples: [exampleHolder.pesel],
});
/** Of text with no more than so many characters between the first and the last. */
function givenTextPattern(between: number): string {
  return `^\\s*[^\\s${unfitToBegin}${unfitForNames}]([^${unfitForNames}]{0,${between}}[^\\s${unfitForNames}])?\\s*$`;
}

/** Measured after trimming, in code points, which `maxLength` cannot say. */
const givenName = z.string().meta({
  pattern: givenTextPattern(98),
  description:
    "1 to 100 characters of any script, without control or invisible characters. Space around it is removed, and it is kept in NFC",
  examples: [exampleHolder.name],
});
export const keptName = z.string().meta({ minLength: 1, maxLength: 100, examples: [exampleHolder.name] });
const date = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .meta({ format: "date", examples: ["2026-06-08"] });
const tableNumber = z.string().meta({
  pattern: "^[0-9]{1,3}/C/NBP/[0-9]{4}$",
  description: "Number of a table C, as published",
  examples: ["108/C/NBP/2026"],
});
const tableId = z
  .string()
  .regex(/^[0-9a-f]{32}$/)
  .meta({
    description: "Identifies one table of one source. A correction keeps the number and has another id",
    examples: ["2f1e64f8be8d4d2f9b0a1c64c8bd0c11"],
  });
export const idempotencyKey = z.string().meta({
  pattern: '^([!#-~][!-~]{0,254}|"([!#-\\[\\]-~]|\\\\["\\\\]){1,255}")$',
  description:
    "1 to 255 visible ASCII characters, bare or quoted. A request repeated with the same key and body has no further " +
    "effect and gets the first answer, even if that was a refusal (kept for 30 days). Only `rate-changed`, `rates-unavailable`, 5xx and " +
    "requests that are wrong in themselves leave the key free. A key that another token used is refused",
  examples: ["7f3a6c1e-9d0b-4f57-8a52-6f6f4f1f0f7e"],
});
export const tableInForce = z.string().meta({
  pattern: "^([0-9]{1,3}/C/NBP/[0-9]{4}|[0-9a-f]{32})$",
  description: "Exchange only at this table, named by its number or its id",
  examples: ["108/C/NBP/2026"],
});
export const entryId = z.string().meta({
  format: "uuid",
  description: "Of an entry of the journal, and so of its receipt",
  examples: ["019e9a70-3c5e-7000-8000-5d1f0c2b7a11"],
});
export const receiptId = z.string().meta({
  pattern: "^[0-9a-fA-F-]{8,36}$",
  description: "Of an entry of the journal, and so of its receipt",
  examples: ["019e9a70-3c5e-7000-8000-5d1f0c2b7a11"],
});
export const cursor = z
  .string()
  .regex(/^[!-~]{1,100}$/)
  .meta({ description: "The `next` of the previous page", minLength: 1, maxLength: 100 });
const source = z
  .string()
  .meta({ description: "nbp, demo, the path of a file, or the base URL of an API", examples: ["nbp"] });
export const by = z
  .string()
  .optional()
  .meta({
    description: "The name of the token that the request came with; absent if it came without one",
    examples: ["counter-2"],
  });
export const count = z.int().min(0).meta({ format: "int64" });

const surnameExample = { examples: [exampleHolder.surname] };
const holder = { name: givenName, surname: givenName.meta(surnameExample), pesel };

export const openingWithPln = z.strictObject({ ...holder, pln: initialAmount }).meta({
  id: "OpeningWithPln",
  description: "The initial balance as `pln`",
  examples: [{ ...exampleHolder, pln: 1000 }],
});
export const openingWithInitial = z.strictObject({ ...holder, initial: initialAmount }).meta({
  id: "OpeningWithInitial",
  description: "The initial balance as `initial`, which means the same",
  examples: [{ ...exampleHolder, initial: 1000 }],
});
export const openingWithBoth = z
  .strictObject({ ...holder, pln: initialAmount, initial: initialAmount })
  .meta({
    id: "OpeningWithBoth",
    description: "`pln` and `initial` must be equal",
    examples: [{ ...exampleHolder, pln: 1000, initial: 1000 }],
  });

/** The body of an opening as it is published. */
export const opening = z.xor([openingWithPln, openingWithInitial, openingWithBoth]).meta({ id: "Opening" });

const givenText = z.string().meta({
  pattern: givenTextPattern(198),
  description: "1 to 200 characters. Space around it is removed",
});

/** The body of a deposit or a withdrawal. */
export const cash = z
  .strictObject({ amount: orderAmount, currency: symbol, note: givenText.optional() })
  .meta({ id: "Cash", examples: [{ amount: 100, currency: "PLN", note: "Counter 2" }] });

export const renaming = z
  .strictObject({ name: givenName, surname: givenName })
  .meta({ id: "Renaming", examples: [{ name: "Maria", surname: "Wiśniewska" }] });

export const closing = z.strictObject({}).meta({ id: "Closing", examples: [{}] });

export const reversal = z
  .strictObject({ reason: givenText })
  .meta({ id: "Reversal", examples: [{ reason: "Wrong currency" }] });

/** The body of an opening as it is read: in one shape, so that errors name fields. */
export const openingBody = z
  .strictObject({ ...holder, pln: initialAmount.optional(), initial: initialAmount.optional() })
  .refine(({ pln, initial }) => pln !== undefined || initial !== undefined, {
    path: ["pln"],
    error: "is required (or initial, which means the same)",
  })
  .refine(({ pln, initial }) => pln === undefined || initial === undefined || pln === initial, {
    path: ["initial"],
    error: "must equal pln, where both are given",
  });

const pair = { from: symbol.meta({ examples: ["PLN"] }), to: symbol };
const examplePair = { pesel: exampleHolder.pesel, from: "PLN", to: "USD" };

export const buyOrder = z.strictObject({ pesel, ...pair, toBuy: orderAmount }).meta({
  id: "BuyOrder",
  description: "Buys exactly this amount of `to`",
  examples: [{ ...examplePair, toBuy: 100 }],
});
export const sellOrder = z.strictObject({ pesel, ...pair, toSell: orderAmount }).meta({
  id: "SellOrder",
  description: "Sells exactly this amount of `from`",
  examples: [{ ...examplePair, toSell: 100 }],
});

/** The body of an order as it is published. */
export const order = z.xor([buyOrder, sellOrder]).meta({ id: "Order" });

/** The body of an order as it is read. */
export const orderBody = z
  .strictObject({ pesel, ...pair, toBuy: orderAmount.optional(), toSell: orderAmount.optional() })
  .refine(exactlyOneAmount, { path: [], error: "must have exactly one of toBuy and toSell" });

const amountText = z
  .string()
  .refine((text) => parseDecimal(text) !== undefined, "must be a decimal number, such as 12.30")
  .meta({ ...orderAmount.meta(), type: "number" });

export const quoteQuery = z
  .strictObject({
    ...pair,
    toBuy: amountText.optional().meta({ description: "How much of `to` to buy. Either this or `toSell`" }),
    toSell: amountText.optional().meta({ description: "How much of `from` to sell. Either this or `toBuy`" }),
  })
  .refine(exactlyOneAmount, { path: [], error: "must have exactly one of toBuy and toSell" });

export const rateHistoryQuery = z.strictObject({
  days: wholeNumber(z.int().min(1).max(3660).default(90)).meta({
    format: "int32",
    description: "Number of days, ending with that of the table in force",
  }),
});

export const money = z.object({ symbol: currency, amount }).meta({ id: "Money" });

export const account = z
  .object({ name: keptName, surname: keptName.meta(surnameExample), pesel, currencies: z.array(money) })
  .meta({ id: "Account", description: "PLN first, then by symbol" });

export const exchangeFields = {
  side: z.enum(["toBuy", "toSell"]),
  sold: money,
  bought: money,
  bid: rateValue.nullable().meta({ description: "Of the sold currency in PLN; null if PLN is sold" }),
  ask: rateValue.nullable().meta({ description: "Of the bought currency in PLN; null if PLN is bought" }),
  table: tableNumber,
  tableId,
  effectiveDate: date,
};

export const exchange = z.object(exchangeFields);

export const quote = z
  .object({
    ...exchangeFields,
    source,
    rate: rateValue.meta({
      description: "Bought per one sold, before rounding, to 6 significant digits",
    }),
  })
  .meta({ id: "Quote" });

export const next = cursor.nullable().meta({ description: "The cursor of the next page; null on the last" });

export const listedAccount = account
  .extend({ closed: z.literal(true).optional().meta({ description: "Present if the account is closed" }) })
  .meta({ id: "ListedAccount" });

export const accounts = z.object({ users: z.array(listedAccount), next }).meta({ id: "Accounts" });

const rateTable = {
  table: tableNumber,
  tableId,
  tradingDate: date,
  effectiveDate: date,
  rates: z.array(z.object({ symbol: currency, name: z.string(), bid: rateValue, ask: rateValue })),
};

export const rates = z
  .object({
    ...rateTable,
    source,
    recorded: z.boolean().meta({ description: "Whether the table is a recorded one, which does not age" }),
    tradable: z.boolean().meta({ description: "Whether orders are settled at this table now" }),
    reason: z.string().nullable().meta({ description: "Why no orders are settled at it; null if they are" }),
    previous: z.object(rateTable).nullable(),
  })
  .meta({ id: "Rates", description: "PLN for one unit: the bank buys at bid and sells at ask" });

export const rateHistory = z
  .object({
    symbol: currency,
    rates: z.array(z.object({ table: tableNumber, effectiveDate: date, bid: rateValue, ask: rateValue })),
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

export const problem = z
  .object({
    type: z.string().meta({ format: "uri", examples: ["urn:fx:error:account-not-found"] }),
    title: z.string().meta({ examples: ["No such account"] }),
    status: z.int().meta({ format: "int32", minimum: 400, maximum: 599, examples: [404] }),
    detail: z.string().meta({ examples: ["There is no account for this PESEL."] }),
    instance: z.string().meta({ format: "uri", examples: ["urn:fx:request:kCDdJ7Fn-d"] }),
    code: z.enum(answerCodes),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
  })
  .meta({ id: "Problem", description: "RFC 9457. Tell errors apart by `code`" });

export const token = z
  .object({
    name: z
      .string()
      .nullable()
      .meta({ description: "null where no tokens are in force", examples: ["till-3"] }),
    role: z.enum(roles).meta({ description: "operator where no tokens are in force" }),
    expires: z
      .string()
      .nullable()
      .meta({ format: "date-time", examples: ["2027-02-20T12:00:00.000Z"] }),
  })
  .meta({ id: "Token" });

export const live = z.object({ status: z.literal("live") }).meta({ id: "Live" });

export const ready = z
  .object({
    status: z.enum(["ready", "draining", "store-unavailable"]),
    version: z.string().meta({ description: "Of fx" }),
    store: z
      .enum(["memory", "sqlite", "postgres"])
      .meta({ description: "With `memory`, the ledger is gone when the server ends" }),
    schemaVersion: z
      .int()
      .min(1)
      .meta({ format: "int64", description: "The version of the database schema that the server writes" }),
    rates: z.object({
      source,
      recorded: z.boolean(),
      table: tableNumber.nullable(),
      effectiveDate: date.nullable(),
      tradable: z.boolean().meta({ description: "Whether orders are settled now" }),
      reason: z.string().nullable().meta({ description: "Why no orders are settled; null if they are" }),
      problem: z.string().nullable().meta({
        description: "Why there is no newer table: the source does not answer, or a table is held back",
      }),
      clock: z.string().nullable().meta({
        description: "How far the server's clock is from the source's, if that is more than five minutes",
      }),
    }),
  })
  .meta({ id: "Ready" });

export type AccountJson = z.infer<typeof account>;
export type AccountsJson = z.infer<typeof accounts>;
export type ListedAccountJson = z.infer<typeof listedAccount>;
export type ExchangeJson = z.infer<typeof exchange>;
export type MoneyJson = z.infer<typeof money>;
export type PositionJson = z.infer<typeof position>;
export type ProblemJson = z.infer<typeof problem>;
export type QuoteJson = z.infer<typeof quote>;
export type RateHistoryJson = z.infer<typeof rateHistory>;
export type RatesJson = z.infer<typeof rates>;
export type ReadyJson = z.infer<typeof ready>;
export type TokenJson = z.infer<typeof token>;

function exactlyOneAmount(order: { toBuy?: unknown; toSell?: unknown }): boolean {
  return (order.toBuy === undefined) !== (order.toSell === undefined);
}

/** A whole number that comes as the text of a query. */
export function wholeNumber<T extends z.ZodType>(schema: T) {
  return z.preprocess(
    (text) => (typeof text === "string" && /^\d{1,9}$/.test(text) ? Number(text) : text),
    schema,
  );
}
