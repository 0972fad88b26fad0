import { compareDecimals, type Decimal, formatDecimal } from "../core/decimal.ts";
import { type AcceptedTable, compareTables, type RateTable, type TableLedger } from "../core/rates.ts";

const largestMovePercent = 30n;
const largestMissingShare = 1 / 4;

/** The tables that a new rate table is judged against. */
export interface Precedents {
  /** Undefined before a ledger's first rate table, which is compared with nothing. */
  readonly inForce: RateTable | undefined;
  /** The ledger's record of the rate tables that have been in force, oldest first. */
  readonly accepted: readonly AcceptedTable[];
  /** The rate tables to find a currency's last rate in, oldest first. The last one is the one in force. */
  readonly past: readonly RateTable[];
}

/** A rate table that a check keeps from coming into force. */
export interface HeldBack {
  readonly table: RateTable;
  readonly reason: string;
}

export interface Choice {
  /** The rate table that comes into force next, and whether it takes an operator's word. */
  readonly accept?: { readonly table: RateTable; readonly overridden: boolean };
  /** The newest rate table, if it is held back. */
  readonly heldBack?: HeldBack;
}

/**
 * Chooses which of a source's effective rate tables comes into force next in a ledger. Writes nothing.
 * @param effective in the order of `compareTables`
 * @param acceptTable the number or id of a table that an operator lets through
 */
export async function nextTable(
  ledger: Pick<TableLedger, "acceptedTables" | "tables">,
  effective: readonly RateTable[],
  inForce: RateTable | undefined,
  acceptTable: string | undefined,
): Promise<Choice> {
  const tables = candidates(effective, inForce);
  if (tables.length === 0) return {};
  const accepted = await ledger.acceptedTables();
  const past = inForce === undefined ? [] : await pastTables(ledger, accepted, inForce, tables);
  return choose(tables, { inForce, accepted, past }, acceptTable);
}

/** The table in force, after those before it if `tables` quote a currency that it lacks. */
async function pastTables(
  ledger: Pick<TableLedger, "tables">,
  accepted: readonly AcceptedTable[],
  inForce: RateTable,
  tables: readonly RateTable[],
): Promise<readonly RateTable[]> {
  const quoted = tables.flatMap(({ rates }) => [...rates.keys()]);
  if (quoted.every((currency) => inForce.rates.has(currency))) return [inForce];
  const kept = new Map<string, RateTable>();
  for (const source of new Set(accepted.map((table) => table.source))) {
    for (const table of await ledger.tables({ source, since: "0001-01-01" })) kept.set(table.id, table);
  }
  return accepted.flatMap(({ id }) => kept.get(id) ?? []);
}

/**
 * The rate tables that could take the place of the one in force, newest first: the source's newest, and, if the one in
 * force is of the same source, those between the two.
 */
export function candidates(
  effective: readonly RateTable[],
  inForce: RateTable | undefined,
): readonly RateTable[] {
  const last = effective.at(-1);
  if (last === undefined || last.id === inForce?.id) return [];
  if (inForce?.source !== last.source) return [last];
  return effective.filter((table) => table === last || compareTables(table, inForce) > 0).reverse();
}

/**
 * Chooses the first of the candidates, newest first, that no check holds back or that the operator lets through.
 * @param acceptTable the number or id of the table that an operator lets through. Once a table of that number has been
 *   in force, the number lets no other through: a correction under it has to be named by its id.
 */
export function choose(
  tables: readonly RateTable[],
  precedents: Precedents,
  acceptTable: string | undefined,
): Choice {
  let held: Pick<Choice, "heldBack"> = {};
  for (const table of tables) {
    const verdict = judge(table, precedents, acceptTable);
    if (typeof verdict !== "string") return { accept: { table, ...verdict }, ...held };
    held = { heldBack: { table, reason: verdict }, ...held };
  }
  return held;
}

/** Judges whether a table may come into force, with or without the operator's word, or gives the reason against it. */
function judge(
  table: RateTable,
  { inForce, accepted, past }: Precedents,
  acceptTable: string | undefined,
): { readonly overridden: boolean } | string {
  if (inForce === undefined) return { overridden: false };
  // After a change of source and back, the same table may be in force again.
  const ofSource = accepted.slice(accepted.findLastIndex(({ source }) => source !== table.source) + 1);
  if (ofSource.some(({ id }) => id === table.id)) {
    return `it was in force before ${inForce.number} replaced it, and no table comes back`;
  }
  const doubts = doubtsAbout(table, inForce, past);
  if (doubts.length === 0) return { overridden: false };
  const isNumberSpent = accepted.some(
    ({ source, number, id }) => source === table.source && number === table.number && id !== table.id,
  );
  if (acceptTable === table.id || (acceptTable === table.number && !isNumberSpent)) {
    return { overridden: true };
  }
  // The bank may correct a table under its number before the operator's word comes: the id means this one only.
  return `${doubts.join("; ")}. If the bank confirms it, let it through with fx serve --accept-table ${table.id}`;
}

/** Everything that is doubtful about a table: the operator's word overrides all of it. */
function doubtsAbout(table: RateTable, inForce: RateTable, past: readonly RateTable[]): readonly string[] {
  const doubts: string[] = [];
  // Numbers and dates of two sources do not compare.
  const isComparable = table.source === inForce.source;
  if (isComparable && table.number === inForce.number) {
    const changes = movesOf(table, [inForce], () => true);
    const listed = changes.length === 0 ? "" : ` (${changes.join(", ")})`;
    doubts.push(`it differs from the one in force under the same number${listed}`);
  } else if (isComparable && compareTables(table, inForce) < 0) {
    doubts.push(
      `it is of ${table.effectiveDate}, older than ${inForce.number} of ${inForce.effectiveDate} in force`,
    );
  }
  const missing = [...inForce.rates.keys()].filter((currency) => !table.rates.has(currency));
  if (missing.length > inForce.rates.size * largestMissingShare) {
    doubts.push(
      `it lacks ${missing.length} of the ${inForce.rates.size} currencies of ${inForce.number} (${missing.join(", ")})`,
    );
  }
  const leaps = movesOf(table, past, isLeap);
  if (leaps.length > 0) {
    doubts.push(
      `a rate moved by more than ${largestMovePercent} % against its last one (${leaps.join(", ")})`,
    );
  }
  return doubts;
}

/** The rates that differ from the last ones before, where `isTold` says so of the bid or the ask. */
function movesOf(
  table: RateTable,
  past: readonly RateTable[],
  isTold: (before: Decimal, after: Decimal) => boolean,
): string[] {
  return [...table.rates.values()].flatMap(({ currency, bid, ask }) => {
    const before = past.findLast(({ rates }) => rates.has(currency))?.rates.get(currency);
    if (before === undefined) return [];
    const moved = (from: Decimal, to: Decimal) => compareDecimals(from, to) !== 0 && isTold(from, to);
    if (!moved(before.bid, bid) && !moved(before.ask, ask)) return [];
    const move = (from: Decimal, to: Decimal) => `${formatDecimal(from)} to ${formatDecimal(to)}`;
    return [`${currency} bid ${move(before.bid, bid)}, ask ${move(before.ask, ask)}`];
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
