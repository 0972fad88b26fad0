import { FxError } from "../core/errors.ts";
import { isEntryId } from "../ledger/ids.ts";
import { CommitDeadline, possiblyDone } from "../ledger/limits.ts";
import { encodeAcceptance } from "../ledger/rows.ts";
import type { Decision, LedgerView, Lookup } from "../ledger/store.ts";
import type { GivenTable, SqlRow, SqlStatement } from "../sql/statements.ts";
import { accountsOf, keyedOf, refusalsOf, reversedOf, tableInForce, viewOf } from "../sql/view.ts";
import { epochOf, writesOf } from "../sql/writes.ts";
import { type Connection, givenAsLists, rowsOf } from "./connection.ts";
import { ConnectionLost, isLockTimeout, isRolledBack, isTaken } from "./failures.ts";

const readCommitted = "isolation level read committed";
/** Entries by their ids, and epochs by their numbers. */
const findWritten =
  "select id::text as name, hash from journal where id = any(?1::uuid[]) " +
  "union all select epoch::text, hash from accepted_table where epoch::text = any(?2::text[])";
/** Locks in the order of PESELs, so that no two processes wait for each other. */
const lockAccounts = "select pesel from account where pesel = any(?1::bigint[]) order by pesel for update";
/** Has transactions that change the table in force, and no account, wait for each other. The first epoch is never changed. */
const lockEpochs = "select from accepted_table where epoch = 1 for no key update";
/** Makes the commit wait for a standby even if nothing else is written: the answer may rest on data that none has yet. */
const writeLock: SqlStatement = ["select from fx_schema for key share", []];
/**
 * Is held until the commit, so that positions in the journal rise in the order of commits. It is the last lock, taken by
 * the statement that has the entries, when that has arrived whole: who holds it waits neither for others nor for fx.
 * Without the row to lock, the division by 0 fails the statement.
 */
const journalLock =
  "(select 1 / count(*) as held from (select from fx_schema for no key update) as locked) as journal_lock";

const givenUnderLock: GivenTable = (columns, rows) => {
  const [entries, parameters] = givenAsLists(columns, rows);
  return [`${journalLock} join ${entries} on held = 1`, parameters];
};

/** Does `work` in a transaction, which is committed unless it fails. */
export async function inTransaction(connection: Connection, work: () => Promise<unknown>): Promise<void> {
  await orRollBack(connection, async () => {
    await connection.begin(readCommitted);
    await work();
    await commit(connection, []);
  });
}

/** Reads as of one moment, with the settings of transactions and without locks. */
export function readOnly<T>(connection: Connection, read: () => Promise<T>): Promise<T> {
  return orRollBack(connection, async () => {
    const [, found] = await Promise.all([
      connection.begin("isolation level repeatable read, read only"),
      read(),
    ]);
    await connection.query("commit");
    return found;
  });
}

/**
 * Reads in statements of their own, which see what was committed while locks were waited for. An account that another
 * process opens meanwhile is not locked. Accounts are read before keys, so an opening that is seen has its key seen.
 */
export async function load(connection: Connection, lookups: readonly Lookup[]): Promise<LedgerView> {
  const pesels = lookups.map(({ pesel }) => pesel);
  const find = (statement: SqlStatement | undefined) => rowsOf(connection, statement);
  const [accounts, keyed, refusals, reversed, inForce] = await Promise.all([
    find(accountsOf(givenAsLists, pesels)),
    find(keyedOf(givenAsLists, lookups)),
    find(refusalsOf(givenAsLists, lookups)),
    find(reversedOf(givenAsLists, lookups)),
    find(tableInForce),
  ]);
  return viewOf({ accounts, keyed, refusals, reversed, inForce });
}

/** A decision whose COMMIT was sent and not answered. */
interface Unanswered<T> {
  /**
   * The hashes of its entries, by id, and of its epoch, by number. They tell what it wrote from what another try, or
   * another process, wrote under the same names.
   */
  readonly hashes: ReadonlyMap<string, string>;
  readonly answer: T;
  readonly deadline: CommitDeadline;
}

