import type { Pesel } from "./pesel.ts";

/** Where the house keeps its own money: in the drawers, or at its bank. */
export const housePlaces = ["cash", "bank"] as const;
export type HousePlace = (typeof housePlaces)[number];

/**
 * The house's own money is kept in two accounts like those of customers, whose numbers are no PESELs: they have the month
 * 00, so `parsePesel` refuses them, and no request of customers can name them. They come before every PESEL.
 */
const numbers: Readonly<Record<HousePlace, Pesel>> = {
  cash: "00000000000" as Pesel,
  bank: "00000000001" as Pesel,
};
/** Customers' accounts come after it. */
export const lastHouseNumber = numbers.bank;

export function houseNumber(place: HousePlace): Pesel {
  return numbers[place];
}

/** The part of the house's money that an account is; undefined if it is a customer's. */
export function housePlaceOf(number: string): HousePlace | undefined {
  return housePlaces.find((place) => numbers[place] === number);
}
