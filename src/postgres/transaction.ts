import { holderWords } from "../core/names.ts";
import type { RateTable } from "../core/rates.ts";
import { CommitDeadline, perhapsDone } from "../ledger/commit-deadline.ts";
import { encodeAcceptance, encodeRefusal, encodeTable } from "../ledger/rows.ts";
import type { Decision, Loaded, Touch, Writes } from "../ledger/store.ts";
import { selectInForce } from "../sql/statements.ts";
import { type Connection, ConnectionLost, type Parameter, type Row } from "./connection.ts";
import { isRolledBack, isTaken, Raced } from "./failures.ts";
import { type LoadedRows, loadedFrom } from "./loaded.ts";
import {
  deleteRefusals,
  deleteWords,
  findAnswered,
  findEntries,
  findEpochs,
  findKeys,
  findRefusals,
  findReversed,
  insertAccepted,
  insertEntries,
  insertRefusals,
  insertTables,
  insertWords,
  lockAccounts,
  selectAccounts,
  writeAccounts,
} from "./statements.ts";

const readCommitted = "isolation level read committed";

/** Does `work` in a transaction, which is committed unless it fails. */
export async function inTransaction(connection: Connection, work: () => Promise<unknown>): Promise<void> {
  await orRollBack(connection, async () => {
    await connection.begin(readCommitted);
    await work();
    await commit(connection, []);
  });
}

/** Gives `see` what a transaction would load, as of one moment, without locks. */
export async function look<T>(
  connection: Connection,
  touched: readonly Touch[],
  see: (loaded: Loaded) => T,
): Promise<T> {
  const found = await orRollBack(connection, async () => {
    const [, loaded] = await Promise.all([
      connection.begin("isolation level repeatable read, read only"),
      load(connection, touched),
    ]);
    await connection.query("commit");
    return loaded;
  });
  return see({ ...loadedFrom(found), nextId: () => "" });
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
  readonly #deadline: CommitDeadline;
  readonly #sent: Sent<T>[] = [];
  /** Whether what was decided last could have been decided by another process at the same time. */
  #mayRace = false;
  #races = 0;

  /** @param limitMs how long from now on it may be answered as done */
  constructor(touched: readonly Touch[], decide: (loaded: Loaded) => Decision<T>, limitMs: number) {
    this.#touched = touched;
    this.#decide = decide;
    this.#deadline = new CommitDeadline(limitMs);
  }

  /** Whether it may be committed although no try said so. */
  get mayBeDone(): boolean {
    return this.#sent.length > 0;
  }

  /** Whether a try failed on a key that another process took: it may be tried again. To be asked once for each try. */
  isRace(error: unknown): boolean {
    if (!(this.#mayRace && isTaken(error))) return false;
    this.#races += 1;
    return this.#races <= racesAtMost;
  }

  /**
   * @throws ConnectionLost, pg.DatabaseError, and whatever `decide` throws
   */
  try(connection: Connection): Promise<T> {
    return orRollBack(connection, async () => {
      const [, locked, found, done] = await Promise.all([
        connection.begin(readCommitted),
        lock(connection, this.#touched),
        load(connection, this.#touched),
        this.#findDone(connection),
      ]);
      if (hasRaced(locked, found)) throw new Raced();
      if (done === undefined) return this.#carryOut(connection, loadedFrom(found));
      // The commit of nothing waits until a standby has what the answer rests on.
      await commit(connection, []);
      this.#deadline.require(perhapsDone);
      return done.answer;
    });
  }

  async #carryOut(connection: Connection, loaded: Loaded): Promise<T> {
    const { writes, answer } = this.#decide(loaded);
    const epoch = (writes.accepted && (loaded.inForce()?.epoch ?? 0) + 1) ?? 0;
    const hashes = new Map(writes.entries.map(({ entry, hash }) => [entry.id, hash]));
    const accepted = writes.accepted && { epoch, id: writes.accepted.table.id };
    const opens = writes.accounts.some(({ pesel }) => loaded.account(pesel) === undefined);
    this.#mayRace = opens || accepted !== undefined;
    this.#deadline.require(this.mayBeDone ? perhapsDone : "Nothing was changed.");
    this.#sent.push({ hashes, accepted, answer });
    try {
      await commit(connection, statementsOf(writes, epoch));
    } catch (error) {
      const isNothing = hashes.size === 0 && accepted === undefined;
      if (isNothing || !(error instanceof ConnectionLost)) this.#sent.pop();
      throw error;
    }
    this.#deadline.require(perhapsDone);
    return answer;
  }

  /** The decision that was committed although its COMMIT got no answer. */
  async #findDone(connection: Connection): Promise<Sent<T> | undefined> {
    const ids = this.#sent.flatMap(({ hashes }) => [...hashes.keys()]);
    const epochs = this.#sent.flatMap(({ accepted }) => accepted?.epoch ?? []);
    const [entries, tables] = await Promise.all([
      rowsOf(connection, findEntries, ids),
      rowsOf(connection, findEpochs, epochs),
    ]);
    return this.#sent.find(
      ({ hashes, accepted }) =>
        entries.some(({ id, hash }) => hashes.get(String(id)) === hash) ||
        tables.some(({ epoch, table_id }) => accepted?.epoch === epoch && accepted?.id === table_id),
    );
  }
}

async function orRollBack<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // Whoever gets the connection next must not be in this transaction.
    if (connection.usable) await connection.query("rollback").catch(() => connection.destroy());
    throw error;
  }
}

