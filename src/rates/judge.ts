import type { CurrencyCode } from "../core/currency.ts";
import { type CalendarDate, endOfTime } from "../core/date.ts";
import { compareDecimals, type Decimal, formatDecimal } from "../core/decimal.ts";
import type { AcceptedTable, Rate, RateTable, TableLedger } from "../core/rates.ts";

const largestMovePercent = 30n;
const largestMissingShare = 1 / 4;

/** What a new table is judged against. */
export interface Precedents {
  /** Undefined before a ledger's first table, which is compared with nothing. */
  readonly inForce: RateTable | undefined;
  /** All that have been in force, oldest first. */
  readonly accepted: readonly AcceptedTable[];
  /** The last rates of currencies that were in force, and that the table in force lacks. */
  readonly earlier: ReadonlyMap<CurrencyCode, BidAndAsk>;
}

type BidAndAsk = Pick<Rate, "bid" | "ask">;

/** A table that does not come into force, and why. */
export interface HeldBack {
  readonly table: RateTable;
  readonly reason: string;
}

export interface Choice {
  readonly accept: { readonly table: RateTable; readonly overridden: boolean } | undefined;
  readonly heldBack: HeldBack | undefined;
}

/**
 * Which of a source's effective tables comes into force next in a ledger, and which a check holds back. Writes nothing.
 * @param acceptTable the number or id of a table that an operator lets through
 */
export async function nextTable(
  ledger: Pick<TableLedger, "acceptedTables" | "rateHistory">,
  effective: readonly RateTable[],
  inForce: RateTable | undefined,
  acceptTable: string | undefined,
): Promise<Choice> {
  const tables = candidates(effective, inForce);
  if (tables.length === 0) return { accept: undefined, heldBack: undefined };
  const accepted = await ledger.acceptedTables();
  const earlier = await earlierRates(ledger, accepted, inForce, tables);
  return choose(tables, { inForce, accepted, earlier }, acceptTable);
}

/** The last rates that were in force of currencies that `tables` quote and the table in force does not. */
async function earlierRates(
  ledger: Pick<TableLedger, "rateHistory">,
  accepted: readonly AcceptedTable[],
  inForce: RateTable | undefined,
  tables: readonly RateTable[],
): Promise<ReadonlyMap<CurrencyCode, BidAndAsk>> {
  const earlier = new Map<CurrencyCode, BidAndAsk>();
  if (inForce === undefined) return earlier;
  const sources = [...new Set(accepted.map(({ source }) => source))];
  for (const currency of new Set(tables.flatMap(({ rates }) => [...rates.keys()]))) {
    if (inForce.rates.has(currency)) continue;
    const rates = new Map<string, BidAndAsk>();
    for (const source of sources) {
      const history = await ledger.rateHistory({ source, currency, since: "0001-01-01", until: endOfTime });
      for (const rate of history) rates.set(`${rate.number} ${source}`, rate);
    }
    const inTurn = accepted.map(({ number, source }) => rates.get(`${number} ${source}`));
    const last = inTurn.findLast((rate) => rate !== undefined);
    if (last !== undefined) earlier.set(currency, last);
  }
  return earlier;
}

/**
 * The tables of a source that could take the place of the one in force, newest first: the newest in any case, and the
 * others that are later than the one in force, if that is of the same source.
 */
export function candidates(
  effective: readonly RateTable[],
  inForce: RateTable | undefined,
): readonly RateTable[] {
  const last = newest(effective);
  if (last === undefined || last.id === inForce?.id) return [];
  if (inForce?.source !== last.source) return [last];
  const later = effective.filter((table) => table !== last && isNewer(table, inForce));
  return [last, ...later.sort((a, b) => (isNewer(a, b) ? -1 : isNewer(b, a) ? 1 : 0))];
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

function doubtAbout(table: RateTable, inForce: RateTable, { earlier }: Precedents): string | undefined {
  // Numbers and dates of two sources do not compare.
  const isComparable = table.source === inForce.source;
  if (isComparable && table.number === inForce.number) {
    return "it differs from the one in force under the same number";
  }
  if (isComparable && !isNewer(table, inForce)) {
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

function leapBetween(before: BidAndAsk | undefined, { currency, bid, ask }: Rate): string[] {
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
