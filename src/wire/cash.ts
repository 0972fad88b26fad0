import * as z from "zod";
import { housePlaces } from "../core/house.ts";
import { balances, givenText, orderAmount, symbol } from "./fields.ts";

/** The house's own money, and bodies that move cash or undo an entry: apart from the entries, whose shapes the page can do without. */

/** The body of a deposit or a withdrawal. */
export const cash = z
  .strictObject({ amount: orderAmount, currency: symbol, note: givenText.optional() })
  .meta({ id: "Cash", examples: [{ amount: 100, currency: "PLN", note: "Counter 2" }] });

export const reversal = z
  .strictObject({ reason: givenText })
  .meta({ id: "Reversal", examples: [{ reason: "Wrong currency" }] });

export const housePlace = z.enum(housePlaces).meta({
  description: "`cash`: the drawers; `bank`: the house's account at its bank",
});

/** The body of a deposit or a withdrawal of the house. */
export const houseCash = cash.extend({ account: housePlace }).meta({
  id: "HouseCash",
  examples: [{ account: "cash", amount: 5000, currency: "EUR", note: "Float of the morning" }],
});

/** The balances of the house's own money, by place. */
export const house = z.object({ cash: balances, bank: balances }).meta({
  id: "House",
  description: "What the house has put in and not taken out. Below 0, it has taken more: its profit",
});
export type HouseJson = z.input<typeof house>;
