import { CommitDeadline, perhapsDone } from "../ledger/commit-deadline.ts";
import type { Decision, Loaded, Touch } from "../ledger/store.ts";
import type { Connection, Row } from "./connection.ts";
import { ConnectionLost, isRolledBack, isTaken, Raced } from "./failures.ts";
import { type LoadedRows, load, loadedFrom, lock, rowsOf } from "./loaded-rows.ts";
import { type SqlStatement, statementsOf } from "./written-rows.ts";

const readCommitted = "isolation level read committed";
const findEntries = "select id, hash from journal where id = any($1::uuid[])";
/** Has the commit of what writes nothing else wait for a standby, too: it may rest on what no standby has yet. */
const writeLock: SqlStatement = ["select from fx_schema for key share", []];

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
interface Unanswered<T> {
  /** By id. The hash tells this decision's entries from those of another try under the same ids. */
  readonly hashes: ReadonlyMap<string, string>;
  /** The rate table that it puts in force. */
  readonly accepted: { readonly epoch: number; readonly id: string } | undefined;
  readonly answer: T;
  readonly deadline: CommitDeadline;
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
  readonly #limitMs: number;
  readonly #unanswered: Unanswered<T>[] = [];
  #races = 0;

  /** @param limitMs how long after its decision it may be answered as done */
  constructor(touched: readonly Touch[], decide: (loaded: Loaded) => Decision<T>, limitMs: number) {
    this.#touched = touched;
    this.#decide = decide;
    this.#limitMs = limitMs;
  }

  /** Whether it may be committed although no try said so. */
  get mayBeDone(): boolean {
    return this.#unanswered.length > 0;
  }

  /** Whether a try failed on a key that another process took: it may be tried again. To be asked once for each try. */
  isRace(error: unknown): boolean {
    if (!isTaken(error)) return false;
    this.#races += 1;
    return this.#races <= racesAtMost;
  }

  /**
   * @throws ConnectionLost, pg.DatabaseError, and whatever `decide` throws
   */
  try(connection: Connection): Promise<T> {
    return orRollBack(connection, async () => {
      const [, locked, found, entries] = await Promise.all([
        connection.begin(readCommitted),
        lock(connection, this.#touched),
        load(connection, this.#touched),
        rowsOf(
          connection,
          findEntries,
          this.#unanswered.flatMap(({ hashes }) => [...hashes.keys()]),
        ),
      ]);
      if (hasRaced(locked, found)) throw new Raced();
      const done = this.#doneBefore(entries, found);
      if (done === undefined) return this.#carryOut(connection, loadedFrom(found));
      await commit(connection, [writeLock]);
      done.deadline.require(perhapsDone);
      return done.answer;
    });
  }

  /** The decision that was committed although its COMMIT got no answer. */
  #doneBefore(entries: readonly Row[], { inForce: [newest] }: LoadedRows): Unanswered<T> | undefined {
    return this.#unanswered.find(
      ({ hashes, accepted }) =>
        entries.some(({ id, hash }) => hashes.get(String(id)) === hash) ||
        (accepted !== undefined && accepted.epoch === newest?.epoch && accepted.id === newest.table_id),
    );
  }

  async #carryOut(connection: Connection, loaded: Loaded): Promise<T> {
    const deadline = new CommitDeadline(this.#limitMs);
    const { writes, answer } = this.#decide(loaded);
    const epoch = writes.accepted === undefined ? 0 : (loaded.inForce()?.epoch ?? 0) + 1;
    const statements = statementsOf(writes, epoch);
    deadline.require(this.mayBeDone ? perhapsDone : "Nothing was changed.");
    try {
      await commit(connection, statements.length === 0 ? [writeLock] : statements);
    } catch (error) {
      const hashes = new Map(writes.entries.map(({ entry, hash }) => [entry.id, hash]));
      const accepted = writes.accepted && { epoch, id: writes.accepted.table.id };
      const isFound = hashes.size > 0 || accepted !== undefined;
      if (isFound && error instanceof ConnectionLost) {
        this.#unanswered.push({ hashes, accepted, answer, deadline });
      }
      throw error;
    }
    deadline.require(perhapsDone);
    return answer;
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

/**
 * Sends the statements and COMMIT without waiting in between.
 * @throws ConnectionLost if it may be committed; pg.DatabaseError if it certainly is not
 */
async function commit(connection: Connection, statements: readonly SqlStatement[]): Promise<void> {
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
  throw connection.destroy(
    connection.unreplicated
      ? "the commit did not wait for the standby"
      : `the commit failed: ${last.status === "rejected" ? last.reason.message : "it was rolled back"}`,
  );
}
