import { FxError } from "../core/errors.ts";
import { DamagedLedger } from "../ledger/damage.ts";

/** A store that cannot be worked with. */
export function unusable(message: string, cause?: unknown): FxError {
  return new FxError("storage-unavailable", message, { cause });
}

/** SQLite's primary result code where another connection holds the lock. */
export const busyCode = 5;

/** Pages that do not fit together, and rows that an index refuses: with what fx writes, only a changed ledger has them. */
const damagedCodes: readonly number[] = [11, 19];

/** What went wrong, by SQLite's primary result code (https://sqlite.org/rescode.html). */
const reasons: Readonly<Record<number, string>> = {
  8: "it is read-only",
  10: "reading or writing it failed",
  11: "it is damaged; restore it from a backup",
  13: "the disk is full, or a ledger in memory has reached 1 GiB",
  14: "it cannot be opened",
  26: "it is not a SQLite database; name another file",
};

/** A failure of SQLite as an FxError that says why; any other error as it is. */
export function storageFailure(error: unknown, what: string): unknown {
  if (error instanceof FxError || !(error instanceof Error)) return error;
  const { errcode, code } = error as { errcode?: number; code?: string };
  // The binding gives none where a row of several cannot be read.
  if (errcode === undefined && code === "ERR_SQLITE_ERROR") {
    return unusable(`The store failed: ${what}: ${error.message}.`, error);
  }
  if (errcode === undefined) return error;
  if ((errcode & 0xff) === busyCode) {
    return new FxError(
      "overloaded",
      `Another process holds ${what} locked. Nothing was begun. Try again in a moment.`,
      { retryAfterSeconds: 1, cause: error },
    );
  }
  const reason = reasons[errcode & 0xff] ?? error.message;
  return unusable(`The store failed: ${what}: ${reason}.`, error);
}

/** The same for what a ledger that is open was asked for. Damage is told from failures that pass. */
export function ledgerFailure(error: unknown): unknown {
  const { errcode = 0, message } = error as Error & { errcode?: number };
  if (damagedCodes.includes(errcode & 0xff)) return new DamagedLedger(`SQLite says: ${message}`, error);
  return storageFailure(error, "the database");
}
