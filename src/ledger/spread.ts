import { pln } from "../core/currency.ts";
import { type Decimal, powerOfTen } from "../core/decimal.ts";
import type { Entry } from "../core/journal.ts";
import { knownDigits, type Money } from "../core/money.ts";
import type { RateTable } from "../core/rates.ts";
import type { TableReader } from "./journal-reader.ts";
import { DamagedLedger } from "./rows.ts";

/** Spreads are summed in whole 10^−21 PLN, finer than half of any rate times any minor unit, so the sum is exact. */
const scale = 21;
const grosz = powerOfTen(scale - 2);

/**
 * The spread that an exchange earned, or its reversal gave back, at the mid rates of its table; 0 for any other entry.
 * @throws DamagedLedger if its rate table is missing or was changed, or has no rate of a currency
 */
export async function spreadOf({ kind, exchange }: Entry, tables: TableReader): Promise<bigint> {
  if (exchange === undefined) return 0n;
  const table = await tables.find(exchange.tableId);
  const spread = midValue(exchange.sold, table) - midValue(exchange.bought, table);
  return kind === "reversal" ? -spread : spread;
}

/** The spread in whole grosze, rounded down. */
export function spreadEarned(spread: bigint): Money {
  return { currency: pln, minor: spread / grosz };
}

/** The spread in PLN, exactly. */
export function exactSpread(spread: bigint): Decimal {
  return { coefficient: spread, scale };
}

/**
 * The part of a period's spread that rounding takes, exactly. The sums at both ends of the period are rounded, so that
 * the periods of any partition add up to the whole.
 * @param before the spread earned before the period
 */
export function lostInRounding(before: bigint, spread: bigint): Decimal {
  return exactSpread(((before + spread) % grosz) - (before % grosz));
}

function midValue({ currency, minor }: Money, table: RateTable): bigint {
  const unit = powerOfTen(scale - knownDigits(currency));
  if (currency === pln) return minor * unit;
  const rate = table.rates.get(currency);
  if (rate === undefined) {
    throw new DamagedLedger(
      `the rate table ${table.number}, at which ${currency} was exchanged, has no rate of it`,
    );
  }
  const inUnits = ({ coefficient, scale }: Decimal) => (coefficient * unit) / powerOfTen(scale);
  return (minor * (inUnits(rate.bid) + inUnits(rate.ask))) / 2n;
}
