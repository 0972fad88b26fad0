import pg from "pg";
import { FxError } from "../core/errors.ts";
import { DamagedLedger } from "../ledger/rows.ts";
import type { PostgresPlace } from "./url.ts";

/** A connection that failed. What was sent over it and not answered may or may not have been done. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
  /** The SQLSTATE or the system's error code. */
  readonly code: string | undefined;
  /** Whether another attempt would fail just so: a wrong password, no such database. */
  readonly permanent: boolean;

  constructor(message: string, { code, permanent = false }: { code?: unknown; permanent?: boolean } = {}) {
    super(message);
    this.code = typeof code === "string" ? code : undefined;
    this.permanent = permanent;
  }
}

/** The code of a `ConnectionLost` whose server has no TLS. */
export const withoutTls = "NO_TLS";

/** Classes of SQLSTATE, and codes of Node's TLS, that a retry does not cure. */
const permanentCodes = /^(28|3D|42|22)...$|CERT|ERR_TLS|SIGNATURE/;

/** SQLSTATEs after which the server closes the connection, or has become a standby. */
const endingCodes = /^(08...|57P..|25P03|25006)$/;

/**
 * SQLSTATEs after which the same work may well succeed: conflicts with others (class 40), a lock or a statement that took
 * too long, no resources, a server that stops or is a standby now.
 */
const passingCodes = /^(40...|55P03|57...|53...|25006)$/;

/**
 * Data that does not fit its type (22), or breaks a constraint (23): with what fx writes, only a changed ledger does.
 * Blocks and indexes that are damaged (XX001, XX002).
 */
const damagedCodes = /^(2[23]|XX00[12])/;

/** A key of an index, or the name of a table or a type. */
const takenCodes = /^(23505|42P07|42710)$/;

const statementCompletionUnknown = "40003";

/** Whether the server refused the one statement, and the connection can go on. */
export function isRefusal(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && !endingCodes.test(error.code ?? "");
}

/** Any failure but a refused statement, after which the connection is lost. */
export function lostBy(error: unknown): ConnectionLost {
  if (error instanceof ConnectionLost) return error;
  const { message = String(error), code } = error as Partial<NodeJS.ErrnoException>;
  if (/does not support SSL/.test(message)) {
    return new ConnectionLost("it has no TLS, which sslmode asks for. Set ssl = on there", {
      code: withoutTls,
    });
  }
  if (/statement pooling mode/.test(message)) {
    return new ConnectionLost(
      "a pooler in statement mode stands in between, where no transaction can be begun. " +
        "Set pool_mode = transaction there, or session",
      { permanent: true },
    );
  }
  return new ConnectionLost(message || String(code), { code, permanent: permanentCodes.test(String(code)) });
}

/** Whether the work that failed so may succeed if it is done again from the start. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof ConnectionLost) return !error.permanent;
  return error instanceof pg.DatabaseError && passingCodes.test(error.code ?? "");
}

/** Whether another transaction has just taken the same key, or made a table of the same name. */
export function isTaken(error: unknown): boolean {
  return error instanceof pg.DatabaseError && takenCodes.test(error.code ?? "");
}

/** Whether a lock was waited for until `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === "55P03";
}

/** Whether no usable server answers there. The opening of a store then fails at once, without another try. */
export function isAbsent(error: unknown): boolean {
  return (
    error instanceof ConnectionLost &&
    ["ECONNREFUSED", "ENOTFOUND", "ENOENT", "EACCES", withoutTls].includes(error.code ?? "")
  );
}

/** Whether the server says for certain that the transaction whose COMMIT failed so was not committed. */
export function isRolledBack(error: unknown): boolean {
  return (
    error instanceof pg.DatabaseError &&
    /^(40|23)/.test(error.code ?? "") &&
    error.code !== statementCompletionUnknown
  );
}

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
  if (!(error instanceof ConnectionLost || error instanceof pg.DatabaseError)) return error;
  const at = hosts.map(({ host, port }) => `${host}:${port}`).join(", ");
  const { code = "", message } = error;
  if (outcome === "nothing changed" && damagedCodes.test(code)) {
    // Without the message, which quotes data.
    return new DamagedLedger(`PostgreSQL refused what was asked of it (${code})`);
  }
  const reason =
    code === "ECONNREFUSED" || code === "ENOENT"
      ? `nothing answers at ${at}`
      : error instanceof ConnectionLost
        ? message
        : `${at}: ${message}`;
  const advice =
    outcome === "unknown"
      ? "It went away while orders were being written, so whether they were done is not known. Sending them again " +
        "with the same keys is safe."
      : (hints[code] ?? "Nothing was changed.");
  return new FxError("storage-unavailable", `The database failed: ${reason}. ${advice}`, {
    ...(isRetryable(error) ? { retryAfterSeconds: 1 } : {}),
  });
}
