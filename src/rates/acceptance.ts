import { type Decimal, formatDecimal } from "../core/money.ts";
import type { CalendarDate } from "../core/pesel.ts";
import { compareDecimals, type RateTable, sameTable } from "../core/rates.ts";
import { addDays } from "../warsaw.ts";

const week = 7;
const largestMovePercent = 30n;

/**
 * Why a table of the right form may not come into force after `inForce`, or undefined if it may. `accepted` is the
 * number of a table that the operator has looked at and vouches for.
 */
export function refusalOf(
  table: RateTable,
  inForce: RateTable | undefined,
  today: CalendarDate,
  accepted?: string,
): string | undefined {
  if (isFarAhead(table, today)) {
    return `its effective date ${table.effectiveDate} is more than ${week} days ahead; today is ${today}`;
  }
  if (inForce === undefined) return undefined;
  if (table.number === inForce.number) {
    return sameTable(table, inForce) ? undefined : "it differs from the one in force under the same number";
  }
  if (!isNewer(table, inForce)) {
    return `it is of ${table.effectiveDate}, older than ${inForce.number} of ${inForce.effectiveDate} in force`;
  }
  if (table.number === accepted || table.effectiveDate > addDays(inForce.effectiveDate, week))
    return undefined;
  const leaps = leapsBetween(inForce, table);
  if (leaps.length === 0) return undefined;
  return (
    `against ${inForce.number} a rate moved by more than ${largestMovePercent} % (${leaps.join(", ")}). ` +
    `If the bank confirms it, start fx with --accept-table ${table.number}`
  );
}

/** Whether `a` comes after `b`, in the order in which the store lists tables. */
export function isNewer(a: RateTable, b: RateTable): boolean {
  return a.effectiveDate === b.effectiveDate ? a.number > b.number : a.effectiveDate > b.effectiveDate;
}

/** Whether its effective date is too far off to be true. A few days are let pass, for a clock that is wrong. */
export function isFarAhead(table: RateTable, today: CalendarDate): boolean {
  return table.effectiveDate > addDays(today, week);
}

function leapsBetween(before: RateTable, after: RateTable): string[] {
  return [...after.rates.values()].flatMap(({ currency, bid, ask }) => {
    const old = before.rates.get(currency);
    if (old === undefined || !(isLeap(old.bid, bid) || isLeap(old.ask, ask))) return [];
    return `${currency} bid ${formatDecimal(old.bid)} to ${formatDecimal(bid)}, ask ${formatDecimal(old.ask)} to ${formatDecimal(ask)}`;
  });
}

function isLeap(before: Decimal, after: Decimal): boolean {
  const percentOfBefore = (percent: bigint) => ({
    coefficient: before.coefficient * percent,
    scale: before.scale + 2,
  });
  return (
    compareDecimals(after, percentOfBefore(100n + largestMovePercent)) > 0 ||
    compareDecimals(after, percentOfBefore(100n - largestMovePercent)) < 0
  );
}
