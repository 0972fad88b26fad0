import { type CalendarDate, dateExists } from "./date.ts";
import { FxError } from "./errors.ts";

declare const pesel: unique symbol;

/** A PESEL that was checked: 11 digits, check digit, a date of birth that exists and is not in the future. */
export type Pesel = string & { readonly [pesel]: true };

/** The weights of the digits. The check digit makes their sum a multiple of ten. */
const weights = [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1] as const;
/** The month's tens tell the century: 81 is January 1800, 1 is 1900, 21 is 2000, 41 is 2100, 61 is 2200. */
const centuries = [1900, 2000, 2100, 2200, 1800] as const;

/**
 * Reads a PESEL as of `today`.
 * @throws FxError invalid-pesel, saying what is wrong and never repeating the number
 */
export function parsePesel(text: string, today: CalendarDate): Pesel {
  if (!/^[0-9]{11}$/.test(text)) throw invalidPesel(whatIsWrong(text));
  const sum = weights.reduce((sum, weight, place) => sum + weight * Number(text[place]), 0);
  if (sum % 10 !== 0) throw invalidPesel("the check digit does not match; look for a mistyped digit");
  const born = birthDate(text as Pesel);
  if (!dateExists(born)) throw invalidPesel("the date of birth in it does not exist");
  if (born > today) throw invalidPesel("the date of birth in it is in the future");
  return text as Pesel;
}

/** The date of birth that a PESEL carries. */
export function birthDate(pesel: Pesel): CalendarDate {
  const month = Number(pesel.slice(2, 4));
  const year = (centuries[Math.floor(month / 20)] as number) + Number(pesel.slice(0, 2));
  return `${year}-${String(month % 20).padStart(2, "0")}-${pesel.slice(4, 6)}`;
}

/**
 * Whether the holder is 18 on `today`, from the start of the birthday.
 * Born on 29 February: from 28 February, the last day of that month (Polish Civil Code, art. 112).
 */
export function isAdult(pesel: Pesel, today: CalendarDate): boolean {
  const born = birthDate(pesel);
  const monthAndDay = born.slice(4) === "-02-29" ? "-02-28" : born.slice(4);
  return `${Number(born.slice(0, 4)) + 18}${monthAndDay}` <= today;
}

/** Spreadsheets take a PESEL for a number: they drop its leading zeros, or show it as 4,40514E+10. */
function whatIsWrong(text: string): string {
  if (/^[0-9]{8,10}$/.test(text)) {
    return `a PESEL is 11 digits, and this has ${text.length}; if a spreadsheet took it for a number, a leading zero is missing`;
  }
  if (/^[0-9][.,][0-9]+e\+?10$/i.test(text)) {
    return "a spreadsheet turned it into a number; format the column as text and enter its 11 digits again";
  }
  return "a PESEL is 11 digits, 0 to 9";
}

function invalidPesel(reason: string): FxError {
  return new FxError("invalid-pesel", `The PESEL is not valid: ${reason}.`);
}
