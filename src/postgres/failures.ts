import pg from "pg";
import { FxError } from "../core/errors.ts";
import { DamagedLedger } from "../ledger/damage.ts";
import { ConnectionLost } from "./connection.ts";
import type { PostgresPlace } from "./url.ts";

/**
 * SQLSTATEs after which the same work may well succeed: conflicts with others (class 40), a lock or a statement that took
 * too long, no resources, a server that stops or is a standby now.
 */
const passing = /^(40...|55P03|57...|53...|25006)$/;

/** Another process opened an account between two statements of a transaction. */
export class Raced extends Error {
  override readonly message = "other processes kept opening the same accounts";
  readonly code = undefined;
}

/** Whether the work that failed so may succeed if it is done again from the start. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof Raced) return true;
  if (error instanceof ConnectionLost) return !error.permanent;
  return error instanceof pg.DatabaseError && passing.test(error.code ?? "");
}

/** Whether another transaction has just taken the same key, or made a table of the same name. */
export function isTaken(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(23505|42P07|42710)$/.test(error.code ?? "");
}

/**
 * Data that does not fit its type (22), or breaks a constraint (23): with what fx writes, only a changed ledger does.
 * Blocks and indexes that are damaged (XX001, XX002).
 */
const damaged = /^(2[23]|XX00[12])/;

/** Whether the server says for certain that the transaction whose COMMIT failed so was not committed. */
export function isRolledBack(error: unknown): boolean {
  return (
    error instanceof pg.DatabaseError &&
    /^(40|23)/.test(error.code ?? "") &&
    error.code !== statementCompletionUnknown
  );
}

const statementCompletionUnknown = "40003";

const hints: Readonly<Record<string, string>> = {
  "28P01": "Check the user and the password.",
  "28000": "Check the user, and the server's pg_hba.conf.",
  "3D000": "Create it, or name another.",
  "42501": "Grant the user what it takes to create and use tables.",
};

/** The error for the caller. Without its cause: PostgreSQL puts PESELs into the details of errors. */
export function storageFailure(
  error: unknown,
  { hosts }: PostgresPlace,
  outcome: "nothing changed" | "unknown",
): unknown {
  if (error instanceof FxError) return error;
  if (!(error instanceof ConnectionLost || error instanceof Raced || error instanceof pg.DatabaseError)) {
    return error;
  }
  const at = hosts.map(({ host, port }) => `${host}:${port}`).join(", ");
  const { code, message } = error;
  const reason =
    code === "ECONNREFUSED" || code === "ENOENT"
      ? `nothing answers at ${at}`
      : error instanceof ConnectionLost
        ? message
        : `${at}: ${message}`;
  if (outcome === "nothing changed" && damaged.test(code ?? "")) {
    return new DamagedLedger(`PostgreSQL refused what was asked of it (${code}: ${message})`);
  }
  const advice =
    outcome === "unknown"
      ? "It went away while orders were being written, so whether they were done is not known. Sending them again " +
        "with the same keys is safe."
      : (hints[code ?? ""] ?? "Nothing was changed.");
  return new FxError("storage-unavailable", `The database failed: ${reason}. ${advice}`, {
    ...(isRetryable(error) ? { retryAfterSeconds: 1 } : {}),
  });
}
