/** An exact decimal: `coefficient` × 10^−`scale`. 4.0853 is 40853n at scale 4. */
export interface Decimal {
  readonly coefficient: bigint;
  readonly scale: number;
}

const decimalForm = /^([+-]?\d{1,400})(?:\.(\d{1,400}))?(?:[eE]([+-]?\d{1,3}))?$/;

/** Reads decimal text such as "12.30", "-1" or the "1e+21" of a JavaScript number; undefined if it is none. */
export function parseDecimal(text: string): Decimal | undefined {
  const match = decimalForm.exec(text);
  if (match === null) return undefined;
  const [, whole, fraction = "", exponent] = match;
  const coefficient = BigInt(`${whole}${fraction}`);
  const scale = fraction.length - Number(exponent ?? 0);
  return scale < 0 ? { coefficient: coefficient * powerOfTen(-scale), scale: 0 } : { coefficient, scale };
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
  const isNegative = coefficient < 0n;
  const digits = (isNegative ? -coefficient : coefficient).toString().padStart(scale + 1, "0");
  return `${isNegative ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** −1, 0 or 1, exactly. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  const left = a.coefficient * powerOfTen(b.scale);
  const right = b.coefficient * powerOfTen(a.scale);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** 10^`exponent`. */
export function powerOfTen(exponent: number): bigint {
  return 10n ** BigInt(exponent);
}
