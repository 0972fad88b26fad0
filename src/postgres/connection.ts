import { connect, type Socket } from "node:net";
import postgres from "postgres";
import type { PostgresHost, PostgresPlace } from "./url.ts";

/** What a statement takes, in the text form of its type: see `listText` for arrays. */
export type Parameter = string | number | null;

export type ListType = "bigint" | "text" | "uuid";

export type Row = Readonly<Record<string, unknown>>;

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

/** Advice on a pooler between fx and the database. */
export const poolerAdvice =
  "Set pool_mode = session there (docs/OPERATIONS.md, PgBouncer), or connect to PostgreSQL directly";

/** Not every database of this family has the last two. */
const serverSettings = `select ${["transaction_read_only", "synchronous_commit", "fsync", "full_page_writes"]
  .map((name) => `current_setting('${name}', true) as ${name}`)
  .join(", ")}`;

/** Enough for a batch: a write past this would make postgres.js wait for an answer before it sends the next one. */
const sendBufferBytes = 4 * 1024 * 1024;

/**
 * One connection to one server, for as long as that lasts. postgres.js speaks the protocol; its pool is not used: it
 * reconnects without saying so, so that what is left of a transaction could run outside of it, and it can end the process
 * or hang for ever when a connection is lost (porsager/postgres#1216, #1208, #1174). Statements are sent at once, in order,
 * without waiting for the answers to those before.
 */
export class Connection {
  /** The one of the place's hosts that it leads to. */
  readonly server: PostgresHost;
  readonly #settings: readonly string[];
  readonly #sql: postgres.Sql;
  readonly #pending = new Set<(reason: ConnectionLost) => void>();
  #socket: Socket | undefined;
  #lost: ConnectionLost | undefined;
  /** Whether the server has said that a commit did not wait for its standby, because someone cancelled the wait. */
  unreplicated = false;
  /** What commits wait for: `on`, or more where the server says so. */
  synchronousCommit = "on";

