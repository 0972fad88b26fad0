import * as z from "zod";
import { formatDecimal } from "../core/decimal.ts";
import type { Exchange, ExchangeTerms, Quote } from "../core/exchange.ts";
import { date, money, orNull } from "./fields.ts";
import { hasOneAmount, oneAmount, pair } from "./orders.ts";
import { amountText } from "./parameters.ts";
import { rateValue, source, tableId, tableNumber } from "./rate-fields.ts";

/** Quotes, and the exchanges that orders are settled as. */

export const quoteQuery = z
  .strictObject({
    ...pair,
    toBuy: amountText.optional().meta({ description: "How much of `to` to buy. Either this or `toSell`" }),
    toSell: amountText.optional().meta({ description: "How much of `from` to sell. Either this or `toBuy`" }),
  })
  .refine(hasOneAmount, oneAmount);

/** The fields of an order or a quote. */
export function encodeTerms({ from, to, side, amount }: ExchangeTerms) {
  return { from, to, [side]: amount };
}

const exchangeFields = {
  side: z.enum(["toBuy", "toSell"]),
  sold: money,
  bought: money,
  bid: orNull(rateValue).meta({
    description: "The bank's bid for the sold currency, in PLN; null if PLN is sold",
  }),
  ask: orNull(rateValue).meta({
    description: "The bank's ask for the bought currency, in PLN; null if PLN is bought",
  }),
  rate: z.number().meta({
    format: "double",
    exclusiveMinimum: 0,
    description: "Units bought for one unit sold, before rounding, to 6 significant digits",
    examples: [0.232759],
  }),
  table: tableNumber,
  tableId,
  effectiveDate: date,
};
const exchangeJson = z.object(exchangeFields).meta({ id: "Exchange" });
export const exchange = z.codec(exchangeJson, z.custom<Exchange>(), {
  decode: exchangeOf,
  encode: withRate,
});
export type ExchangeJson = z.input<typeof exchange>;

/** An exchange among the fields of an entry. */
export { exchangeFields };

export function exchangeOf(json: z.output<typeof exchangeJson>): Exchange {
  const { side, sold, bought, bid, ask, table, tableId, effectiveDate } = json;
  return { side, sold, bought, bid, ask, table, tableId, effectiveDate };
}

export function withRate<Priced extends Exchange>(exchange: Priced): Priced & { rate: number } {
  const { bid, ask } = exchange;
  const number = (rate: Exchange["bid"]) => (rate === undefined ? 1 : Number(formatDecimal(rate)));
  return { ...exchange, rate: Number((number(bid) / number(ask)).toPrecision(6)) };
}

export const quote = z.codec(
  z.object({ ...exchangeFields, source }).meta({ id: "Quote" }),
  z.custom<Quote>(),
  { decode: ({ rate: _, ...quote }) => quote, encode: withRate },
);
export type QuoteJson = z.input<typeof quote>;
