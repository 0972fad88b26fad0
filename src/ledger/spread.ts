import { pln } from "../core/currency.ts";
import type { Decimal } from "../core/decimal.ts";
import { FxError } from "../core/errors.ts";
import type { Exchange } from "../core/exchange.ts";
import type { Entry } from "../core/journal.ts";
import { knownDigits, type Money } from "../core/money.ts";
import type { RateTable } from "../core/rates.ts";
import type { TableReader } from "./journal-reader.ts";

/** Mid values are summed in whole 10^−20 PLN, finer than any rate times any minor unit, so the sum is exact. */
const valueScale = 20;

const twiceGrosz = 2n * 10n ** BigInt(valueScale - 2);

/** Twice the spread at the table's mid rates, in 10^−20 PLN. Twice, so that it stays whole. */
function twiceSpread({ sold, bought }: Exchange, table: RateTable): bigint {
  return twiceMidValue(sold, table) - twiceMidValue(bought, table);
}

/**
 * Twice what an exchange earned, or its reversal gave back; 0 for any other entry.
 * @throws FxError as `TableReader.required`, and internal if the table has no rate of a currency
 */
export async function twiceSpreadOf({ kind, exchange }: Entry, tables: TableReader): Promise<bigint> {
  if (exchange === undefined) return 0n;
  const twice = twiceSpread(exchange, await tables.required(exchange.tableId));
  return kind === "reversal" ? -twice : twice;
}

/** The spread in whole grosze, rounded down. */
export function spreadEarned(twice: bigint): Money {
  return { currency: pln, minor: twice / twiceGrosz };
}

/** The spread in PLN, exactly. */
export function exactSpread(twice: bigint): Decimal {
  return { coefficient: twice * 5n, scale: valueScale + 1 };
}

/**
 * What rounding takes from the spread of a period, exactly: both ends of it are rounded as sums since the ledger's
 * beginning, so that the periods of any partition add up to the whole.
 * @param before twice the spread earned before the period
 */
export function lostInRounding(before: bigint, twice: bigint): Decimal {
  return exactSpread(((before + twice) % twiceGrosz) - (before % twiceGrosz));
}

function twiceMidValue({ currency, minor }: Money, table: RateTable): bigint {
  const digits = knownDigits(currency);
  if (currency === pln) return 2n * minor * 10n ** BigInt(valueScale - digits);
  const rate = table.rates.get(currency);
  if (rate === undefined) {
    throw new FxError(
      "internal",
      `An exchange was settled at table ${table.number}, which has no rate of ${currency}. Run fx audit.`,
    );
  }
  const scale = Math.max(rate.bid.scale, rate.ask.scale);
  const twiceMid =
    rate.bid.coefficient * 10n ** BigInt(scale - rate.bid.scale) +
    rate.ask.coefficient * 10n ** BigInt(scale - rate.ask.scale);
  return minor * twiceMid * 10n ** BigInt(valueScale - digits - scale);
}
