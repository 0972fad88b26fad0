import { housePlaceOf } from "../core/house.ts";
import type { Name } from "./requests.ts";

/** A form by its name, and its content until something is typed. */
export interface Form<Draft extends object> {
  readonly name: string;
  readonly empty: Draft;
}

export interface TicketDraft {
  readonly from: string;
  readonly to: string;
  readonly side: "toBuy" | "toSell";
  /** The amount as it was typed. */
  readonly typed: string;
}

const emptyTicket: TicketDraft = { from: "PLN", to: "USD", side: "toBuy", typed: "" };
const emptyCash = { typed: "", currency: "PLN", note: "" };
const sameName: Partial<Name> = {};

export function ticketForm(pesel: string): Form<TicketDraft> {
  return { name: `ticket ${pesel}`, empty: emptyTicket };
}

/** The form for a deposit or a withdrawal. The house has one for both its accounts. */
export function cashForm(pesel: string): Form<typeof emptyCash> {
  return { name: `cash ${housePlaceOf(pesel) === undefined ? pesel : "house"}`, empty: emptyCash };
}

/** The form for the holder's new name: the parts that were typed. */
export function renamingForm(pesel: string): Form<Partial<Name>> {
  return { name: `renaming ${pesel}`, empty: sameName };
}

/** The form for a new account. */
export const openingForm = { name: "opening", empty: { pesel: "", name: "", surname: "", initial: "" } };
