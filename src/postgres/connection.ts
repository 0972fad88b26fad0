import { Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import pg from "pg";
import { limits } from "../ledger/limits.ts";
import type { PostgresHost, PostgresPlace } from "./url.ts";

/** A statement's parameter. An array of them is one parameter, too: an array of PostgreSQL. */
export type Parameter = string | number | null | readonly (string | number | null)[];

export type Row = Readonly<Record<string, unknown>>;

export interface Result {
  readonly rows: readonly Row[];
  /** What the server did: for COMMIT, it may have been ROLLBACK. */
  readonly command: string;
}

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

const serverSettings = `select ${[
  "transaction_read_only",
  "synchronous_commit",
  "fsync",
  "full_page_writes",
  "client_encoding",
]
  .map((name) => `current_setting('${name}') as ${name}`)
  .join(", ")}`;

/** Counts and PESELs, which are exact as numbers, and not text as pg gives them. */
const bigintOid = 20;
const types = {
  getTypeParser: (oid: number, format?: "text") =>
    oid === bigintOid ? Number : pg.types.getTypeParser(oid, format),
} as pg.CustomTypesConfig;

/**
 * One connection to one server, for as long as that lasts. Statements are sent at once, in order, without waiting for
 * the answers to those before. None is prepared under a name, and no setting outlasts its transaction: a pooler may run
 * each transaction in another session of the server.
 */
export class Connection {
  /** The one of the place's hosts that it leads to. */
  readonly server: PostgresHost;
  /** On the clock of `performance.now()`. The server's process grows with use, so it is closed then. */
  readonly retiresAtMs = performance.now() + (30 + 30 * Math.random()) * 60_000;
  readonly #settings: string;
  readonly #client: pg.Client;
  readonly #socket = new Socket();
  #lost: ConnectionLost | undefined;
  /** Whether the server has said that a commit did not wait for its standby, because someone cancelled the wait. */
  unreplicated = false;

  private constructor(place: PostgresPlace, server: PostgresHost, tls: false | ConnectionOptions) {
    this.server = server;
    this.#settings = transactionSettings(place);
    this.#client = new pg.Client({
      ...server,
      user: place.user,
      password: () => passwordOf(place),
      database: place.database,
      application_name: place.applicationName,
      ssl: tls,
      stream: () => this.#socket,
      pipeline: true,
      types,
    });
    this.#client.on("notice", ({ routine }) => {
      if (routine === "SyncRepWaitForLSN") this.unreplicated = true;
    });
    this.#client.on("error", (error) => this.destroy(lostBy(error)));
    this.#client.on("end", () => this.destroy("the connection was closed"));
  }

  /**
   * @throws ConnectionLost
   */
  static async open(
    place: PostgresPlace,
    host: PostgresHost,
    withinMs = place.connectTimeoutMs,
  ): Promise<Connection> {
    const end = performance.now() + Math.min(place.connectTimeoutMs, withinMs);
    // As libpq has it, a Unix socket is never encrypted.
    const tls = host.host.startsWith("/") ? false : place.tls;
    if (tls !== "prefer") return Connection.#open(place, host, { tls, end });
    try {
      return await Connection.#open(place, host, { tls: { rejectUnauthorized: false }, end });
    } catch (error) {
      if (!(error instanceof ConnectionLost && error.code === withoutTls)) throw error;
      return Connection.#open(place, host, { tls: false, end });
    }
  }

  static async #open(
    place: PostgresPlace,
    host: PostgresHost,
    { tls, end }: { tls: false | ConnectionOptions; end: number },
  ): Promise<Connection> {
    const connection = new Connection(place, host, tls);
    const timer = setTimeout(
      () => connection.destroy("it did not answer in time"),
      Math.max(0, end - performance.now()),
    );
    try {
      await connection.#client.connect();
      const { rows } = await connection.query(serverSettings);
      connection.#requireFit(place, rows[0] ?? {});
      return connection;
    } catch (error) {
      connection.destroy(error instanceof ConnectionLost ? error : lostBy(error));
      throw connection.#lost;
    } finally {
      clearTimeout(timer);
    }
  }

  #requireFit({ mustWrite, onNotice }: PostgresPlace, found: Row): void {
    if (mustWrite && found.transaction_read_only === "on") {
      throw new ConnectionLost("it is a standby, which takes no writes", { code: "25006" });
    }
    if (found.client_encoding !== "UTF8") {
      throw new ConnectionLost(
        `client_encoding is ${found.client_encoding} there. Set it to UTF8 for the role: alter role … set client_encoding`,
        { permanent: true },
      );
    }
    const { host, port } = this.server;
    for (const notice of noticesOf(found)) onNotice?.(`${host}:${port}: ${notice}`);
  }

  get usable(): boolean {
    return this.#lost === undefined;
  }

  /** Why it is not usable any more. */
  get lost(): ConnectionLost | undefined {
    return this.#lost;
  }

  /**
   * Runs one statement, or several without parameters.
   * @throws ConnectionLost, or pg.DatabaseError if the server refuses the statement
   */
  async query(text: string, parameters: readonly Parameter[] = []): Promise<Result> {
    if (this.#lost !== undefined) throw this.#lost;
    try {
      return await this.#client.query<Row>(text, [...parameters]);
    } catch (error) {
      if (isRefusal(error)) throw error;
      this.destroy(lostBy(error));
      throw this.#lost;
    }
  }

  /**
   * Begins a transaction with the settings of the place. Its commit waits for the disk, and for a synchronous standby
   * where there is one, whatever the server says.
   * @throws ConnectionLost if that cannot be set
   */
  async begin(mode: string): Promise<void> {
    const [, { rows }] = await Promise.all([this.query(`begin ${mode}`), this.query(this.#settings)]);
    const level = rows[0]?.synchronous_commit;
    if (level === "on" || level === "remote_apply") return;
    this.destroy(
      new ConnectionLost(`synchronous_commit stays ${level} although fx sets it to on`, { permanent: true }),
    );
    throw this.#lost;
  }

  /** Ends the session with the server. Nothing may be under way. */
  async close(): Promise<void> {
    this.#lost ??= new ConnectionLost("the connection was ended");
    const timer = setTimeout(() => this.#socket.destroy(), 1000);
    await this.#client.end();
    clearTimeout(timer);
  }

  /** Cuts it. What is under way fails as lost. */
  destroy(reason: ConnectionLost | string = "the connection was ended"): void {
    this.#lost ??= typeof reason === "string" ? new ConnectionLost(reason) : reason;
    this.#socket.destroy();
  }
}

/** Sets all of it until the end of the transaction, and reads back what was set. */
function transactionSettings({ statementTimeoutMs, lockTimeoutMs }: PostgresPlace): string {
  const durable =
    "case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end";
  return `select set_config('synchronous_commit', ${durable}, true) as synchronous_commit,
    set_config('client_min_messages', 'warning', true),
    set_config('statement_timeout', '${statementTimeoutMs}', true),
    set_config('lock_timeout', '${lockTimeoutMs}', true),
    set_config('idle_in_transaction_session_timeout', '${limits.idleInTransactionMs}', true),
    set_config('enable_seqscan', 'off', true)`;
}

function passwordOf({ password }: PostgresPlace): string {
  if (password !== undefined) return password;
  throw new ConnectionLost("it asks for a password, and neither the URL nor PGPASSWORD has one", {
    permanent: true,
  });
}

/** What an operator should know of the server's settings. */
function noticesOf({ synchronous_commit: level, ...found }: Row): string[] {
  const unsafe = ["fsync", "full_page_writes"].filter((name) => found[name] === "off");
  return [
    ...(level === "on" || level === "remote_apply"
      ? []
      : [
          `synchronous_commit is ${level} there, with which a crash loses orders that were answered. ` +
            "fx sets it to on for its own transactions.",
        ]),
    ...unsafe.map(
      (name) =>
        `${name} is off there, with which a crash of the machine can lose orders that were answered, and damage the ` +
        "database. fx cannot change this: set it to on in postgresql.conf.",
    ),
  ];
}

/** Classes of SQLSTATE, and codes of Node's TLS, that a retry does not cure. */
const permanentCodes = /^(28|3D|42|22)...$|CERT|ERR_TLS|SIGNATURE/;

/** SQLSTATEs after which the server closes the connection, or has become a standby. */
const endingCodes = /^(08...|57P..|25P03|25006)$/;

/** Whether the server refused the one statement, and the connection can go on. */
function isRefusal(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && !endingCodes.test(error.code ?? "");
}

function lostBy(error: unknown): ConnectionLost {
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
