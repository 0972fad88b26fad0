import * as z from "zod";
import type { CurrencyCode } from "../core/currency.ts";
import { minorUnitDigits } from "../core/currency.ts";
import { type Decimal, parseDecimal } from "../core/decimal.ts";
import { exactNumber, knownDigits, type Money, minorUnitsOf } from "../core/money.ts";

/**
 * The fields of which bodies, lines and answers are made. Each is defined once: it validates, converts between JSON and
 * the core's types in both directions, and is published in the OpenAPI document. What is only
 * in `meta` is checked by the core, with better messages.
 */

export const symbol = z.string().meta({
  pattern: "^[A-Za-z]{3}$",
  description: "ISO 4217 code, read in any case",
  examples: ["USD"],
});
export const currency = z
  .string()
  .regex(/^[A-Z]{3}$/)
  .meta({ description: "ISO 4217 code", examples: ["USD"] });

/** Somebody born in 1801, whose PESEL nobody has: trying an example on a real server meets nobody's account. */
export const exampleHolder = { name: "Maria", surname: "Zielińska", pesel: "01851400010" };
export const pesel = z.string().meta({
  pattern: "^[0-9]{2}([02468][1-9]|[13579][0-2])(0[1-9]|[12][0-9]|3[01])[0-9]{5}$",
  description:
    "Polish national identification number: date of birth (the month's tens also tell the century), number, check digit",
  examples: [exampleHolder.pesel],
});

/** The number of an account in an answer: a PESEL, or a number of the house's, which is none. */
export const accountNumber = pesel.meta({
  ...pesel.meta(),
  pattern: `^0{10}[01]$|${pesel.meta()?.pattern}`,
  description: `${pesel.meta()?.description}. The house's accounts have ten zeros and 0 for cash or 1 for the bank`,
});

const givenName = z.string().meta({
  minLength: 1,
  maxLength: 100,
  description:
    "1 to 100 characters of any script, without control or invisible characters. Space around it is removed, and it is " +
    "kept in NFC",
  examples: [exampleHolder.name],
});
const surnameExample = { examples: [exampleHolder.surname] };
/** A name and a surname in a request. */
export const givenHolder = { name: givenName, surname: givenName.meta(surnameExample) };
const keptName = z.string().meta({ minLength: 1, maxLength: 100, examples: [exampleHolder.name] });
/** A name and a surname in an answer. */
export const keptHolder = { name: keptName, surname: keptName.meta(surnameExample) };
export const givenText = z.string().meta({
  minLength: 1,
  maxLength: 200,
  description: "1 to 200 characters, without control or invisible characters. Space around it is removed",
});

export const date = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .meta({ format: "date", examples: ["2026-06-08"] });
export const time = z
  .codec(z.iso.datetime(), z.custom<Date>(), {
    decode: (text) => new Date(text),
    encode: (at) => at.toISOString(),
  })
  .meta({ examples: ["2026-06-08T12:00:00.000Z"] });
export const tableInForce = z.string().meta({
  pattern: "^([0-9]{1,3}/C/NBP/[0-9]{4}|[0-9a-f]{32})$",
  description:
    "Exchange only at this table, named by its id, which is the `tableId` of a quote, or by its number, which a " +
    "correction of it has, too",
  examples: ["e59b49442f2a95322549366e5824b365"],
});
export const entryId = z.string().meta({
  format: "uuid",
  description: "Id of an entry of the journal, and of its receipt",
  examples: ["019e9a70-3c5e-7000-8000-5d1f0c2b7a11"],
});
/** An idempotency key in a line or a query. */
export const key = z
  .string()
  .refine((text) => /^[!-~]{1,255}$/.test(text), "must be 1 to 255 visible ASCII characters")
  .meta({ pattern: "^[!-~]{1,255}$", examples: ["2026-11-payroll:17"] });
export const by = z
  .string()
  .optional()
  .meta({
    description: "The name of the token that the request came with; absent if it came without one",
    examples: ["counter-2"],
  });
export const count = z.int().min(0).meta({ format: "int64" });

/** A number that stands for exactly its shortest text. */
export const decimalNumber = z.codec(z.number(), z.custom<Decimal>(), {
  decode: (number, context) => parseDecimal(String(number)) ?? reject(context, "must be a decimal number"),
  encode: exactNumber,
});
const largest = 999_999_999_999_999;
export const orderAmount = decimalNumber.meta({
  format: "double",
  exclusiveMinimum: 0,
  maximum: largest,
  description: "No finer than the minor unit of the currency: 2 decimals, for JPY none",
  examples: [100.5],
});
export const initialAmount = decimalNumber.meta({
  format: "double",
  minimum: 0,
  maximum: largest / 100,
  description: "The initial balance in PLN, with at most 2 decimals",
  examples: [1000],
});
/** An amount of money: `Money` as JSON has it. */
const moneyJson = z
  .object({
    symbol: currency,
    amount: z.number().meta({
      format: "double",
      minimum: 0,
      maximum: largest,
      description: "In units of the currency, exact: a double holds 15 digits",
      examples: [100.5],
    }),
  })
  .meta({ id: "Money" });
export const money = z.codec(moneyJson, z.custom<Money>(), { decode: decodeMoney, encode: encodeMoney });
const balanceJson = moneyJson
  .extend({
    amount: z.number().meta({
      format: "double",
      minimum: -largest,
      maximum: largest,
      description: "In units of the currency, exact: a double holds 15 digits. Below 0 only for the house",
      examples: [100.5],
    }),
  })
  .meta({ id: "Balance" });
export const balancesJson = z.array(balanceJson);
export const balances = z.codec(balancesJson, z.custom<readonly Money[]>(), {
  decode: (list, context) => list.map((each) => decodeMoney(each, context)),
  encode: (list) => list.map(encodeMoney),
});
export type MoneyJson = z.infer<typeof moneyJson>;

export function encodeMoney({ currency, minor }: Money): MoneyJson {
  return { symbol: currency, amount: Number(minor) / 10 ** knownDigits(currency) };
}

export function decodeMoney({ symbol, amount }: MoneyJson, context: Faults): Money {
  const minor = minorOf(String(amount), symbol);
  return minor === undefined
    ? reject(context, "is no amount of a known currency")
    : { currency: symbol as CurrencyCode, minor };
}

export function minorOf(amount: string, symbol: string): bigint | undefined {
  const digits = minorUnitDigits(symbol as CurrencyCode);
  const decimal = parseDecimal(amount);
  return decimal && digits !== undefined ? minorUnitsOf(decimal, digits) : undefined;
}

/** A value that JSON has as null where it is absent. */
export function orNull<Schema extends z.ZodType>(schema: Schema) {
  return z.codec(schema.nullable(), z.custom<z.output<Schema> | undefined>(), {
    decode: (value) => value ?? undefined,
    encode: (value) => value ?? null,
  });
}

/** The value under conversion, and the list to which a failed conversion adds its reason. */
export type Faults = Pick<z.core.ParsePayload, "value" | "issues">;

export function reject({ value, issues }: Faults, message: string): never {
  issues.push({ code: "custom", input: value, message });
  return z.NEVER;
}
