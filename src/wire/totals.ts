import * as z from "zod";
import type { CurrencyCode } from "../core/currency.ts";
import { formatDecimal } from "../core/decimal.ts";
import { knownDigits, type Money } from "../core/money.ts";
import { currency, type Faults, minorOf, reject } from "./fields.ts";

/** Amounts that customers hold together, or the house owes: of either sign, and exact like every amount. */
export const total = z.union([z.number().meta({ format: "double" }), z.string()]).meta({
  description: "A number; a string of the digits where a JSON number would round the total",
  examples: [1234.5],
});
export const totalOfMoney = z.codec(z.object({ symbol: currency, amount: total }), z.custom<Money>(), {
  decode: ({ symbol, amount }, context) => ({
    currency: symbol as CurrencyCode,
    minor: decodeTotal(amount, symbol, context),
  }),
  encode: ({ currency, minor }) => ({ symbol: currency, amount: encodeTotal(minor, currency) }),
});

type Totals<Name extends string, Total> = Readonly<Record<Name, Total>>;
type TotalJson = z.input<typeof total>;

/** Totals in one currency, in minor units. */
export function decodeTotals<Name extends string>(
  totals: Totals<Name, TotalJson>,
  symbol: string,
  context: Faults,
): Totals<Name, bigint> {
  return eachOf(totals, (amount) => decodeTotal(amount, symbol, context));
}

export function encodeTotals<Name extends string>(
  totals: Totals<Name, bigint>,
  currency: CurrencyCode,
): Record<Name, TotalJson> {
  return eachOf(totals, (minor) => encodeTotal(minor, currency));
}

function eachOf<Name extends string, From, To>(totals: Totals<Name, From>, convert: (total: From) => To) {
  const converted = Object.entries<From>(totals).map(([name, value]) => [name, convert(value)]);
  return Object.fromEntries(converted) as Record<Name, To>;
}

/** The total as a number, or as a string where a JSON number cannot say it exactly. */
function encodeTotal(minor: bigint, currency: CurrencyCode): TotalJson {
  const digits = formatDecimal({ coefficient: minor, scale: knownDigits(currency) });
  const number = Number(digits);
  return minorOf(String(number), currency) === minor ? number : digits;
}

function decodeTotal(total: TotalJson, symbol: string, context: Faults): bigint {
  return minorOf(String(total), symbol) ?? reject(context, "is no amount of a known currency");
}