/** Tries after a conflict with another process that opened one of the accounts, or put the first rate table in force. */
const racesAtMost = 2;

/**
 * One `transact`, tried until it is known to be committed. Two round trips: one loads and locks, one writes and commits.
 *
 * After a lost COMMIT the next try looks for its entries, or for the epoch that it began. By then it cannot be
 * committed any more behind our back: its accounts or the epochs are locked, so it has ended; or an account or the first
 * epoch is new, and then the one of two tries that commits last fails on its key.
 */
export class Transaction<T> {
  readonly #lookups: readonly Lookup[];
  readonly #decide: (view: LedgerView) => Decision<T>;
  readonly #limitMs: number;
  readonly #unanswered: Unanswered<T>[] = [];
  #races = 0;
  /** Somebody else holds an account locked: it fails its own requests, and not those beside them. */
  #skipsLocked = false;

  /** @param limitMs how long after its decision it may be answered as done */
  constructor(lookups: readonly Lookup[], decide: (view: LedgerView) => Decision<T>, limitMs: number) {
    this.#lookups = lookups;
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
  async try(connection: Connection): Promise<T> {
    return orRollBack(connection, () => this.#try(connection));
  }

  async #try(connection: Connection): Promise<T> {
    // A decision whose COMMIT was lost may still hold its locks.
    const skipsLocked = this.#skipsLocked && !this.mayBeDone;
    const pesels = [...new Set(this.#lookups.map(({ pesel }) => pesel))];
    const names = this.#unanswered.flatMap(({ hashes }) => [...hashes.keys()]);
    const ids = names.filter(isEntryId);
    const [, locked, view, written] = await Promise.all([
      connection.begin(readCommitted),
      rowsOf(
        connection,
        pesels.length === 0
          ? [lockEpochs, []]
          : [skipsLocked ? `${lockAccounts} skip locked` : lockAccounts, [pesels]],
      ),
      load(connection, this.#lookups),
      rowsOf(connection, names.length === 0 ? undefined : [findWritten, [ids, names]]),
    ]).catch((error) => {
      this.#skipsLocked ||= isLockTimeout(error);
      throw error;
    });
    const done = this.#unanswered.find(({ hashes }) =>
      written.some(({ name, hash }) => hashes.get(String(name)) === hash),
    );
    if (done === undefined) return this.#carryOut(connection, skipsLocked ? lockedView(view, locked) : view);
    await commit(connection, [writeLock]);
    done.deadline.require(possiblyDone);
    return done.answer;
  }

  async #carryOut(connection: Connection, view: LedgerView): Promise<T> {
    const deadline = new CommitDeadline(this.#limitMs);
    const { writes, answer } = this.#decide(view);
    const epoch = epochOf(writes, view);
    const statements = writesOf(givenAsLists, writes, epoch, givenUnderLock);
    deadline.require(this.mayBeDone ? possiblyDone : "Nothing was changed.");
    try {
      await commit(connection, statements.length === 0 ? [writeLock] : statements);
    } catch (error) {
      const hashes = new Map(writes.entries.map(({ entry, hash }) => [entry.id, hash]));
      if (writes.accepted) hashes.set(String(epoch), encodeAcceptance(epoch, writes.accepted).hash);
      if (hashes.size > 0 && error instanceof ConnectionLost) {
        this.#unanswered.push({ hashes, answer, deadline });
      }
      throw error;
    }
    deadline.require(possiblyDone);
    return answer;
  }
}

/** Refuses an account that somebody else keeps locked. One without entries has no row to lock. */
function lockedView(view: LedgerView, locked: readonly SqlRow[]): LedgerView {
  const pesels = new Set(locked.map(({ pesel }) => pesel));
  return {
    ...view,
    account: (pesel) => {
      const account = view.account(pesel);
      if (account === undefined || account.sequence === 0 || pesels.has(Number(pesel))) return account;
      throw new FxError(
        "storage-unavailable",
        "Another session of the database holds the account locked. Nothing was changed. Try again in a moment.",
        { retryAfterSeconds: 1 },
      );
    },
  };
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
