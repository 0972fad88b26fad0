import { constants } from "node:os";
import { FxError } from "../core/errors.ts";
import { DamagedLedger } from "../ledger/rows.ts";

/** A store that cannot be worked with. */
export function unusable(message: string, cause?: unknown): FxError {
  return new FxError("storage-unavailable", message, { cause });
}

/** SQLite's primary result codes (https://sqlite.org/rescode.html). */
export const resultCodes = { busy: 5, readOnly: 8, corrupt: 11, cannotOpen: 14, constraint: 19 } as const;

/** SQLite's messages for its result codes. Where several rows are read, the binding gives the message alone. */
const codesByMessage: ReadonlyMap<string, number> = new Map([
  ["database is locked", resultCodes.busy],
  ["disk I/O error", 10],
  ["database disk image is malformed", resultCodes.corrupt],
  ["database or disk is full", 13],
  ["unable to open database file", resultCodes.cannotOpen],
]);

const { EFBIG, EDQUOT } = constants.errno;

interface SqliteError extends Error {
  readonly errcode?: number;
  /** The error of the system below it. */
  readonly systemErrno?: number;
}

/** SQLite's primary result code; undefined for what did not fail in SQLite, or where the binding does not tell. */
export function resultCodeOf(error: unknown): number | undefined {
  const { errcode, message } = error as SqliteError;
  return errcode === undefined ? codesByMessage.get(message) : errcode & 0xff;
}

const reasons: Readonly<Record<number, string>> = {
  [resultCodes.readOnly]: "it is read-only",
  10: "reading or writing it failed",
  [resultCodes.corrupt]: "it is damaged; restore it from a backup",
  13: "the disk is full, or a ledger in memory has reached 1 GiB",
  [resultCodes.cannotOpen]: "it cannot be opened",
  26: "it is not a SQLite database; name another file",
};

/** Why SQLite could not write, synchronize or remove a file; undefined for any other failure. */
export function writeFailureOf(error: unknown): string | undefined {
  if (resultCodeOf(error) === 13) return "no space left on device";
  const { errcode = 0, systemErrno = 0, message } = error as SqliteError;
  if ([EFBIG, EDQUOT].includes(systemErrno)) return "a limit of file sizes or a quota is reached";
  // SQLITE_IOERR_WRITE, _FSYNC, _DIR_FSYNC, _TRUNCATE and _DELETE
  return [778, 1034, 1290, 1546, 2570].includes(errcode) ? message : undefined;
}

/** A failure of SQLite as an FxError that says why; any other error as it is. */
export function storageFailure(error: unknown, what: string): unknown {
  if (error instanceof FxError || !(error instanceof Error)) return error;
  const code = resultCodeOf(error);
  // The binding gives no code where one of several rows cannot be read.
  if (code === undefined && (error as NodeJS.ErrnoException).code !== "ERR_SQLITE_ERROR") return error;
  if (code === resultCodes.busy) {
    return new FxError(
      "overloaded",
      `Another process holds ${what} locked. Nothing was begun. Try again in a moment.`,
      { retryAfterSeconds: 1, cause: error },
    );
  }
  return unusable(`The store failed: ${what}: ${reasons[code ?? 0] ?? error.message}.`, error);
}

/**
 * The same for a ledger that is open. Pages that do not fit together, rows that an index refuses, and
 * text that is no JSON are damage: with what fx writes, only a changed ledger has them.
 */
export function ledgerFailure(error: unknown): unknown {
  const code = resultCodeOf(error);
  const isDamage = code === resultCodes.corrupt || code === resultCodes.constraint;
  if (isDamage || (error as Error).message === "malformed JSON") {
    return new DamagedLedger(`SQLite says: ${(error as Error).message}`, error);
  }
  return storageFailure(error, "the database");
}
