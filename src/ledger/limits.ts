/**
 * Every limit of time of the engine, in milliseconds. docs/LEDGER.md and docs/OPERATIONS.md have those that a user meets,
 * with the same figures.
 */
export const limits = {
  /** An order that has waited in the queue for so long is refused as overloaded (OPERATIONS, Timeouts). */
  queueWaitMs: 10_000,
  /** What was at a time is settled after this, so a commit that would be later is given up (LEDGER, What was). */
  settledAfterMs: 10_000,
  /**
   * How far clocks may be apart: those of several machines, and one before and after it was set back. An entry is dated
   * no further ahead of the clock, and an audit compares times with this tolerance (LEDGER, What is promised).
   */
  clockToleranceMs: 5 * 60_000,
  /** How long a write waits for another process that holds SQLite's lock. */
  sqliteLockWaitMs: 5_000,
  /** How long the opening of a SQLite file waits for its lock. */
  sqliteOpenWaitMs: 5_000,
  /** URL `deadline`: how long a lost or contended PostgreSQL is tried again. One try has half of it. */
  deadlineMs: 10_000,
  /** URL `connect_timeout`: how long one host may take to answer. Never past the deadline. */
  connectMs: 3_000,
  /** URL `statement_timeout`: how long PostgreSQL works on one statement. */
  statementMs: 5_000,
  /** URL `lock_timeout`: how long PostgreSQL waits for one lock. */
  lockMs: 3_000,
  /**
   * After so long PostgreSQL ends a transaction of a process that the network cut off, and gives its locks to others. An
   * order settles at most so late at a replaced rate table, so no URL changes it (LEDGER, What is not promised).
   */
  idleInTransactionMs: 5_000,
  /** How long a readiness probe waits for PostgreSQL. */
  pingMs: 1_000,
  /** How long the closing of a store waits for work under way. */
  closeMs: 1_000,
} as const;
