import { warsawDate } from "../core/date.ts";
import { isAdult, type Pesel, parsePesel } from "../core/pesel.ts";
import type { Texts } from "./texts.ts";

/** What is wrong with the PESEL of somebody who wants an account; undefined if nothing is. */
export function peselFault(typed: string, { peselFault: faults }: Texts): string | undefined {
  const digits = typed.replace(/\s/g, "");
  if (!/^\d{11}$/.test(digits)) return faults.digits;
  const today = warsawDate(new Date());
  let pesel: Pesel;
  try {
    pesel = parsePesel(digits, today);
  } catch (error) {
    return (error as Error).message.includes("check digit") ? faults.check : faults.date;
  }
  return isAdult(pesel, today) ? undefined : faults.underage;
}
