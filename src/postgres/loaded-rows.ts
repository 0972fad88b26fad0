import type { TableInForce } from "../core/rates.ts";
import { entryId } from "../ledger/entry-id.ts";
import { decodeRefusal } from "../ledger/rows.ts";
import type { Loaded, RefusalRow, Touch } from "../ledger/store.ts";
import { answeredEntry, decodeAccount, decodeInForce, foundEntry } from "../sql/found.ts";
import {
  accountColumns,
  foundColumns,
  foundFrom,
  holderColumns,
  joinAccount,
  joinHolder,
  selectInForce,
} from "../sql/statements.ts";
import type { Connection, Row } from "./connection.ts";

/** Takes a list of PESELs. */
export const selectAccounts = `select ${accountColumns} from unnest($1::bigint[]) as wanted (pesel) ${joinAccount}`;
const lockAccounts = "select pesel from account where pesel = any($1::bigint[]) order by pesel for update";
/** The ids alone: hardly any key was used, and the server plans each statement again. */
const findKeys =
  "select journal.id from journal join unnest($1::bigint[], $2::text[]) as k (pesel, key) " +
  "on journal.pesel = k.pesel and journal.idempotency_key = k.key";
/** Entries as `answeredEntry` reads them, with what they are found by. */
const findAnswered =
  `select journal.pesel, journal.idempotency_key, ${foundColumns}, ${holderColumns} ${foundFrom} ${joinHolder} ` +
  "where journal.id = any($1::uuid[])";
const findRefusals =
  "select refusal.* from unnest($1::bigint[], $2::text[]) as k (pesel, key) " +
  "join refusal on refusal.pesel = k.pesel and refusal.idempotency_key = k.key";
const findReversed = `select journal.id, ${foundColumns} ${foundFrom} where journal.id = any($1::uuid[])`;

/** The rows that a transaction has read. */
export interface LoadedRows {
  readonly accounts: readonly Row[];
  /** Entries with the keys, and refusals under them. */
  readonly keyed: readonly Row[];
  readonly refusals: readonly Row[];
  /** Entries that are to be reversed. */
  readonly reversed: readonly Row[];
  readonly inForce: readonly Row[];
}

/** The accounts that are there, in the order of their PESELs, so that no two processes wait for each other. */
export function lock(connection: Connection, touched: readonly Touch[]): Promise<readonly Row[]> {
  return rowsOf(connection, lockAccounts, peselsOf(touched));
}

/** In statements of their own, which see what was committed while the locks were waited for. */
export async function load(connection: Connection, touched: readonly Touch[]): Promise<LoadedRows> {
  const withKey = touched.flatMap(({ pesel, key }) => (key === undefined ? [] : [{ pesel, key }]));
  const keys = [withKey.map(({ pesel }) => pesel), withKey.map(({ key }) => key)];
  const ids = touched.flatMap(({ reverses = [] }) => reverses);
  const [accounts, keyed, refusals, reversed, inForce] = await Promise.all([
    rowsOf(connection, selectAccounts, peselsOf(touched)),
    rowsOf(connection, findKeys, ...keys).then((found) =>
      rowsOf(
        connection,
        findAnswered,
        found.map(({ id }) => String(id)),
      ),
    ),
    rowsOf(connection, findRefusals, ...keys),
    rowsOf(connection, findReversed, ids),
    rowsOf(connection, selectInForce),
  ]);
  return { accounts, keyed, refusals, reversed, inForce };
}

/** The rows that a statement finds by lists of the same length; none are asked for by empty ones. */
export async function rowsOf(
  connection: Connection,
  sql: string,
  ...lists: readonly (readonly string[])[]
): Promise<readonly Row[]> {
  if (lists[0]?.length === 0) return [];
  return (await connection.query(sql, lists)).rows;
}

const peselsOf = (touched: readonly Touch[]) => [...new Set(touched.map(({ pesel }) => pesel))];

/** Decodes each row when it is asked for, so that one that cannot be read harms only who needs it. */
export function loadedFrom({ accounts, keyed, refusals, reversed, inForce: [newest] }: LoadedRows): Loaded {
  const byPesel = new Map(accounts.map((row) => [Number(row.pesel), row]));
  const placeOf = ({ pesel, idempotency_key }: Row) => `${pesel} ${idempotency_key}`;
  const entryWith = new Map(keyed.map((row) => [placeOf(row), row]));
  const refusalWith = new Map(refusals.map((row) => [placeOf(row), row as unknown as RefusalRow]));
  const byId = new Map(reversed.map((row) => [String(row.id), row]));
  let inForce: TableInForce | undefined;
  return {
    inForce: () => {
      inForce ??= newest && decodeInForce(newest);
      return inForce;
    },
    account: (pesel) => {
      const row = byPesel.get(Number(pesel));
      return row && decodeAccount(row);
    },
    answered: (pesel, key) => {
      const place = `${Number(pesel)} ${key}`;
      const [entry, refusal] = [entryWith.get(place), refusalWith.get(place)];
      if (entry !== undefined) return answeredEntry(entry);
      return refusal && decodeRefusal(refusal);
    },
    entry: (id) => {
      const row = byId.get(id);
      return row && foundEntry(row);
    },
    nextId: entryId,
  };
}
