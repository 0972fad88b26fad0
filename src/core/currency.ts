declare const currencyCode: unique symbol;

/** A currency code as fx compares them: ASCII letters in upper case. `minorUnitDigits` and the rate table say whether it names one. */
export type CurrencyCode = string & { readonly [currencyCode]: true };

export const pln = "PLN" as CurrencyCode;

/**
 * Decimal places of each currency that the bank quotes in its tables, from ISO 4217 list one.
 * Pinned, because Intl follows CLDR, which differs from ISO 4217 and between versions of Node.
 * ISO 4217 gives XDR no minor unit; fx gives it 2.
 */
const minorUnits: ReadonlyMap<string, number> = new Map([
  ...(
    "PLN USD AUD CAD EUR HUF CHF GBP CZK DKK NOK SEK XDR " +
    "THB HKD NZD SGD UAH RON BGN TRY ILS PHP MXN ZAR BRL MYR IDR INR CNY"
  )
    .split(" ")
    .map((code) => [code, 2] as const),
  ["JPY", 0],
  ["ISK", 0],
  ["CLP", 0],
  ["KRW", 0],
]);

/** All currencies that fx knows. */
export const currencies: readonly CurrencyCode[] = [...minorUnits.keys()].map(parseCurrencyCode);

/** Reads a currency symbol in any case. ASCII only: "ſ" upper-cases to "S", and must not name a currency. */
export function parseCurrencyCode(text: string): CurrencyCode {
  const mayBeLower = !minorUnits.has(text) && /^[A-Za-z]*$/.test(text);
  return (mayBeLower ? text.toUpperCase() : text) as CurrencyCode;
}

/** How many decimal places `currency` has, or undefined if fx does not know it. */
export function minorUnitDigits(currency: CurrencyCode): number | undefined {
  return minorUnits.get(currency);
}

/** PLN first, then by symbol: the order in which balances and rates are listed everywhere. */
export function compareCurrencies(a: CurrencyCode, b: CurrencyCode): number {
  if (a === b) return 0;
  if (a === pln) return -1;
  if (b === pln) return 1;
  return a < b ? -1 : 1;
}