  private constructor(place: PostgresPlace, server: PostgresHost) {
    this.server = server;
    this.#settings = Object.keys(place.parameters).filter((name) => name !== "application_name");
    const { host, port } = server;
    const options = {
      host,
      port,
      max: 1,
      user: place.user,
      pass: place.password,
      database: place.database,
      ssl: tlsOf(place, host),
      connect_timeout: place.connectTimeoutMs / 1000,
      max_lifetime: null,
      fetch_types: false,
      connection: place.parameters,
      types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
      socket: async () => {
        if (this.#socket !== undefined) throw new Error("the connection was lost");
        this.#socket = await dial(host, port);
        if (this.#lost !== undefined) this.#socket.destroy();
        return this.#socket;
      },
      onnotice: (notice: postgres.Notice) => {
        if (notice.routine === "SyncRepWaitForLSN") this.unreplicated = true;
      },
      onclose: () => this.destroy("the connection was closed"),
    };
    this.#sql = postgres(options as unknown as postgres.Options<Record<string, postgres.PostgresType>>);
  }

  /**
   * @throws ConnectionLost
   */
  static async open(
    place: PostgresPlace,
    host: PostgresHost,
    withinMs = place.connectTimeoutMs,
  ): Promise<Connection> {
    const connection = new Connection(place, host);
    const timeoutMs = Math.min(place.connectTimeoutMs, withinMs);
    const timer = setTimeout(() => connection.destroy("it did not answer in time"), timeoutMs);
    try {
      const [found] = await connection.query(serverSettings);
      if (place.mustWrite && found?.transaction_read_only === "on") {
        throw new ConnectionLost("it is a standby, which takes no writes", { code: "25006" });
      }
      for (const notice of await connection.#keepCommitsSafe(found ?? {})) {
        place.onNotice?.(`${host.host}:${host.port}: ${notice}`);
      }
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Has commits wait for the disk, and for a synchronous standby where there is one, whatever the server and the URL
   * say. It is set even where it is so already, because the server may be reconfigured later.
   * @returns notices about the server's settings
   */
  async #keepCommitsSafe(found: Row): Promise<string[]> {
    const before = String(found.synchronous_commit);
    const wanted = before === "remote_apply" ? before : "on";
    this.synchronousCommit = wanted;
    await this.query(`set synchronous_commit = ${wanted}`);
    const [raised] = await this.query("show synchronous_commit");
    if (raised?.synchronous_commit !== wanted) {
      throw new ConnectionLost(
        `synchronous_commit stays ${raised?.synchronous_commit} although fx sets it to ${wanted} for its session, ` +
          `perhaps because of a pooler. ${poolerAdvice}`,
        { permanent: true },
      );
    }
    const unsafe = ["fsync", "full_page_writes"].filter((name) => found[name] === "off");
    return [
      ...(before === wanted
        ? []
        : [
            `synchronous_commit is ${before} there, with which a crash loses orders that were answered. ` +
              `fx sets it to ${wanted} for its own sessions.`,
          ]),
      ...unsafe.map(
        (name) =>
          `${name} is off there, with which a crash of the machine can lose orders that were answered, and damage the ` +
          "database. fx cannot change this: set it to on in postgresql.conf.",
      ),
    ];
  }

  get usable(): boolean {
    return this.#lost === undefined;
  }

  /** Why it is not usable any more. */
  get lost(): ConnectionLost | undefined {
    return this.#lost;
  }

  /**
   * Runs one statement. With parameters it is prepared once per connection.
   * @throws ConnectionLost, or postgres.PostgresError if the server refuses the statement
   */
  query(text: string, parameters: readonly Parameter[] = []): Promise<postgres.RowList<Row[]>> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    return new Promise((resolve, reject) => {
      this.#pending.add(reject);
      const prepare = parameters.length > 0;
      const query = this.#sql.unsafe<Row[]>(text, [...parameters], { prepare });
      // postgres.js sets this when it is about to repeat a statement that the server has forgotten: after the ROLLBACK of
      // the transaction that failed with it.
      Object.defineProperty(query, "retried", {
        set: (error) => this.destroy(lostBy(error, this.#settings)),
      });
      query.then(
        (rows) => {
          this.#pending.delete(reject);
          resolve(rows as postgres.RowList<Row[]>);
        },
        (error: unknown) => {
          this.#pending.delete(reject);
          if (isRefusal(error)) return reject(error);
          this.destroy(lostBy(error, this.#settings));
          reject(this.#lost);
        },
      );
    });
  }

  /** Ends the session with the server. Nothing may be under way. */
  async close(): Promise<void> {
    this.#lost ??= new ConnectionLost("the connection was ended");
    await this.#sql.end({ timeout: 1 });
  }

  /** Cuts it. What is under way fails as lost. */
  destroy(reason: ConnectionLost | string = "the connection was ended"): void {
    if (this.#lost !== undefined) return;
    this.#lost = typeof reason === "string" ? new ConnectionLost(reason) : reason;
    for (const reject of this.#pending) reject(this.#lost);
    this.#pending.clear();
    this.#socket?.destroy();
    // Also clears the timers of postgres.js.
    this.#sql.end({ timeout: 0 }).catch(() => {});
  }
}

/**
 * Values as one parameter, for `listOf`: a line each, which is less work at both ends than quoting them as elements of
 * an array. An empty line is a null.
 * @throws RangeError if a value is empty or has a line break
 */
export function listText(values: readonly Parameter[]): string {
  const isUnfit = (value: Parameter) => typeof value === "string" && (value === "" || value.includes("\n"));
  if (values.some(isUnfit)) throw new RangeError("a value in a list is empty or has a line break");
  return values.join("\n");
}

/** SQL for the array that `listText` made the parameter of this number from. */
export function listOf(number: number, type: ListType): string {
  const texts = `string_to_array($${number}::text, chr(10), '')`;
  return type === "text" ? texts : `${texts}::${type}[]`;
}

function tlsOf({ tls }: PostgresPlace, host: string): unknown {
  // As libpq has it, a Unix socket is never encrypted.
  if (host.startsWith("/") || tls === false) return false;
  // Without `host`, a certificate is checked against "localhost" where the server is named by an address.
  return tls === "prefer" ? tls : { ...tls, host, highWaterMark: sendBufferBytes };
}

function dial(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const options = { noDelay: true, writableHighWaterMark: sendBufferBytes };
    const socket: Socket = host.startsWith("/")
      ? connect({ ...options, path: `${host}/.s.PGSQL.${port}` })
      : connect({ ...options, host, port });
    socket.once("error", reject);
    // TLS takes the server's name from the socket.
    socket.once("connect", () => resolve(Object.assign(socket, { host })));
  });
}

/** Classes of SQLSTATE, and codes of Node's TLS, that a retry does not cure. */
const permanentCodes = /^(28|3D|42|22)...$|CERT|ERR_TLS|SIGNATURE/;

/** Whether the server refused the one statement, and the connection can go on: not if it has become a standby. */
function isRefusal(error: unknown): error is postgres.PostgresError {
  return error instanceof postgres.PostgresError && error.severity === "ERROR" && error.code !== "25006";
}

/** @param settings which the connection was to have */
function lostBy(error: unknown, settings: readonly string[]): ConnectionLost {
  const { message = String(error), code } = error as Partial<NodeJS.ErrnoException>;
  if (/unsupported startup parameter/.test(message)) {
    const reason =
      `a pooler refuses the settings of fx (${message}). ` +
      `Have it ignore them, ignore_startup_parameters = ${settings.join(",")}. ${poolerAdvice}`;
    return new ConnectionLost(reason, { permanent: true });
  }
  if (/before secure TLS/.test(message)) {
    return new ConnectionLost("it broke off when asked for TLS; has it ssl = on?", { code: "NO_TLS" });
  }
  return new ConnectionLost(message || String(code), { code, permanent: permanentCodes.test(String(code)) });
}
