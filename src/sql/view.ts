import type { TableInForce } from "../core/rates.ts";
import { isEntryId } from "../ledger/ids.ts";
import { DamagedLedger, decodeRefusal, type RefusalRow } from "../ledger/rows.ts";
import type { LedgerView, Lookup } from "../ledger/store.ts";
import { decodeAccount, decodeInForce, foundEntry } from "./found.ts";
import {
  entryColumns,
  type GivenTable,
  type SqlRow,
  type SqlStatement,
  selectAccounts,
  selectEntries,
  selectInForce,
  withReversals,
} from "./statements.ts";

/** The rows that a transaction looks up. */
interface LoadedRows {
  readonly accounts: readonly SqlRow[];
  readonly keyed: readonly SqlRow[];
  readonly refusals: readonly SqlRow[];
  readonly inForce: readonly SqlRow[];
  readonly reversed: readonly SqlRow[];
}

/** A statement that finds these accounts; undefined where there are none to find. */
export function accountsOf(given: GivenTable, pesels: readonly string[]): SqlStatement | undefined {
  if (pesels.length === 0) return undefined;
  const rows = [...new Set(pesels)].map((pesel) => ({ pesel }));
  const [wanted, parameters] = given("pesel bigint", rows);
  return [selectAccounts(`(select pesel from ${wanted}) as wanted`), parameters];
}

/** Finds the entries with the keys. */
export function keyedOf(given: GivenTable, lookups: readonly Lookup[]): SqlStatement | undefined {
  const columns = `given.pesel, given.key as idempotency_key, ${entryColumns}`;
  return withKey(given, lookups, { columns, table: "journal", join: withReversals });
}

export function refusalsOf(given: GivenTable, lookups: readonly Lookup[]): SqlStatement | undefined {
  return withKey(given, lookups, { columns: "refusal.*", table: "refusal", join: "" });
}

function withKey(
  given: GivenTable,
  lookups: readonly Lookup[],
  { columns, table, join }: Readonly<Record<"columns" | "table" | "join", string>>,
): SqlStatement | undefined {
  const keys = lookups.flatMap(({ pesel, key }) => (key === undefined ? [] : [{ pesel, key }]));
  if (keys.length === 0) return undefined;
  const [from, parameters] = given("pesel bigint, key text", keys);
  const isGiven = `${table}.pesel = given.pesel and ${table}.idempotency_key = given.key`;
  return [`select ${columns} from ${from} cross join ${table} ${join} where ${isGiven}`, parameters];
}

/** Finds the entries that are to be reversed. */
export function reversedOf(given: GivenTable, lookups: readonly Lookup[]): SqlStatement | undefined {
  const ids = lookups.map(({ reverses = "" }) => reverses.toLowerCase()).filter(isEntryId);
  if (ids.length === 0) return undefined;
  const [from, parameters] = given(
    "id uuid",
    ids.map((id) => ({ id })),
  );
  return [`${selectEntries} where journal.id in (select id from ${from})`, parameters];
}

export const tableInForce: SqlStatement = [selectInForce, []];

/** Decodes each row on demand, so that a damaged one fails only the requests that need it. */
export function viewOf(rows: LoadedRows): LedgerView {
  const { accounts, keyed, refusals, reversed } = rows;
  const [newest] = rows.inForce;
  const placeOf = ({ pesel, idempotency_key }: SqlRow) => `${pesel} ${idempotency_key}`;
  const accountWith = new Map(accounts.map((row) => [Number(row.pesel), row]));
  const keyedWith = new Map(keyed.map((row) => [placeOf(row), row]));
  const refusalWith = new Map(refusals.map((row) => [placeOf(row), row as unknown as RefusalRow]));
  const entryWith = new Map(reversed.map((row) => [String(row.id), row]));
  let inForce: TableInForce | undefined;
  return {
    inForce: () => {
      inForce ??= newest && decodeInForce(newest);
      return inForce;
    },
    account: (pesel) => {
      const row = accountWith.get(Number(pesel));
      return row && decodeAccount(row);
    },
    answered: (pesel, key) => {
      const place = `${Number(pesel)} ${key}`;
      const [row, refusal] = [keyedWith.get(place), refusalWith.get(place)];
      if (row === undefined) return refusal && decodeRefusal(refusal);
      const found = foundEntry(row);
      if (found.entry.pesel === pesel && found.entry.key === key) return found;
      throw new DamagedLedger(`the entry ${row.id} has another account or key than it is found by`);
    },
    entry: (id) => {
      const row = entryWith.get(id.toLowerCase());
      return row && foundEntry(row);
    },
  };
}
