import { pln } from "../core/currency.ts";
import type { Decimal } from "../core/decimal.ts";
import { knownDigits, type Money } from "../core/money.ts";
import type { RateTable } from "../core/rates.ts";

/** Mid values are summed in whole 10^−20 PLN, finer than any rate times any minor unit, so the sum is exact. */
const valueScale = 20;

/** Twice the spread that an exchange earned at the table's mid rates, in 10^−20 PLN. Twice, so that it stays whole. */
export function twiceSpread(sold: Money, bought: Money, table: RateTable): bigint {
  return twiceMidValue(sold, table) - twiceMidValue(bought, table);
}

/** The spread in whole grosze, rounded down. */
export function spreadEarned(twice: bigint): Money {
  return { currency: pln, minor: twice / (2n * 10n ** BigInt(valueScale - 2)) };
}

/** The spread in PLN, exactly. */
export function exactSpread(twice: bigint): Decimal {
  return { coefficient: twice * 5n, scale: valueScale + 1 };
}

/** What rounding down takes from the spread, exactly. */
export function lostInRounding(twice: bigint): Decimal {
  return exactSpread(twice % (2n * 10n ** BigInt(valueScale - 2)));
}

function twiceMidValue({ currency, minor }: Money, table: RateTable): bigint {
  const digits = knownDigits(currency);
  const rate = table.rates.get(currency);
  if (currency === pln || rate === undefined) return 2n * minor * 10n ** BigInt(valueScale - digits);
  const scale = Math.max(rate.bid.scale, rate.ask.scale);
  const twiceMid =
    rate.bid.coefficient * 10n ** BigInt(scale - rate.bid.scale) +
    rate.ask.coefficient * 10n ** BigInt(scale - rate.ask.scale);
  return minor * twiceMid * 10n ** BigInt(valueScale - digits - scale);
}
