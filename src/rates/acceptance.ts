import { addDays, type CalendarDate } from "../core/date.ts";
import { compareDecimals, type Decimal, formatDecimal } from "../core/decimal.ts";
import type { AcceptedTable, RateTable } from "../core/rates.ts";

const week = 7;
const largestMovePercent = 30n;

/** What a table is judged against: the one in force, and those that have been. */
export interface Precedents {
  readonly inForce: RateTable;
  /** Oldest first. */
  readonly accepted: readonly AcceptedTable[];
}

/**
 * What to do with an effective table: "in force" if it is the one already, "accept" if it may come into force,
 * "overridden" if it may only because the operator names it, or why it may not.
 * @param override the number or id of a table that an operator lets through. A number counts once: a further
 *   correction under it is another table, and has to be named by its id.
 */
export function judge(
  table: RateTable,
  { inForce, accepted }: Precedents,
  override: string | undefined,
): "in force" | "accept" | "overridden" | { readonly refusal: string } {
  if (table.id === inForce.id) return "in force";
  // Of this source alone: after a change of source everything starts again.
  const ofSource = accepted.slice(accepted.findLastIndex(({ source }) => source !== table.source) + 1);
  if (ofSource.some(({ id }) => id === table.id)) {
    return { refusal: `it was in force before ${inForce.number} replaced it, and no table comes back` };
  }
  const doubt = doubtAbout(table, inForce);
  if (doubt === undefined) return "accept";
  const isNumberSpent = ofSource.some(
    ({ number, overriddenBy }) => overriddenBy !== undefined && number === table.number,
  );
  if (override === table.id || (override === table.number && !isNumberSpent)) return "overridden";
  return {
    refusal: `${doubt}. If the bank confirms it, start fx serve with --accept-table ${isNumberSpent ? table.id : table.number}`,
  };
}

/** Whether `a` comes after `b`, in the order in which a ledger lists tables. */
export function isNewer(a: RateTable, b: RateTable): boolean {
  return a.effectiveDate === b.effectiveDate ? a.number > b.number : a.effectiveDate > b.effectiveDate;
}

/** The newest table that has come into effect by `today`. */
export function newestEffective(tables: readonly RateTable[], today: CalendarDate): RateTable | undefined {
  return newest(tables.filter(({ effectiveDate }) => effectiveDate <= today));
}

export function newest(tables: readonly RateTable[]): RateTable | undefined {
  return tables.reduce<RateTable | undefined>(
    (best, table) => (best === undefined || !isNewer(best, table) ? table : best),
    undefined,
  );
}

function doubtAbout(table: RateTable, inForce: RateTable): string | undefined {
  if (table.number === inForce.number) return "it differs from the one in force under the same number";
  if (!isNewer(table, inForce)) {
    return `it is of ${table.effectiveDate}, older than ${inForce.number} of ${inForce.effectiveDate} in force`;
  }
  if (table.effectiveDate > addDays(inForce.effectiveDate, week)) return undefined;
  const leaps = leapsBetween(inForce, table);
  if (leaps.length === 0) return undefined;
  return `against ${inForce.number} a rate moved by more than ${largestMovePercent} % (${leaps.join(", ")})`;
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
