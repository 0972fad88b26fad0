import { namesHolder } from "../core/journal.ts";
import { holderWords } from "../core/names.ts";
import { encodeAcceptance, encodeRefusal, encodeTable } from "../ledger/rows.ts";
import type { LedgerView, Writes } from "../ledger/store.ts";
import { columnsOf, type GivenTable, type SqlStatement } from "./statements.ts";

const accountColumns = "pesel bigint, name text, surname text, sequence bigint";
const refusalColumns =
  "pesel bigint, idempotency_key text, digest text, code text, message text, refused_at bigint, asked_by text, hash text";
const tableColumns = "id text, source text, number text, trading_date text, effective_date text, rates text";
const acceptedColumns =
  "epoch bigint, table_id text, accepted_at bigint, overridden_by text, suspended_for text, suspended_at bigint, actor text, hash text";

const replaceAccount =
  "on conflict (pesel) do update set name = excluded.name, surname = excluded.surname, sequence = excluded.sequence";
/** Deletes up to a number of the overdue ones, and up to as many of those beyond the most that are kept. */
const deleteOldRefusals =
  "delete from refusal where position in (" +
  "select position from (select position from refusal where refused_at < ?1 order by refused_at limit ?3) as overdue " +
  "union all select position from (select position from refusal " +
  "where position <= (select max(position) from refusal) - cast(?2 as bigint) order by position limit ?3) as excess)";

/** The epoch of the table that comes into force with the writes; 0 if none does. */
export function epochOf({ accepted }: Writes, { inForce }: LedgerView): number {
  return accepted === undefined ? 0 : (inForce()?.epoch ?? 0) + 1;
}

/**
 * The statements that write a decision, the entries last.
 * @param givenEntries the same as `given`, for the entries
 */
export function writesOf(
  given: GivenTable,
  writes: Writes,
  epoch: number,
  givenEntries: GivenTable = given,
): SqlStatement[] {
  const { accounts, entries, accepted, tables = [] } = writes;
  // In the order in which accounts are locked, so that processes that open the same ones do not wait for each other.
  const rows = accounts.toSorted((a, b) => (a.pesel < b.pesel ? -1 : 1));
  const named = new Set(
    entries.filter(({ entry }) => namesHolder(entry.kind)).map(({ entry }) => entry.pesel),
  );
  const renamed = rows.filter(({ pesel }) => named.has(pesel));
  const words = renamed.flatMap((row) => holderWords(row).map((word) => ({ pesel: row.pesel, word })));
  const sealed = entries.map(({ text: entry, hash }) => ({ entry, hash }));
  const kept = (accepted === undefined ? tables : [...tables, accepted.table]).map(encodeTable);
  const acceptance = accepted === undefined ? [] : [encodeAcceptance(epoch, accepted)];
  return [
    ...insertion(given, "account", accountColumns, rows, replaceAccount),
    ...deletion(
      given,
      "pesel bigint",
      renamed,
      (from) => `name_word where pesel in (select pesel from ${from})`,
    ),
    ...insertion(given, "name_word", "pesel bigint, word text", words),
    ...refusalWrites(given, writes.refusals),
    ...insertion(given, "rate_table", tableColumns, kept, "on conflict do nothing"),
    ...insertion(given, "accepted_table", acceptedColumns, acceptance),
    ...insertion(givenEntries, "journal", "entry text, hash text", sealed),
  ];
}

function refusalWrites(given: GivenTable, refusals: Writes["refusals"]): SqlStatement[] {
  if (refusals === undefined) return [];
  const { kept, limits } = refusals;
  const rows = kept.map(encodeRefusal);
  const withSameKey = (from: string) =>
    `refusal where position in (select position from ${from} cross join refusal ` +
    "where refusal.pesel = given.pesel and refusal.idempotency_key = given.idempotency_key)";
  return [
    ...deletion(given, "pesel bigint, idempotency_key text", rows, withSameKey),
    ...insertion(given, "refusal", refusalColumns, rows),
    // Twice as many as were added, so that those that are to go do not pile up.
    [deleteOldRefusals, [limits.since.getTime(), limits.most, 2 * kept.length]],
  ];
}

function insertion(
  given: GivenTable,
  table: string,
  columns: string,
  rows: readonly object[],
  otherwise = "",
): SqlStatement[] {
  if (rows.length === 0) return [];
  const names = columnsOf(columns)
    .map(([name]) => name)
    .join(", ");
  const [from, parameters] = given(columns, rows);
  // Without "where", SQLite would take "on conflict" for the condition of a join.
  return [
    [`insert into ${table} (${names}) select ${names} from ${from} where true ${otherwise}`, parameters],
  ];
}

/** @param which returns the table to delete from and the condition, for the name of the table of given rows */
function deletion(
  given: GivenTable,
  columns: string,
  rows: readonly object[],
  which: (from: string) => string,
): SqlStatement[] {
  if (rows.length === 0) return [];
  const [from, parameters] = given(columns, rows);
  return [[`delete from ${which(from)}`, parameters]];
}
