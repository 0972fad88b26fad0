import { setTimeout as sleep } from "node:timers/promises";
import DataLoader from "dataloader";
import type { Entry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import type { RateTable } from "../core/rates.ts";
import { gather } from "./gather.ts";
import {
  type Connection,
  ConnectionLost,
  listText,
  type Parameter,
  type Row,
} from "./postgres-connection.ts";
import { isPassing, storageFailure } from "./postgres-failures.ts";
import { migratePostgres } from "./postgres-migrate.ts";
import { Pool } from "./postgres-pool.ts";
import {
  accountList,
  accountsByPesel,
  journalList,
  selectAccounts,
  Transaction,
} from "./postgres-transaction.ts";
import { type PostgresPlace, parsePostgresUrl } from "./postgres-url.ts";
import type { RateTableRow } from "./rows.ts";
import {
  type AccountRow,
  accountRow,
  decodeEntry,
  decodeTable,
  type JournalRow,
  journalRow,
  lastUpTo,
} from "./rows.ts";
import { migrations } from "./schema/postgres.ts";
import type { Decision, JournalPlace, Loaded, SealedEntry, Store, StoredAccount, Touch } from "./store.ts";

/** What may be said in place of the URL's parameters. */
export type PostgresOptions = Partial<
  Pick<PostgresPlace, "connectTimeoutMs" | "poolSize" | "deadlineMs" | "serializable" | "parameters">
>;

const pingTimeoutMs = 1000;
const accountsAtOnce = 256;

/**
 * Opens a ledger in a PostgreSQL database and brings its schema up to date. Any number of processes may work on one
 * database. See `parsePostgresUrl` for what a URL may say.
 * @throws FxError storage-unavailable, without the URL's password
 */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<PostgresStore> {
  const said = parsePostgresUrl(url);
  const place = { ...said, ...options, parameters: { ...said.parameters, ...options.parameters } };
  const store = new PostgresStore(place);
  try {
    await store.migrate();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** A lost or contended database is tried again until the deadline; only then does a method fail. */
export class PostgresStore implements Store {
  readonly schemaVersion = migrations.length;
  readonly #place: PostgresPlace;
  readonly #pool: Pool;
  readonly #savedTables = new Set<string>();
  /** Accounts that are asked for at once are read by one statement. */
  readonly #accounts = new DataLoader((pesels: readonly Pesel[]) => this.#accountsOf(pesels), {
    cache: false,
    batchScheduleFn: (read) => void gather(() => this.#asked, accountsAtOnce).then(read),
  });
  /** How many accounts the next statement will read. */
  #asked = 0;

  constructor(place: PostgresPlace) {
    this.#place = place;
    this.#pool = new Pool(place);
  }

  async migrate(): Promise<void> {
    await this.#persist(migratePostgres, { isPassing: (error) => isPassing(error) && !isAbsent(error) });
  }

  async transact<T>(touched: readonly Touch[], decide: (loaded: Loaded) => Decision<T>): Promise<T> {
    const { serializable } = this.#place;
    const transaction = new Transaction(touched, decide, { serializable, savedTables: this.#savedTables });
    return this.#persist((connection) => transaction.try(connection), {
      first: true,
      mayBeDone: () => transaction.mayBeDone,
    });
  }

  account(pesel: Pesel): Promise<StoredAccount | undefined> {
    this.#asked += 1;
    return this.#accounts.load(pesel);
  }

  async #accountsOf(pesels: readonly Pesel[]): Promise<(StoredAccount | undefined)[]> {
    this.#asked = 0;
    const rows = await this.#all(selectAccounts, listText(pesels));
    const found = accountsByPesel(rows);
    return pesels.map((pesel) => found.get(pesel));
  }

  async accounts({
    after = "",
    limit,
  }: {
    after?: string | undefined;
    limit: number;
  }): Promise<AccountRow[]> {
    const rows = await this.#all(
      `select ${accountList} from account where pesel > $1 order by pesel limit $2`,
      lastUpTo(after),
      limit,
    );
    return rows.map(accountRow);
  }

  async statement(
    pesel: Pesel,
    { before, limit }: { before?: Entry | undefined; limit: number },
  ): Promise<SealedEntry[]> {
    const rows = await this.#all(
      `select ${journalList} from journal where pesel = $1 and sequence < $2 order by sequence desc limit $3`,
      Number(pesel),
      before?.sequence ?? Number.MAX_SAFE_INTEGER,
      limit,
    );
    return rows.map((row) => decodeEntry(row as unknown as JournalRow));
  }

  async journal(page: {
    after?: JournalPlace | undefined;
    through?: string;
    limit: number;
  }): Promise<JournalRow[]> {
    const { after = { pesel: "", sequence: 0 }, through = "~", limit } = page;
    const rows = await this.#all(
      `select ${journalList} from journal where (pesel, sequence) > ($1, $2) and pesel <= $3 ` +
        "order by pesel, sequence limit $4",
      lastUpTo(after.pesel),
      after.sequence,
      lastUpTo(through),
      limit,
    );
    return rows.map(journalRow);
  }

  async entry(id: string): Promise<SealedEntry | undefined> {
    if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(id)) return undefined;
    const [row] = await this.#all(`select ${journalList} from journal where id = $1`, id);
    return row && decodeEntry(row as unknown as JournalRow);
  }

  async entryCount(): Promise<number> {
    // As many as there are sequence numbers: the accounts are fewer to read.
    const [row] = await this.#all("select coalesce(sum(sequence), 0)::bigint as entries from account");
    return Number(row?.entries);
  }

  async saveTables(tables: readonly RateTable[]): Promise<void> {
    await this.transact([], () => ({ writes: { accounts: [], entries: [], tables }, answer: undefined }));
  }

  async tables({ since = "", last = 1_000_000 }: { since?: string; last?: number }): Promise<RateTable[]> {
    const rows = await this.#all(
      "select number, trading_date, effective_date, rates from rate_table where effective_date >= $1 " +
        "order by effective_date desc, number desc limit $2",
      since,
      last,
    );
    return rows.map((row) => decodeTable(row as unknown as RateTableRow)).reverse();
  }

  async table(number: string): Promise<RateTable | undefined> {
    const [row] = await this.#all(
      "select number, trading_date, effective_date, rates from rate_table where number = $1",
      number,
    );
    return row && decodeTable(row as unknown as RateTableRow);
  }

  async ping(): Promise<void> {
    const deadline = performance.now() + pingTimeoutMs;
    try {
      await this.#pool.use({ deadline, first: true }, (connection) =>
        connection.query("select 1 from fx_schema"),
      );
    } catch (error) {
      throw storageFailure(error, this.#place, "nothing changed");
    }
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  #all(sql: string, ...parameters: Parameter[]): Promise<readonly Row[]> {
    return this.#persist((connection) => connection.query(sql, parameters));
  }

  /** Does `work` again, with growing, jittered pauses, for as long as that may help and the deadline allows. */
  async #persist<T>(
    work: (connection: Connection) => Promise<T>,
    options: { first?: boolean; isPassing?: (error: unknown) => boolean; mayBeDone?: () => boolean } = {},
  ): Promise<T> {
    const { deadlineMs } = this.#place;
    const end = performance.now() + deadlineMs;
    for (let tries = 1; ; tries += 1) {
      try {
        // One that hangs gets half of the time, so that there is some left for another.
        const deadline = Math.min(end, performance.now() + deadlineMs / 2);
        return await this.#pool.use({ deadline, first: options.first ?? false }, work);
      } catch (error) {
        const pauseMs = Math.random() * Math.min(1000, 5 * 2 ** tries);
        if ((options.isPassing ?? isPassing)(error) && performance.now() + pauseMs < end) {
          await sleep(pauseMs);
          continue;
        }
        throw storageFailure(error, this.#place, options.mayBeDone?.() ? "unknown" : "nothing changed");
      }
    }
  }
}

/** Whether nothing fit answers there, which who opens a store wants to know at once. */
function isAbsent(error: unknown): boolean {
  return (
    error instanceof ConnectionLost &&
    /^(ECONNREFUSED|ENOTFOUND|ENOENT|EACCES|NO_TLS)$/.test(error.code ?? "")
  );
}
