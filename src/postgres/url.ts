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
  readonly applicationName: string;
  /** How long the server works on one statement of a transaction, and how long it waits for one lock. */
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** The most connections that this process opens. */
  readonly poolSize: number;
  /** For how long a lost or contended database is tried again before the caller gets an error. */
  readonly deadlineMs: number;
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
 * (seconds). Of libpq: `host` (a socket's folder), `connect_timeout` (seconds), `application_name`, `sslmode`,
 * `sslrootcert`, `sslcert`, `sslkey` and `target_session_attrs`, which is read-write unless it says any. Of the server:
 * `statement_timeout` and `lock_timeout` (milliseconds), which fx sets in each of its transactions.
 * @throws FxError storage-unavailable, saying what is wrong and never repeating the URL
 */
export function parsePostgresUrl(url: string, env: NodeJS.ProcessEnv = process.env): PostgresPlace {
  const [matched, credentials = "", authority = "", database = "", query = ""] = form.exec(url) ?? [];
  if (matched === undefined) {
    throw invalidUrl("it is not of the form postgres://user:password@host:port/database");
  }
  const [user = "", password] = credentials.split(/:(.*)/s, 2);
  const said = new Map(new URLSearchParams(query));
  const known: string[] = [];
  const take = (name: string): string | undefined => {
    const value = said.get(name);
    said.delete(name);
    known.push(name);
    return value;
  };
  // Whole ones: PostgreSQL rounds, and 0 would be no limit.
  const milliseconds = (name: string, defaultMs: number) =>
    Math.ceil(parseNumber(name, take(name) ?? `${defaultMs}`));
  const seconds = (name: string, defaultMs: number) =>
    1000 * parseNumber(name, take(name) ?? `${defaultMs / 1000}`);
  const hosts = take("host") ?? (authority === "" ? (env.PGHOST ?? "localhost") : authority);
  const place = {
    hosts: hosts.split(",").map((host) => parseHost(host, env.PGPORT ?? "5432")),
    user: decode(user),
    password: decode(password) ?? env.PGPASSWORD,
    database: decode(database),
    mustWrite: parseAttributes(take("target_session_attrs") ?? env.PGTARGETSESSIONATTRS ?? "read-write"),
    applicationName: take("application_name") ?? "fx",
    statementTimeoutMs: milliseconds("statement_timeout", limits.statementMs),
    lockTimeoutMs: milliseconds("lock_timeout", limits.lockMs),
    connectTimeoutMs: seconds("connect_timeout", limits.connectMs),
    poolSize: Math.ceil(parseNumber("pool_size", take("pool_size") ?? "10")),
    deadlineMs: seconds("deadline", limits.deadlineMs),
    tls: parseTls(take("sslmode") ?? env.PGSSLMODE ?? "prefer", {
      sslrootcert: take("sslrootcert") ?? env.PGSSLROOTCERT,
      sslcert: take("sslcert") ?? env.PGSSLCERT,
      sslkey: take("sslkey") ?? env.PGSSLKEY,
    }),
  };
  if (said.size > 0) {
    throw invalidUrl(
      `it has a parameter that is none of ${known.join(", ")}. Set others for the role (alter role … set …)`,
    );
  }
  return place;
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

function parseTls(
  mode: string,
  files: Readonly<Record<"sslrootcert" | "sslcert" | "sslkey", string | undefined>>,
): PostgresPlace["tls"] {
  if (mode === "disable") return false;
  if (mode === "allow" || mode === "prefer") return "prefer";
  if (mode !== "require" && mode !== "verify-ca" && mode !== "verify-full") {
    throw invalidUrl("its sslmode is none of disable, allow, prefer, require, verify-ca and verify-full");
  }
  const { sslrootcert, sslcert, sslkey } = files;
  const isSystem = sslrootcert === "system";
  // Any public authority gives anybody a certificate for some name, so the name counts, too.
  if (mode !== "verify-full" && (isSystem || (mode === "verify-ca" && sslrootcert === undefined))) {
    throw invalidUrl(`its sslmode ${mode} takes a file of certificates as sslrootcert. Or use verify-full`);
  }
  return {
    ...(sslrootcert === undefined || isSystem ? {} : { ca: readCertificate("sslrootcert", sslrootcert) }),
    ...(sslcert === undefined ? {} : { cert: readCertificate("sslcert", sslcert) }),
    ...(sslkey === undefined ? {} : { key: readCertificate("sslkey", sslkey) }),
    // As libpq has it: `require` alone encrypts, and with a root certificate it is `verify-ca`.
    rejectUnauthorized: mode !== "require" || sslrootcert !== undefined,
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