/** The rows that a statement finds by lists of the same length; none are asked for by empty ones. */
async function rowsOf(
  connection: Connection,
  sql: string,
  ...lists: readonly (readonly (string | number)[])[]
): Promise<readonly Row[]> {
  if (lists[0]?.length === 0) return [];
  return (await connection.query(sql, lists)).rows;
}

const peselsOf = (touched: readonly Touch[]) => [...new Set(touched.map(({ pesel }) => pesel))];

function lock(connection: Connection, touched: readonly Touch[]): Promise<readonly Row[]> {
  return rowsOf(connection, lockAccounts, peselsOf(touched));
}

/** In statements of their own, which see what was committed while the locks were waited for. */
async function load(connection: Connection, touched: readonly Touch[]): Promise<LoadedRows> {
  const withKey = touched.flatMap(({ pesel, key }) => (key === undefined ? [] : [{ pesel, key }]));
  const keys = [withKey.map(({ pesel }) => pesel), withKey.map(({ key }) => key)];
  const ids = touched.flatMap(({ reverses = [] }) => reverses);
  const [accounts, keyed, refusals, reversed, inForce] = await Promise.all([
    rowsOf(connection, selectAccounts, peselsOf(touched)),
    answeredUnder(connection, keys),
    rowsOf(connection, findRefusals, ...keys),
    rowsOf(connection, findReversed, ids),
    rowsOf(connection, selectInForce),
  ]);
  return { accounts, keyed, refusals, reversed, inForce };
}

async function answeredUnder(
  connection: Connection,
  keys: readonly (readonly string[])[],
): Promise<readonly Row[]> {
  const ids = await rowsOf(connection, findKeys, ...keys);
  return rowsOf(
    connection,
    findAnswered,
    ids.map(({ id }) => String(id)),
  );
}

/** Whether an account was opened after the locks were taken, or between the reading of accounts and that of keys. */
function hasRaced(locked: readonly Row[], { accounts, keyed }: LoadedRows): boolean {
  const held = new Set(locked.map(({ pesel }) => pesel));
  const absent = accounts.filter(({ sequence, entry }) => sequence === null && entry === null);
  const unopened = new Set(absent.map(({ pesel }) => pesel));
  return (
    accounts.some(({ pesel, sequence }) => sequence !== null && !held.has(pesel)) ||
    keyed.some(({ pesel }) => unopened.has(pesel))
  );
}

