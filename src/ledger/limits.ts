import { FxError } from "../core/errors.ts";

/**
 * Every limit of time of the engine, in milliseconds. docs/LEDGER.md and docs/OPERATIONS.md have those that a user meets,
 * with the same figures.
 */
export const limits = {
  /** An order that has waited in the queue for so long is refused as overloaded (OPERATIONS, Timeouts). */
  queueWaitMs: 10_000,
  /** The age from which a past time can be read, so a commit that would be later is abandoned (LEDGER, What was). */
  settledAfterMs: 10_000,
  /**
   * How far clocks may be apart: those of several machines, and one before and after it was set back. An entry is dated
   * no further ahead of the clock, and an audit compares times with this tolerance (LEDGER, What is promised).
   */
  clockToleranceMs: 5 * 60_000,
  /** How long a write, or the opening of a file, waits for another process that holds SQLite's lock. */
  sqliteLockWaitMs: 5_000,
  /** URL `deadline`: how long a lost or contended PostgreSQL is tried again. One try has half of it. */
  deadlineMs: 10_000,
  /** How long one try may take of a statement that goes through all accounts, or a day's entries. */
  longReadMs: 10 * 60_000,
  /** URL `connect_timeout`: how long one host may take to answer. Never past the deadline. */
  connectMs: 3_000,
  /** URL `statement_timeout`: how long PostgreSQL works on one statement. */
  statementMs: 5_000,
  /** URL `lock_timeout`: how long PostgreSQL waits for one lock. */
  lockMs: 3_000,
  /**
   * PostgreSQL's idle_in_transaction_session_timeout, after which a silent process loses its transaction and locks. It also
   * bounds how late an order settles at a replaced rate table, so no URL changes it (LEDGER, What is not promised).
   */
  idleInTransactionMs: 5_000,
  /**
   * The same for a process that the network cut off in the middle of a statement, which does not count as idle.
   */
  cutOffMs: 10_000,
  /** How long a readiness probe waits for PostgreSQL. */
  pingMs: 1_000,
  /** How long the closing of a store waits for work under way. */
  closeMs: 1_000,
} as const;

/** The advice about a COMMIT that was sent, or answered, after its deadline. */
export const possiblyDone = "Orders may have been done: sending them again with the same keys is safe.";

/**
 * The time by which a transaction has to be committed, from before its entries get their times. What was at a time
 * would change if one were answered as done later than that.
 */
export class CommitDeadline {
  readonly #limitMs: number;
  readonly #started = performance.now();
  readonly #startedAt = Date.now();

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** @throws FxError storage-unavailable, with this outcome, if it has passed */
  require(outcome: string): void {
    // While the machine sleeps, the monotonic clock may stand still.
    const elapsedMs = Math.max(performance.now() - this.#started, Date.now() - this.#startedAt);
    if (elapsedMs <= this.#limitMs) return;
    throw new FxError(
      "storage-unavailable",
      `The process or its disk stood still for ${Math.round(elapsedMs / 1000)} s, so the entries would be committed too long after their times. ${outcome}`,
    );
  }
}
