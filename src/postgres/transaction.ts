import { randomUUID } from "node:crypto";
import { holderWords } from "../core/names.ts";
import type { Pesel } from "../core/pesel.ts";
import type { RateTable } from "../core/rates.ts";
import { limits } from "../ledger/limits.ts";
import { encodeAcceptance, encodeRefusal, encodeTable } from "../ledger/rows.ts";
import type { Decision, Loaded, StoredAccount, Touch, Writes } from "../ledger/store.ts";
import { type Connection, ConnectionLost, listText, type Parameter, type Row } from "./connection.ts";
import { isRolledBack, isTaken } from "./failures.ts";
import { loadedFrom, unlessDamaged } from "./loaded.ts";
import { type KnownTables, readInForce, tableColumns } from "./rate-tables.ts";
import {
  deleteRefusals,
  deleteWords,
  findEntries,
  findEpochs,
  findKeys,
  findRefusals,
  findReversed,
  insertAccepted,
  insertAccounts,
  insertEntries,
  insertRefusals,
  insertTables,
  insertWords,
  lockAccounts,
  refusalColumns,
  renameAccounts,
  selectAccounts,
  updateAccounts,
  wordColumns,
  writtenColumns,
} from "./statements.ts";

/** Keeps tables, where they are not kept yet. */
export async function saveTables(connection: Connection, tables: readonly RateTable[]): Promise<void> {
  const token = randomUUID();
  try {
    await begin(connection, "read committed", token);
    await commit(connection, rowsStatement(insertTables, tableColumns, tables.map(encodeTable)), token);
  } catch (error) {
    if (connection.usable) await connection.query("rollback").catch(() => {});
    throw error;
  }
}

/** A decision whose COMMIT was sent and not answered. */
interface Sent<T> {
  /** By id. The hash tells this decision's entries from those of another try under the same ids. */
  readonly hashes: ReadonlyMap<string, string>;
  /** The rate table that it puts in force. */
  readonly accepted: { readonly epoch: number; readonly id: string } | undefined;
  readonly answer: T;
}

/** Tries after a conflict with another process that opened one of the accounts, or put a rate table in force. */
const racesAtMost = 2;

/** Another process opened an account between two statements of a transaction. */
class Raced extends Error {}

/**
 * One `transact`, tried until it is known to be committed. Two round trips: one loads and locks, one writes and commits.
 *
 * After a lost COMMIT the next try looks for its entries, or for the rate table that it put in force. By then it cannot be
 * committed any more behind our back: its accounts are locked, so it has ended; or an account or an epoch is new, and then
 * the one of two tries that commits last fails on its key.
 */
export class Transaction<T> {
  readonly #touched: readonly Touch[];
  readonly #decide: (loaded: Loaded) => Decision<T>;
  #isolation: string;
  #locks = true;
  readonly #tables: KnownTables;
  readonly #sent: Sent<T>[] = [];
  /** Whether what was decided last could have been decided by another process at the same time. */
  #mayRace = false;
  #races = 0;

  constructor(
    touched: readonly Touch[],
    decide: (loaded: Loaded) => Decision<T>,
    { serializable, tables }: { serializable: boolean; tables: KnownTables },
  ) {
    this.#touched = touched;
    this.#decide = decide;
    this.#isolation = serializable ? "serializable" : "read committed";
    this.#tables = tables;
  }

  /** Whether it may be committed although no try said so. */
  get mayBeDone(): boolean {
    return this.#sent.length > 0;
  }

