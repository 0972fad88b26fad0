import { setTimeout as sleep } from "node:timers/promises";
import DataLoader from "dataloader";
import type { Pesel } from "../core/pesel.ts";
import { limits } from "../ledger/limits.ts";
import type {
  Access,
  Decision,
  LedgerView,
  Lookup,
  OpenOptions,
  Store,
  StoredAccount,
} from "../ledger/store.ts";
import { decodeAccount } from "../sql/found.ts";
import { SqlReader } from "../sql/reader.ts";
import type { SqlRow, SqlStatement } from "../sql/statements.ts";
import { accountsOf } from "../sql/view.ts";
import { type Connection, givenAsLists, rowsOf } from "./connection.ts";
import { ConnectionLost, isAbsent, isRetryable, isTaken, storageFailure } from "./failures.ts";
import { Pool } from "./pool.ts";
import { prepareLedger } from "./prepare.ts";
import { load, readOnly, Transaction } from "./transaction.ts";
import { type PostgresPlace, parsePostgresUrl } from "./url.ts";

/** Settings that replace the URL's parameters. */
export type PostgresOptions = Partial<
  Pick<PostgresPlace, "connectTimeoutMs" | "poolSize" | "deadlineMs" | "statementTimeoutMs" | "lockTimeoutMs">
>;

const accountsAtOnce = 40;

/**
 * Opens a ledger in a PostgreSQL database. Any number of processes may work on one database.
 * @param url see `parsePostgresUrl`
 * @throws FxError storage-unavailable, without the URL's password
 */
export async function openPostgres(
  url: string,
  { access = "create", onNotice: tell, ...options }: PostgresOptions & OpenOptions = {},
): Promise<PostgresStore> {
  const parsed = parsePostgresUrl(url);
  const reported = new Set<string>();
  const onNotice = (notice: string): void => {
    if (!reported.has(notice)) tell?.(notice);
    reported.add(notice);
  };
  const place = { ...parsed, ...options, onNotice };
  const store = new PostgresStore(place);
  try {
    await store.prepare(access);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** A lost or contended database is tried again until the deadline; only then does a method fail. */
export class PostgresStore extends SqlReader implements Store {
  readonly #place: PostgresPlace;
  readonly #pool: Pool;
  /** Accounts that are asked for in one turn of the event loop are read together, which takes a tenth of the work. */
  readonly #accounts = new DataLoader((pesels: readonly Pesel[]) => this.#readAccounts(pesels), {
    cache: false,
    maxBatchSize: accountsAtOnce,
    batchScheduleFn: (read) => setImmediate(read),
  });

  constructor(place: PostgresPlace) {
    super();
    this.#place = place;
    this.#pool = new Pool(place);
  }

  async prepare(access: Access): Promise<void> {
    const passing = {
      isRetryable: (error: unknown) => (isRetryable(error) || isTaken(error)) && !isAbsent(error),
    };
    await this.#persist((connection) => prepareLedger(connection, access), passing);
  }

  async transact<T>(lookups: readonly Lookup[], decide: (view: LedgerView) => Decision<T>): Promise<T> {
    const limitMs = Math.min(this.#place.deadlineMs, limits.settledAfterMs);
    const transaction = new Transaction(lookups, decide, limitMs);
    return this.#persist((connection) => transaction.try(connection), {
      isRetryable: (error) => isRetryable(error) || transaction.isRace(error),
      mayBeDone: () => transaction.mayBeDone,
    });
  }

  read<T>(lookups: readonly Lookup[], use: (view: LedgerView) => T): Promise<T> {
    return this.#persist(async (connection) =>
      use(await readOnly(connection, () => load(connection, lookups))),
    );
  }

  account(pesel: Pesel): Promise<StoredAccount | undefined> {
    return this.#accounts.load(pesel);
  }

  async ping(): Promise<void> {
    const deadline = performance.now() + limits.pingMs;
    try {
      await this.#pool.use(deadline, (connection) => connection.query("select 1 from fx_schema"));
    } catch (error) {
      throw storageFailure(error, this.#place, "nothing changed");
    }
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  protected select(statement: SqlStatement, how?: "patient" | "by index"): Promise<readonly SqlRow[]> {
    const read = (connection: Connection) => rowsOf(connection, statement);
    if (how === "by index")
      return this.#persist((connection) => readOnly(connection, () => read(connection)));
    return this.#persist(read, how === "patient" ? { tryMs: limits.longReadMs } : {});
  }

  /** Takes the first row from these values on, in their order, which is that of the index. */
  protected byIndex(_: string, one: string, own: string, isIndexed: string): string {
    return `where (${one}) >= (${own}) and ${isIndexed} order by ${one} limit 1`;
  }

  async #readAccounts(pesels: readonly Pesel[]): Promise<(StoredAccount | undefined | Error)[]> {
    const rows = await this.#persist((connection) => rowsOf(connection, accountsOf(givenAsLists, pesels)));
    const found = new Map(rows.map((row) => [Number(row.pesel), row]));
    return pesels.map((pesel) => decodedOrError(() => decodeAccount(found.get(Number(pesel)) as SqlRow)));
  }

  /**
   * Does `work` again, with growing, jittered pauses, for as long as that may help and the deadline allows. One try may
   * take `tryMs`, also past the deadline.
   */
  async #persist<T>(
    work: (connection: Connection) => Promise<T>,
    options: {
      tryMs?: number;
      isRetryable?: (error: unknown) => boolean;
      mayBeDone?: () => boolean;
    } = {},
  ): Promise<T> {
    const { deadlineMs } = this.#place;
    const end = performance.now() + deadlineMs;
    let failure: unknown;
    for (let tries = 1; ; tries += 1) {
      try {
        // One that hangs gets half of the time, so that there is some left for another.
        const { tryMs = Math.min(end - performance.now(), deadlineMs / 2) } = options;
        const deadline = performance.now() + tryMs;
        return await this.#pool.use(deadline, work);
      } catch (error) {
        // A connection that the deadline cut does not know what was wrong, but the try before it may. A race is no fault.
        // Timers count whole milliseconds.
        const isCut = error instanceof ConnectionLost && performance.now() + 1 >= end;
        failure = isCut && isRetryable(failure) ? failure : error;
        const pauseMs = Math.random() * Math.min(1000, 5 * 2 ** tries);
        if ((options.isRetryable ?? isRetryable)(error) && performance.now() + pauseMs < end) {
          await sleep(pauseMs);
          continue;
        }
        throw storageFailure(failure, this.#place, options.mayBeDone?.() ? "unknown" : "nothing changed");
      }
    }
  }
}

/** Returns an error instead of throwing it: DataLoader then rejects only the request with that result. */
function decodedOrError<T>(decode: () => T): T | Error {
  try {
    return decode();
  } catch (error) {
    return error as Error;
  }
}
