import { connect, type Socket } from "node:net";
import postgres from "postgres";
import type { PostgresHost, PostgresPlace } from "./postgres-url.ts";

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

/** Enough for a batch: a write past this would make postgres.js wait for an answer before it sends the next one. */
const sendBufferBytes = 4 * 1024 * 1024;

/**
 * One connection to one server, for as long as that lasts. postgres.js speaks the protocol; its pool is not used: it
 * connects anew in silence, so that what is left of a transaction could run outside of it, and it can end the process
 * or hang for ever when a connection is lost (porsager/postgres#1216, #1208, #1174). Statements are sent at once, in order,
 * without waiting for the answers to those before.
 */
export class Connection {
  readonly #sql: postgres.Sql;
  readonly #pending = new Set<(reason: ConnectionLost) => void>();
  #socket: Socket | undefined;
  #lost: ConnectionLost | undefined;
  /** Whether the server has told that a commit did not wait for its standby, because someone cancelled the wait. */
  unreplicated = false;

  private constructor(place: PostgresPlace, { host, port }: PostgresHost) {
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
  static async open(place: PostgresPlace, host: PostgresHost): Promise<Connection> {
    const connection = new Connection(place, host);
    const timer = setTimeout(() => connection.destroy("it did not answer in time"), place.connectTimeoutMs);
    try {
      const [row] = await connection.query("show transaction_read_only");
      if (!place.mustWrite || row?.transaction_read_only !== "on") return connection;
      throw new ConnectionLost("it is a standby, which takes no writes", { code: "25006" });
    } catch (error) {
      connection.destroy();
      throw error;
    } finally {
      clearTimeout(timer);
    }
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
      this.#sql.unsafe<Row[]>(text, [...parameters], { prepare }).then(
        (rows) => {
          this.#pending.delete(reject);
          resolve(rows as postgres.RowList<Row[]>);
        },
        (error: unknown) => {
          this.#pending.delete(reject);
          if (isRefusal(error)) return reject(error);
          this.destroy(lostBy(error));
          reject(this.#lost);
        },
      );
    });
  }

  /** Takes leave of the server. Nothing may be under way. */
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

/** Classes of SQLSTATE, and codes of Node's TLS, that trying again does not mend. */
const permanentCodes = /^(28|3D|42|22)...$|CERT|ERR_TLS|SIGNATURE/;

/** Whether the server refused the one statement, and the connection can go on: not if it has become a standby. */
function isRefusal(error: unknown): error is postgres.PostgresError {
  return error instanceof postgres.PostgresError && error.severity === "ERROR" && error.code !== "25006";
}

function lostBy(error: unknown): ConnectionLost {
  const { message = String(error), code } = error as Partial<NodeJS.ErrnoException>;
  if (/before secure TLS/.test(message)) {
    return new ConnectionLost("it broke off when asked for TLS; has it ssl = on?", { code: "NO_TLS" });
  }
  return new ConnectionLost(message || String(code), { code, permanent: permanentCodes.test(String(code)) });
}
