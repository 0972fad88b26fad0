import * as z from "zod";
import { housePlaces } from "../core/house.ts";
import { cash } from "./cash.ts";
import { balances } from "./fields.ts";

/** The house's own money. */

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
