import type { Decimal } from "../../src/core/decimal.ts";
import type { ExchangeTerms } from "../../src/core/exchange.ts";
import { knownDigits, type Money } from "../../src/core/money.ts";
import type { RateTable } from "../../src/core/rates.ts";

/** A fraction in lowest terms, for an independent calculation that shares no arithmetic with src/core/exchange.ts. */
export type Fraction = readonly [numerator: bigint, denominator: bigint];

export function fractionOf({ coefficient, scale }: Decimal): Fraction {
  return reduce(coefficient, 10n ** BigInt(scale));
}

function reduce(numerator: bigint, denominator: bigint): Fraction {
  let [a, b] = [numerator < 0n ? -numerator : numerator, denominator];
  while (b !== 0n) [a, b] = [b, a % b];
  return [numerator / a, denominator / a];
}

const times = (a: Fraction, b: Fraction): Fraction => reduce(a[0] * b[0], a[1] * b[1]);
const over = (a: Fraction, b: Fraction): Fraction => reduce(a[0] * b[1], a[1] * b[0]);

/** The minor units sold and bought, calculated step by step; undefined if nothing is bought. */
export function priceByFractions(terms: ExchangeTerms, table: RateTable): [bigint, bigint] | undefined {
  const rate = (code: ExchangeTerms["from"], side: "bid" | "ask"): Fraction => {
    const quoted = table.rates.get(code);
    return quoted === undefined ? [1n, 1n] : fractionOf(quoted[side]);
  };
  const units = (code: ExchangeTerms["from"]): Fraction => [10n ** BigInt(knownDigits(code)), 1n];
  const asked = fractionOf(terms.amount);
  if (terms.side === "toSell") {
    const inPln = times(asked, rate(terms.from, "bid"));
    const [n, d] = times(over(inPln, rate(terms.to, "ask")), units(terms.to));
    const sold = times(asked, units(terms.from));
    return n / d === 0n ? undefined : [sold[0], n / d];
  }
  const inPln = times(asked, rate(terms.to, "ask"));
  const [n, d] = times(over(inPln, rate(terms.from, "bid")), units(terms.from));
  const bought = times(asked, units(terms.to));
  return [n % d === 0n ? n / d : n / d + 1n, bought[0]];
}

/** Value of money at the bid, in 10^−12 PLN. */
export function valueAtBid({ currency, minor }: Money, table: RateTable): bigint {
  const bid = table.rates.get(currency)?.bid ?? { coefficient: 1n, scale: 0 };
  return minor * bid.coefficient * 10n ** BigInt(12 - bid.scale - knownDigits(currency));
}
