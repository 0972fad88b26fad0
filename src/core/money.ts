import { type CurrencyCode, minorUnitDigits } from "./currency.ts";
import { compareDecimals, type Decimal, formatDecimal, parseDecimal, powerOfTen } from "./decimal.ts";
import { FxError } from "./errors.ts";

/** An amount of one currency, in its minor units: 12.30 PLN is 1230n. */
export interface Money {
  readonly currency: CurrencyCode;
  readonly minor: bigint;
}

/**
 * No balance is larger: 15 significant digits are what every IEEE double keeps, so every balance is
 * exact as a JSON number. (2^53 − 1 minor units are not: 90071992547409.90 and .91 are one double.)
 */
export const balanceLimit = 999_999_999_999_999n;

/** `decimal` in minor units of a currency of `digits` places, or undefined if it is finer than they are. */
export function minorUnitsOf(decimal: Decimal, digits: number): bigint | undefined {
  if (decimal.scale <= digits) return decimal.coefficient * powerOfTen(digits - decimal.scale);
  const unit = powerOfTen(decimal.scale - digits);
  return decimal.coefficient % unit === 0n ? decimal.coefficient / unit : undefined;
}

/**
 * The amount of a request in minor units.
 * @throws FxError invalid-amount unless it is greater than 0 and no finer than they are
 */
export function requestedMinor(amount: Decimal, currency: CurrencyCode): bigint {
  if (amount.coefficient <= 0n) throw new FxError("invalid-amount", "The amount must be greater than 0.");
  const digits = knownDigits(currency);
  const minor = minorUnitsOf(amount, digits);
  if (minor !== undefined) return minor;
  const decimals = digits === 0 ? "no decimals" : `at most ${digits} decimals`;
  throw new FxError("invalid-amount", `An amount in ${currency} must be given with ${decimals}.`);
}

/**
 * An amount as the JSON number that says exactly it. An amount without one is refused wherever it comes from, so that a
 * store and a server answer alike.
 * @throws FxError invalid-request
 */
export function exactNumber(amount: Decimal): number {
  const number = Number(formatDecimal(amount));
  const exact = parseDecimal(String(number));
  if (exact !== undefined && compareDecimals(exact, amount) === 0) return number;
  throw new FxError(
    "invalid-request",
    "The amount has more digits than a JSON number keeps. Give no more than 15.",
  );
}

/** Money as an exact decimal with all of its currency's places. */
export function decimalOfMoney(money: Money): Decimal {
  return { coefficient: money.minor, scale: knownDigits(money.currency) };
}

/** "12.30 PLN". With as many digits as a PESEL has, "10,000,000,000.00 PLN": so that it is not masked as one. */
export function formatMoney(money: Money): string {
  const digits = knownDigits(money.currency);
  const amount = formatDecimal({ coefficient: money.minor, scale: digits }, digits);
  return `${/\d{11}/.test(amount) ? amount.replace(/\B(?=(\d{3})+(\.|$))/g, ",") : amount} ${money.currency}`;
}

/** The minor-unit digits of a currency that is already on an account or in a table in force. */
export function knownDigits(currency: CurrencyCode): number {
  const digits = minorUnitDigits(currency);
  if (digits === undefined) throw new RangeError(`${currency} has no pinned minor unit`);
  return digits;
}
