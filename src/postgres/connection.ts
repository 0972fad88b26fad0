import { Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import pg from "pg";
import { limits } from "../ledger/limits.ts";
import {
  columnsOf,
  type GivenTable,
  type SqlParameter,
  type SqlRow,
  type SqlStatement,
  valuesOf,
} from "../sql/statements.ts";
import { ConnectionLost, isRefusal, lostBy, withoutTls } from "./failures.ts";
import type { PostgresHost, PostgresPlace } from "./url.ts";

export interface Result {
  readonly rows: readonly SqlRow[];
  /** The command that the server carried out: for COMMIT, it may be ROLLBACK. */
  readonly command: string;
}

/** Each column of the given rows is a parameter. */
export const givenAsLists: GivenTable = (columns, rows) => {
  const all = columnsOf(columns);
  const lists = all.map(([, type], index) => `?${index + 1}::${type}[]`);
  const names = all.map(([name]) => name);
  const table = `unnest(${lists.join(", ")}) as given (${names.join(", ")})`;
  return [table, names.map((name) => valuesOf(rows, name))];
};

/** The rows that a statement finds; none without one. */
export async function rowsOf(
  connection: Connection,
  statement: SqlStatement | undefined,
): Promise<readonly SqlRow[]> {
  if (statement === undefined) return [];
  return (await connection.query(...statement)).rows;
}

const serverSettings = `select ${["transaction_read_only", "synchronous_commit", "fsync", "full_page_writes"]
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
  /** The host that it is connected to. */
  readonly server: PostgresHost;
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
      // The network may cut off a connection without a word, and a load balancer an idle one: it is lost after this
      // silence and ten probes of Node's, one a second. By itself, the system would wait for two hours.
      keepAlive: true,
      keepAliveInitialDelayMillis: limits.cutOffMs / 2,
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
      throw connection.destroy(lostBy(error));
    } finally {
      clearTimeout(timer);
    }
  }

  #requireFit({ mustWrite, onNotice }: PostgresPlace, found: SqlRow): void {
    if (mustWrite && found.transaction_read_only === "on") {
      const reason = "it takes no writes: it is a standby, or default_transaction_read_only is on there";
      throw new ConnectionLost(reason, { code: "25006" });
    }
    const { host, port } = this.server;
    for (const notice of noticesOf(found)) onNotice?.(`${host}:${port}: ${notice}`);
  }

  get usable(): boolean {
    return this.#lost === undefined;
  }

  /**
   * Runs one statement, whose parameters are ?1, ?2 and so on, or several without parameters.
   * @throws ConnectionLost, or pg.DatabaseError if the server refuses the statement
   */
  async query(text: string, parameters: readonly SqlParameter[] = []): Promise<Result> {
    if (this.#lost !== undefined) throw this.#lost;
    try {
      return await this.#client.query<SqlRow>(text.replaceAll("?", "$"), [...parameters]);
    } catch (error) {
      if (isRefusal(error)) throw error;
      throw this.destroy(lostBy(error));
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
    throw this.destroy(
      new ConnectionLost(`synchronous_commit stays ${level} although fx sets it to on`, { permanent: true }),
    );
  }

  /**
   * Closes the connection at once. Statements under way fail as lost.
   * @returns why it is lost
   */
  destroy(reason: ConnectionLost | string = "the connection was ended"): ConnectionLost {
    this.#lost ??= typeof reason === "string" ? new ConnectionLost(reason) : reason;
    this.#socket.destroy();
    return this.#lost;
  }
}

/** Seconds of silence before the first keep-alive probe. As many probes are sent, one a second. */
const halfOfCutOff = limits.cutOffMs / 2000;

/**
 * Sets all of it until the end of the transaction, and reads back what was set. Tables are found by their indexes, also
 * before PostgreSQL has statistics of them. Where a small one is scanned all the same, that counts as so dear that the
 * statement would be compiled first, which takes longer than an order.
 */
function transactionSettings({ statementTimeoutMs, lockTimeoutMs, deadlineMs }: PostgresPlace): string {
  // The lock times out before the statement and the try do, to leave time for a try without the locked account.
  const lockMs = Math.ceil(Math.min(lockTimeoutMs, (2 / 3) * statementTimeoutMs, deadlineMs / 3));
  const durable =
    "case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end";
  return `select set_config('synchronous_commit', ${durable}, true) as synchronous_commit,
    set_config('client_min_messages', 'warning', true),
    set_config('statement_timeout', '${statementTimeoutMs}', true),
    set_config('lock_timeout', '${lockMs}', true),
    set_config('idle_in_transaction_session_timeout', '${limits.idleInTransactionMs}', true),
    set_config('tcp_keepalives_idle', '${halfOfCutOff}', true),
    set_config('tcp_keepalives_interval', '1', true),
    set_config('tcp_keepalives_count', '${halfOfCutOff}', true),
    set_config('enable_seqscan', 'off', true),
    set_config('jit', 'off', true)`;
}

function passwordOf({ password }: PostgresPlace): string {
  if (password !== undefined) return password;
  throw new ConnectionLost("it asks for a password, and neither the URL nor PGPASSWORD has one", {
    permanent: true,
  });
}

/** Warnings about the server's settings, for an operator. */
function noticesOf({ synchronous_commit: level, ...found }: SqlRow): string[] {
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
