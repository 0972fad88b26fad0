import type { CurrencyCode } from "../core/currency.ts";
import type { CalendarDate } from "../core/date.ts";
import { compareDecimals, type Decimal, formatDecimal } from "../core/decimal.ts";
import type { AcceptedTable, Rate, RateTable } from "../core/rates.ts";

const largestMovePercent = 30n;
const largestMissingShare = 1 / 4;

/** What a new table is judged against. */
export interface Precedents {
  /** Undefined before a ledger's first table, which is compared with nothing. */
  readonly inForce: RateTable | undefined;
  /** Whether the table in force is of another source, so that its number and its date do not compare. */
  readonly changesSource: boolean;
  /** All that have been in force, oldest first. */
  readonly accepted: readonly AcceptedTable[];
  /** The last rates of currencies that were in force, and that the table in force lacks. */
  readonly earlier: ReadonlyMap<CurrencyCode, Pick<Rate, "bid" | "ask">>;
}

/** A table that does not come into force, and why. */
export interface HeldBack {
  readonly table: RateTable;
  readonly reason: string;
}

export interface Choice {
  readonly accept: { readonly table: RateTable; readonly overridden: boolean } | undefined;
  readonly heldBack: HeldBack | undefined;
}

/** The tables that could take the place of the one in force, newest first: later ones, and the newest in any case. */
export function candidates(
  effective: readonly RateTable[],
  inForce: RateTable | undefined,
  changesSource: boolean,
): readonly RateTable[] {
  const sorted = effective.toSorted((a, b) => (isNewer(a, b) ? -1 : isNewer(b, a) ? 1 : 0));
  const last = newest(effective);
  if (last === undefined || last.id === inForce?.id) return [];
  if (inForce === undefined || changesSource) return [last];
  return [last, ...sorted.filter((table) => table !== last && isNewer(table, inForce))];
}

/**
 * Which of the candidates, newest first, comes into force: the first that no check holds back, or that the operator
 * lets through.
 * @param acceptTable the number or id of the table that an operator lets through. A number counts once: a further
 *   correction under it is another table, and has to be named by its id.
 */
export function choose(
  tables: readonly RateTable[],
  precedents: Precedents,
  acceptTable: string | undefined,
): Choice {
  let heldBack: HeldBack | undefined;
  for (const table of tables) {
    const verdict = judge(table, precedents, acceptTable);
    if (typeof verdict === "string") heldBack ??= { table, reason: verdict };
    else return { accept: { table, ...verdict }, heldBack };
  }
  return { accept: undefined, heldBack };
}

/** Whether a table may come into force, with or without the operator's word; or why not. */
export function judge(
  table: RateTable,
  precedents: Precedents,
  acceptTable: string | undefined,
): { readonly overridden: boolean } | string {
  const { inForce, accepted } = precedents;
  if (inForce === undefined) return { overridden: false };
  // After a change of source and back, a table may be in force again.
  const ofSource = accepted.slice(accepted.findLastIndex(({ source }) => source !== table.source) + 1);
  if (ofSource.some(({ id }) => id === table.id)) {
    return `it was in force before ${inForce.number} replaced it, and no table comes back`;
  }
  const doubt = doubtAbout(table, inForce, precedents);
  if (doubt === undefined) return { overridden: false };
  const isNumberSpent = ofSource.some(
    ({ number, overriddenBy }) => overriddenBy !== undefined && number === table.number,
  );
  if (acceptTable === table.id || (acceptTable === table.number && !isNumberSpent)) {
    return { overridden: true };
  }
  const name = isNumberSpent ? table.id : table.number;
  return `${doubt}. If the bank confirms it, let it through with fx serve --accept-table ${name}`;
}

type Dated = Pick<RateTable, "number" | "effectiveDate">;

/** Whether `a` comes after `b`, in the order in which a ledger lists tables. */
export function isNewer(a: Dated, b: Dated): boolean {
  return a.effectiveDate === b.effectiveDate ? a.number > b.number : a.effectiveDate > b.effectiveDate;
}

/** The tables that have come into effect by `today`. */
export function effectiveOn(today: CalendarDate, tables: readonly RateTable[]): readonly RateTable[] {
  return tables.filter(({ effectiveDate }) => effectiveDate <= today);
}

/** Of several under one number, the last of the list. */
export function newest(tables: readonly RateTable[]): RateTable | undefined {
  return tables.reduce<RateTable | undefined>(
    (best, table) => (best === undefined || !isNewer(best, table) ? table : best),
    undefined,
  );
}

function doubtAbout(
  table: RateTable,
  inForce: RateTable,
  { changesSource, earlier }: Precedents,
): string | undefined {
  if (!changesSource && table.number === inForce.number) {
    return "it differs from the one in force under the same number";
  }
  if (!changesSource && !isNewer(table, inForce)) {
    return `it is of ${table.effectiveDate}, older than ${inForce.number} of ${inForce.effectiveDate} in force`;
  }
  const missing = [...inForce.rates.keys()].filter((currency) => !table.rates.has(currency));
  if (missing.length > inForce.rates.size * largestMissingShare) {
    return `it lacks ${missing.length} of the ${inForce.rates.size} currencies of ${inForce.number} (${missing.join(", ")})`;
  }
  const leaps = [...table.rates.values()].flatMap((rate) =>
    leapBetween(inForce.rates.get(rate.currency) ?? earlier.get(rate.currency), rate),
  );
  if (leaps.length === 0) return undefined;
  return `a rate moved by more than ${largestMovePercent} % against its last one (${leaps.join(", ")})`;
}

function leapBetween(before: Pick<Rate, "bid" | "ask"> | undefined, { currency, bid, ask }: Rate): string[] {
  if (before === undefined || !(isLeap(before.bid, bid) || isLeap(before.ask, ask))) return [];
  const [oldBid, newBid, oldAsk, newAsk] = [before.bid, bid, before.ask, ask].map((rate) =>
    formatDecimal(rate),
  );
  return [`${currency} bid ${oldBid} to ${newBid}, ask ${oldAsk} to ${newAsk}`];
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
