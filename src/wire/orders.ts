import * as z from "zod";
import { exampleHolder, key, orderAmount, pesel, symbol, tableInForce } from "./fields.ts";

/** Bodies of orders: apart from quotes and exchanges, whose shapes the page can do without. */

export const pair = { from: symbol.meta({ examples: ["PLN"] }), to: symbol };
export const oneAmount = { path: [], error: "must have exactly one of toBuy and toSell" };
export function hasOneAmount({ toBuy, toSell }: { toBuy?: unknown; toSell?: unknown }): boolean {
  return (toBuy === undefined) !== (toSell === undefined);
}

const orderMeta = {
  description:
    "With exactly one of `toBuy`, how much of `to` to buy, and `toSell`, how much of `from` to sell",
  alternatives: [["toBuy"], ["toSell"]],
};
/** The body of an order. */
export const order = z
  .strictObject({ pesel, ...pair, toBuy: orderAmount.optional(), toSell: orderAmount.optional() })
  .refine(hasOneAmount, oneAmount)
  .meta({
    id: "Order",
    ...orderMeta,
    examples: [{ pesel: exampleHolder.pesel, from: "PLN", to: "USD", toBuy: 100 }],
  });
export const orderLine = order
  .safeExtend({
    key: key.optional(),
    table: tableInForce.optional().meta({ description: "The same as the header `Fx-Table`" }),
  })
  .meta({ id: "OrderLine", ...orderMeta });
