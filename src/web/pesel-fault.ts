import { requireAdult } from "../core/account.ts";
import { warsawDate } from "../core/date.ts";
import { FxError } from "../core/errors.ts";
import { parsePesel } from "../core/pesel.ts";

/** The fault of the PESEL of a new customer, typed without spaces. */
export function peselFault(digits: string): FxError | undefined {
  const today = warsawDate(new Date());
  try {
    requireAdult(parsePesel(digits, today), today);
    return undefined;
  } catch (error) {
    if (error instanceof FxError) return error;
    throw error;
  }
}
