import { type CurrencyCode, minorUnitDigits } from "./currency.ts";

/** An amount of one currency, in its minor units: 12.30 PLN is 1230n. */
export interface Money {
  readonly currency: CurrencyCode;
  readonly minor: bigint;
}

/** An exact decimal: `coefficient` × 10^−`scale`. 4.0853 is 40853n at scale 4. */
export interface Decimal {
  readonly coefficient: bigint;
  readonly scale: number;
}

/**
 * No balance is larger: 15 significant digits are what every IEEE double keeps, so every balance is
 * exact as a JSON number. (2^53 − 1 minor units are not: 90071992547409.90 and .91 are one double.)
 */
export const balanceLimit = 999_999_999_999_999n;

const decimalForm = /^([+-]?)(\d{1,400})(?:\.(\d{1,400}))?(?:[eE]([+-]?\d{1,3}))?$/;

/** Reads decimal text such as "12.30", "-1" or the "1e+21" of a JavaScript number; undefined if it is none. */
export function parseDecimal(text: string): Decimal | undefined {
  const match = decimalForm.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = "", fraction = "", exponent = "0"] = match;
  let coefficient = BigInt(whole + fraction);
  let scale = fraction.length - Number(exponent);
  if (scale < 0) {
    coefficient *= powerOfTen(-scale);
    scale = 0;
  }
  return { coefficient: sign === "-" ? -coefficient : coefficient, scale };
}

/** @throws RangeError if the text is not a decimal */
export function requireDecimal(text: string): Decimal {
  const decimal = parseDecimal(text);
  if (decimal === undefined) throw new RangeError(`${JSON.stringify(text)} is not a decimal`);
  return decimal;
}

/** The decimal's shortest text, with at least `minimumScale` places: 37 at scale 1 and 4 places is "3.7000". */
export function formatDecimal(decimal: Decimal, minimumScale = 0): string {
  let { coefficient, scale } = decimal;
  while (scale > minimumScale && coefficient % 10n === 0n) {
    coefficient /= 10n;
    scale -= 1;
  }
  while (scale < minimumScale) {
    coefficient *= 10n;
    scale += 1;
  }
  if (scale === 0) return coefficient.toString();
  const digits = (coefficient < 0n ? -coefficient : coefficient).toString().padStart(scale + 1, "0");
  return `${coefficient < 0n ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** `decimal` in minor units of a currency of `digits` places, or undefined if it is finer than they are. */
export function minorUnitsOf(decimal: Decimal, digits: number): bigint | undefined {
  if (decimal.scale <= digits) return decimal.coefficient * powerOfTen(digits - decimal.scale);
  const unit = powerOfTen(decimal.scale - digits);
  return decimal.coefficient % unit === 0n ? decimal.coefficient / unit : undefined;
}

const powersOfTen = Array.from({ length: 32 }, (_, exponent) => 10n ** BigInt(exponent));

/** 10^`exponent`. */
export function powerOfTen(exponent: number): bigint {
  return powersOfTen[exponent] ?? 10n ** BigInt(exponent);
}

/** Money as an exact decimal with all of its currency's places. */
export function decimalOf(money: Money): Decimal {
  return { coefficient: money.minor, scale: knownDigits(money.currency) };
}

/** "12.30 PLN". */
export function formatMoney(money: Money): string {
  const digits = knownDigits(money.currency);
  return `${formatDecimal({ coefficient: money.minor, scale: digits }, digits)} ${money.currency}`;
}

/** The minor-unit digits of a currency that is already on an account or in a table in force. */
export function knownDigits(currency: CurrencyCode): number {
  const digits = minorUnitDigits(currency);
  if (digits === undefined) throw new RangeError(`${currency} has no pinned minor unit`);
  return digits;
}
