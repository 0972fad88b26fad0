import * as z from "zod";
import { givenText, orderAmount, symbol } from "./fields.ts";

/** Bodies that move cash or undo an entry: apart from the entries, whose shapes the page can do without. */

/** The body of a deposit or a withdrawal. */
export const cash = z
  .strictObject({ amount: orderAmount, currency: symbol, note: givenText.optional() })
  .meta({ id: "Cash", examples: [{ amount: 100, currency: "PLN", note: "Counter 2" }] });

export const reversal = z
  .strictObject({ reason: givenText })
  .meta({ id: "Reversal", examples: [{ reason: "Wrong currency" }] });