type Statement = readonly [text: string, parameters: readonly Parameter[]];

/** @param epoch of the table that comes into force, if one does */
function statementsOf(
  { accounts, entries, accepted, refusals, tables = [] }: Writes,
  epoch: number,
): Statement[] {
  // In the order in which accounts are locked, so that processes that open the same ones do not wait for each other.
  const rows = accounts.toSorted((a, b) => (a.pesel < b.pesel ? -1 : 1));
  const named = new Set(entries.filter(({ entry }) => entry.holder).map(({ entry }) => entry.pesel));
  const renamed = rows.filter(({ pesel }) => named.has(pesel));
  const words = renamed.flatMap((row) => holderWords(row).map((word) => ({ pesel: row.pesel, word })));
  const statements: Statement[] = [
    // First, so that of two processes that put a table in force only one commits.
    ...(accepted === undefined ? [] : acceptStatements(accepted, epoch)),
    listed(writeAccounts, rows, ["pesel", "name", "surname", "sequence"]),
    listed(deleteWords, renamed, ["pesel"]),
    listed(insertWords, words, ["pesel", "word"]),
    listed(insertEntries, entries, ["text", "hash"]),
    ...(refusals === undefined ? [] : refusalStatements(refusals)),
    tableStatement(tables),
  ];
  return statements.filter(([, [first]]) => !(Array.isArray(first) && first.length === 0));
}

function tableStatement(tables: readonly RateTable[]): Statement {
  return listed(insertTables, tables.map(encodeTable), [
    "id",
    "source",
    "number",
    "trading_date",
    "effective_date",
    "rates",
  ]);
}

function acceptStatements(accepted: NonNullable<Writes["accepted"]>, newEpoch: number): Statement[] {
  const { epoch, table_id, accepted_at, overridden_by, hash } = encodeAcceptance(newEpoch, accepted);
  return [
    tableStatement([accepted.table]),
    [insertAccepted, [epoch, table_id, accepted_at, overridden_by, hash]],
  ];
}

function refusalStatements({ kept, limits }: NonNullable<Writes["refusals"]>): Statement[] {
  const columns = [
    ...(["pesel", "idempotency_key", "digest", "code"] as const),
    ...(["message", "refused_at", "asked_by", "hash"] as const),
  ];
  return [
    listed(insertRefusals, kept.map(encodeRefusal), columns),
    [deleteRefusals, [limits.since.getTime(), limits.most]],
  ];
}

/** A statement that takes a list for each of the columns. */
function listed<Column extends string>(
  text: string,
  rows: readonly Readonly<Record<Column, string | number | null>>[],
  columns: readonly Column[],
): Statement {
  return [text, columns.map((column) => rows.map((row) => row[column]))];
}

/**
 * Sends the statements and COMMIT without waiting in between.
 * @throws ConnectionLost if it may be committed; pg.DatabaseError if it certainly is not
 */
async function commit(connection: Connection, statements: readonly Statement[]): Promise<void> {
  const sent = statements.map(([text, parameters]) => connection.query(text, parameters));
  const [last, ...results] = await Promise.allSettled([connection.query("commit"), ...sent]);
  const failed = results.find(
    (result): result is PromiseRejectedResult =>
      result.status === "rejected" && !(result.reason instanceof ConnectionLost),
  );
  // After a statement that failed, COMMIT rolls back.
  if (failed !== undefined) throw failed.reason;
  if (last.status === "rejected" && isRolledBack(last.reason)) throw last.reason;
  if (last.status === "fulfilled" && last.value.command === "COMMIT" && !connection.unreplicated) return;
  connection.destroy(
    connection.unreplicated
      ? "the commit did not wait for the standby"
      : `the commit failed: ${last.status === "rejected" ? last.reason.message : "it was rolled back"}`,
  );
  throw connection.lost;
}
