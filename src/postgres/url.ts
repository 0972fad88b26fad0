import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import { FxError } from "../core/errors.ts";
import { limits } from "../ledger/limits.ts";

/** Where a PostgreSQL ledger is, and how it is to be used: what a URL, its parameters and the defaults say. */
export interface PostgresPlace {
  readonly hosts: readonly PostgresHost[];
  /** Absent ones are taken from PGUSER, PGPASSWORD and PGDATABASE, as psql does. */
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly tls: false | "prefer" | ConnectionOptions;
  /** Whether a server that takes no writes, a standby, is passed over. */
  readonly mustWrite: boolean;
  /** Run-time parameters of the session, such as `statement_timeout`. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly connectTimeoutMs: number;
  /** The most connections that this process opens. */
  readonly poolSize: number;
  /** For how long a lost or contended database is tried again before the caller gets an error. */
  readonly deadlineMs: number;
  /** Whether transactions are SERIALIZABLE, not READ COMMITTED with row locks. */
  readonly serializable: boolean;
  /** Called once for each notice about the server. */
  readonly onNotice?: (notice: string) => void;
}

/** A host name or address, or the folder of a Unix socket. */
export interface PostgresHost {
  readonly host: string;
  readonly port: number;
}

const form = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;

/**
 * Reads `postgres://user:password@host:port,host:port/database?parameters`. Parameters of fx: `pool_size`, `deadline`
 * (seconds), `serializable`. Of libpq: `host` (a socket's folder), `connect_timeout` (seconds), `sslmode`,
 * `sslrootcert`, `sslcert`, `sslkey` and `target_session_attrs`, which is read-write unless it says any. Others, such
 * as `statement_timeout`, are set on the server for the session.
 * @throws FxError storage-unavailable, saying what is wrong and never repeating the URL
 */
export function parsePostgresUrl(url: string, env: NodeJS.ProcessEnv = process.env): PostgresPlace {
  const [matched, credentials = "", authority = "", database = "", query = ""] = form.exec(url) ?? [];
  if (matched === undefined) {
    throw invalidUrl("it is not of the form postgres://user:password@host:port/database");
  }
  const [user = "", password] = credentials.split(/:(.*)/s, 2);
  const parameters = Object.fromEntries(new URLSearchParams(query));
  const take = (name: string): string | undefined => {
    const value = parameters[name];
    delete parameters[name];
    return value;
  };
  if (parameters.idle_in_transaction_session_timeout !== undefined) {
    throw invalidUrl("it sets idle_in_transaction_session_timeout, on which the time of an order rests");
  }
  const hosts = take("host") ?? (authority === "" ? (env.PGHOST ?? "localhost") : authority);
  return {
    hosts: hosts.split(",").map((host) => parseHost(host, env.PGPORT ?? "5432")),
    user: decode(user),
    password: decode(password),
    database: decode(database),
    mustWrite: parseAttributes(take("target_session_attrs") ?? env.PGTARGETSESSIONATTRS ?? "read-write"),
    connectTimeoutMs:
      1000 * parseNumber("connect_timeout", take("connect_timeout") ?? String(limits.connectMs / 1000)),
    poolSize: parseNumber("pool_size", take("pool_size") ?? "10"),
    deadlineMs: 1000 * parseNumber("deadline", take("deadline") ?? String(limits.deadlineMs / 1000)),
    serializable: /^(true|on|1)$/.test(take("serializable") ?? "false"),
    tls: parseTls({
      mode: take("sslmode") ?? env.PGSSLMODE ?? "prefer",
      rootCertificate: take("sslrootcert") ?? env.PGSSLROOTCERT,
      certificate: take("sslcert") ?? env.PGSSLCERT,
      key: take("sslkey") ?? env.PGSSLKEY,
    }),
    parameters: {
      application_name: "fx",
      statement_timeout: String(limits.statementMs),
      lock_timeout: String(limits.lockMs),
      // A plan that was made while a table was small would scan it whole when it is large.
      enable_seqscan: "off",
      jit: "off",
      ...parameters,
      idle_in_transaction_session_timeout: String(limits.idleInTransactionMs),
    },
  };
}

function parseHost(text: string, defaultPort: string): PostgresHost {
  const [matched, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d+))?$/.exec(text) ?? [];
  if (matched === undefined) throw invalidUrl("a host in it is not of the form host:port");
  return { host: decode(bracketed ?? plain) ?? "", port: parseNumber("port", port ?? defaultPort) };
}

function parseAttributes(text: string): boolean {
  if (text === "any") return false;
  if (text === "read-write" || text === "primary") return true;
  throw invalidUrl("its target_session_attrs is none of read-write, primary and any: a ledger writes");
}

function parseTls(options: {
  mode: string;
  rootCertificate: string | undefined;
  certificate: string | undefined;
  key: string | undefined;
}): false | "prefer" | ConnectionOptions {
  const { mode } = options;
  if (mode === "disable") return false;
  if (mode === "allow" || mode === "prefer") return "prefer";
  if (mode !== "require" && mode !== "verify-ca" && mode !== "verify-full") {
    throw invalidUrl("its sslmode is none of disable, allow, prefer, require, verify-ca and verify-full");
  }
  const { rootCertificate, certificate, key } = options;
  const ca = rootCertificate === "system" ? undefined : rootCertificate;
  return {
    ...(ca === undefined ? {} : { ca: readCertificate("sslrootcert", ca) }),
    ...(certificate === undefined ? {} : { cert: readCertificate("sslcert", certificate) }),
    ...(key === undefined ? {} : { key: readCertificate("sslkey", key) }),
    // As libpq has it: `require` alone encrypts, and with a root certificate it is `verify-ca`.
    rejectUnauthorized: mode !== "require" || ca !== undefined,
    ...(mode === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
  };
}

function readCertificate(parameter: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    throw invalidUrl(`the file that its ${parameter} names cannot be read`);
  }
}

function parseNumber(what: string, text: string): number {
  const number = Number(text);
  if (/^\d{1,5}(\.\d+)?$/.test(text) && number > 0) return number;
  throw invalidUrl(`its ${what} is not a number above 0`);
}

function decode(text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidUrl("a % in it does not start a percent-encoded character");
  }
}

function invalidUrl(reason: string): FxError {
  return new FxError("storage-unavailable", `The database's URL cannot be used: ${reason}.`);
}