  /** Whether a try failed because another process did the same: it may be tried again. To be asked once for each try. */
  isRace(error: unknown): boolean {
    if (!(error instanceof Raced || (this.#mayRace && isTaken(error)))) return false;
    this.#races += 1;
    return this.#races <= racesAtMost;
  }

  /**
   * @throws ConnectionLost, postgres.PostgresError, and whatever `decide` throws
   */
  async try(connection: Connection): Promise<T> {
    const token = randomUUID();
    try {
      const { loaded, done } = await this.#load(connection, token);
      if (done !== undefined) {
        // The commit of nothing waits until a standby has what the answer rests on.
        await commit(connection, [], token);
        return done.answer;
      }
      const { writes, answer } = this.#decide(loaded);
      const epoch = writes.accepted && (loaded.inForce()?.epoch ?? 0) + 1;
      const hashes = new Map(writes.entries.map(({ entry, hash }) => [entry.id, hash]));
      const accepted = writes.accepted && { epoch: epoch as number, id: writes.accepted.table.id };
      const { statements, opens } = this.#statements(writes, loaded, epoch);
      this.#mayRace = opens || accepted !== undefined;
      this.#sent.push({ hashes, accepted, answer });
      try {
        await commit(connection, statements, token);
      } catch (error) {
        const isNothing = hashes.size === 0 && accepted === undefined;
        if (isNothing || !(error instanceof ConnectionLost)) this.#sent.pop();
        throw error;
      }
      if (writes.accepted !== undefined && epoch !== undefined) {
        this.#tables.inForce = { epoch, table: writes.accepted.table };
      }
      return answer;
    } catch (error) {
      if (connection.usable) await connection.query("rollback").catch(() => {});
      throw error;
    }
  }

  /** Gives `see` what `try` would load, as of one moment, without locks. */
  static async look<T>(
    connection: Connection,
    touched: readonly Touch[],
    see: (loaded: Loaded) => T,
    tables: KnownTables,
  ): Promise<T> {
    const reading = new Transaction<T>(touched, neverDecides, { serializable: false, tables });
    reading.#isolation = "repeatable read, read only";
    reading.#locks = false;
    try {
      const { loaded } = await reading.#load(connection, randomUUID());
      return see({ ...loaded, nextId: () => "" });
    } finally {
      if (connection.usable) await connection.query("rollback").catch(() => {});
    }
  }

  async #load(connection: Connection, token: string): Promise<{ loaded: Loaded; done: Sent<T> | undefined }> {
    const keyed = this.#touched.filter(({ key }) => key !== undefined);
    const pesels = [listText([...new Set(this.#touched.map(({ pesel }) => pesel))])];
    const keys = [listText(keyed.map(({ pesel }) => pesel)), listText(keyed.map(({ key = null }) => key))];
    const reversed = this.#touched.flatMap(({ reverses = [] }) => reverses);
    const query = (
      isNeeded: boolean,
      sql: string,
      parameters: readonly Parameter[],
    ): Promise<readonly Row[]> => (isNeeded ? connection.query(sql, parameters) : Promise.resolve([]));
    const [, locked, accounts, keyRows, refusals, entries, inForce, done] = await Promise.all([
      begin(connection, this.#isolation, token),
      query(this.#locks && this.#touched.length > 0, lockAccounts, pesels),
      // In a statement of its own, which sees what was committed while that one waited for its locks.
      query(this.#touched.length > 0, selectAccounts, pesels),
      query(keyed.length > 0, findKeys, keys),
      query(keyed.length > 0, findRefusals, keys),
      query(reversed.length > 0, findReversed, [listText(reversed)]),
      unlessDamaged(readInForce(connection, this.#tables)),
      this.#findDone(connection),
    ]);
    if (this.#locks && hasRaced(locked, accounts, keyRows)) throw new Raced();
    return { loaded: loadedFrom({ accounts, keyRows, refusals, entries, inForce }), done };
  }

  /** The decision that was committed although its COMMIT got no answer. */
  async #findDone(connection: Connection): Promise<Sent<T> | undefined> {
    if (this.#sent.length === 0) return undefined;
    const ids = this.#sent.flatMap(({ hashes }) => [...hashes.keys()]);
    const epochs = this.#sent.flatMap(({ accepted }) => accepted?.epoch ?? []);
    const [entries, tables] = await Promise.all([
      ids.length === 0 ? [] : connection.query(findEntries, [listText(ids)]),
      epochs.length === 0 ? [] : connection.query(findEpochs, [listText(epochs)]),
    ]);
    return this.#sent.find(
      ({ hashes, accepted }) =>
        entries.some(({ id, hash }) => hashes.get(String(id)) === hash) ||
        tables.some(({ epoch, table_id }) => accepted?.epoch === Number(epoch) && accepted.id === table_id),
    );
  }

  #statements({ accounts, entries, accepted, refusals }: Writes, loaded: Loaded, epoch: number | undefined) {
    const rows = accounts.toSorted((a, b) => (a.pesel < b.pesel ? -1 : 1)).map(rowOf);
    const isNew = ({ pesel }: { pesel: Pesel }) => loaded.account(pesel) === undefined;
    const named = new Set(entries.filter(({ entry }) => entry.holder).map(({ entry }) => entry.pesel));
    const opened = rows.filter(isNew);
    const renamed = rows.filter((row) => !isNew(row) && named.has(row.pesel));
    const words = [...opened, ...renamed];
    const statements: Statement[] = [
      // First, so that of two processes that put a table in force only one commits.
      ...(accepted === undefined || epoch === undefined ? [] : acceptStatements(accepted, epoch)),
      ...rowsStatement(
        updateAccounts,
        ["pesel", "sequence"],
        rows.filter((row) => !isNew(row)),
      ),
      ...rowsStatement(insertAccounts, writtenColumns, opened),
      ...rowsStatement(renameAccounts, ["pesel", "name", "surname"], renamed),
      ...rowsStatement(deleteWords, ["pesel"], words),
      ...rowsStatement(insertWords, wordColumns, words.flatMap(wordRows)),
      ...rowsStatement(
        insertEntries,
        ["entry", "hash"],
        entries.map(({ text, hash }) => ({ entry: text, hash })),
      ),
      ...(refusals === undefined ? [] : refusalStatements(refusals)),
    ];
    return { statements, opens: opened.length > 0 };
  }
}

/** Whether an account was opened after the locks were taken, or between the reading of accounts and that of keys. */
function hasRaced(locked: readonly Row[], accounts: readonly Row[], keyRows: readonly Row[]): boolean {
  const held = new Set(locked.map(({ pesel }) => Number(pesel)));
  const absent = accounts.filter(({ sequence, entry }) => sequence === null && entry === null);
  const unopened = new Set(absent.map(({ pesel }) => Number(pesel)));
  return (
    accounts.some(({ pesel, sequence }) => sequence !== null && !held.has(Number(pesel))) ||
    keyRows.some(({ pesel }) => unopened.has(Number(pesel)))
  );
}

function neverDecides(): never {
  throw new Error("what only looks decides nothing");
}

function rowOf({ pesel, name, surname, sequence }: StoredAccount) {
  return { pesel, name, surname, sequence };
}

function wordRows(account: ReturnType<typeof rowOf>) {
  return holderWords(account).map((word) => ({ pesel: account.pesel, word }));
}

function acceptStatements(accepted: NonNullable<Writes["accepted"]>, newEpoch: number): Statement[] {
  const { epoch, table_id, accepted_at, overridden_by, hash } = encodeAcceptance(newEpoch, accepted);
  return [
    ...rowsStatement(insertTables, tableColumns, [encodeTable(accepted.table)]),
    [insertAccepted, [epoch, table_id, accepted_at, overridden_by, hash]],
  ];
}

function refusalStatements({ kept, limits }: NonNullable<Writes["refusals"]>): Statement[] {
  return [
    ...rowsStatement(insertRefusals, refusalColumns, kept.map(encodeRefusal)),
    [deleteRefusals, [limits.since.getTime(), limits.most]],
  ];
}

type Statement = readonly [text: string, parameters: readonly Parameter[]];

function rowsStatement<Column extends string>(
  text: string,
  columns: readonly Column[],
  rows: readonly Readonly<Record<Column, Parameter>>[],
): Statement[] {
  if (rows.length === 0) return [];
  return [[text, columns.map((column) => listText(rows.map((row) => row[column])))]];
}

/** Says for the transaction what is said for the session: a pooler may have put another one in its place. */
function begin(connection: Connection, isolation: string, token: string): Promise<unknown> {
  return connection.query(
    `begin isolation level ${isolation}; set local fx.transaction = '${token}'; ` +
      `set local idle_in_transaction_session_timeout = ${limits.idleInTransactionMs}; ` +
      `set local synchronous_commit = ${connection.synchronousCommit}`,
  );
}

/**
 * Sends the statements, each with the token of its transaction, and COMMIT, without waiting in between.
 * @throws ConnectionLost if it may be committed; postgres.PostgresError if it certainly is not
 */
async function commit(
  connection: Connection,
  statements: readonly Statement[],
  token: string,
): Promise<void> {
  const sent = [
    ...statements.map(([text, parameters]) => connection.query(text, [...parameters, token])),
    connection.query("commit"),
  ];
  const results = await Promise.allSettled(sent);
  const last = results.pop();
  const failed = results.find(
    (result): result is PromiseRejectedResult =>
      result.status === "rejected" && !(result.reason instanceof ConnectionLost),
  );
  // After a statement that failed, COMMIT rolls back.
  if (failed !== undefined) throw failed.reason;
  if (last?.status === "rejected" && isRolledBack(last.reason)) throw last.reason;
  if (last?.status === "fulfilled" && last.value.command === "COMMIT" && !connection.unreplicated) return;
  connection.destroy(
    connection.unreplicated
      ? "the commit did not wait for the standby"
      : `the commit failed: ${last?.status === "rejected" ? last.reason.message : "it was rolled back"}`,
  );
  throw connection.lost;
}
