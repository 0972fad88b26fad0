import { dateExists, warsawDate } from "../core/date.ts";
import { birthDate, isAdult, type Pesel, parsePesel } from "../core/pesel.ts";
import type { Texts } from "./texts.ts";

/** Whether what is wrong with a PESEL can be told: it is typed whole, or has a character that none has. */
export function isTypedWhole(digits: string): boolean {
  return digits.length >= 11 || /\D/.test(digits);
}

/** The message about a wrong PESEL of a new customer, typed without spaces; undefined if it is right. */
export function peselFault(digits: string, { peselFault: faults }: Texts): string | undefined {
  if (!/^\d{11}$/.test(digits)) return faults.digits;
  const today = warsawDate(new Date());
  const born = birthDate(digits as Pesel);
  if (!dateExists(born) || born > today) return faults.date;
  try {
    return isAdult(parsePesel(digits, today), today) ? undefined : faults.underage;
  } catch {
    return faults.check;
  }
}
