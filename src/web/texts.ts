import { housePlaceOf } from "../core/house.ts";
import en from "./texts/en.json" with { type: "json" };
import pl from "./texts/pl.json" with { type: "json" };

export type Language = "en" | "pl";

/** The texts of the page. Screen readers and tests rely on the English names. */
export type Texts = typeof en;

export const textsOf: Readonly<Record<Language, Texts>> = { en, pl };

/** Puts values in the places of the `{}` of a text. */
export function fill(text: string, ...values: readonly (string | number)[]): string {
  const left = [...values];
  return text.replaceAll("{}", () => String(left.shift()));
}

/** The holder of an account; of the house's, where its money is. */
export function holderText(
  { pesel, name, surname }: { readonly pesel: string; readonly name: string; readonly surname: string },
  { houseMoney, housePlaces }: Texts,
): string {
  const place = housePlaceOf(pesel);
  return place === undefined ? `${name} ${surname}` : `${houseMoney} (${housePlaces[place]})`;
}
