import { setTimeout as sleep } from "node:timers/promises";
import type { Entry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import type { RateTable, TableInForce } from "../core/rates.ts";
import type { IdRange } from "../ledger/entry-id.ts";
import { limits } from "../ledger/limits.ts";
import {
  accountRow,
  decodeAccount,
  decodeEntry,
  decodeIdentityKey,
  foundEntry,
  journalRow,
  keptRow,
  peselText,
  rangeOf,
  requireChain,
} from "../ledger/rows.ts";
import type {
  Access,
  AccountRow,
  AccountSpan,
  AccountsPage,
  Decision,
  FoundEntry,
  JournalPage,
  JournalRow,
  KeptRows,
  ListedAccountRow,
  Loaded,
  OpenOptions,
  SealedEntry,
  Store,
  StoredAccount,
  Touch,
} from "../ledger/store.ts";
import { SqlReader, type SqlRow, type SqlValue } from "../sql/reader.ts";
import { pageRows, selectStrayWords } from "./audited.ts";
import { type Connection, ConnectionLost, listText, type Parameter, type Row } from "./connection.ts";
import { isRetryable, isTaken, storageFailure } from "./failures.ts";
import { Pool } from "./pool.ts";
import { refusePooler } from "./pooler.ts";
import { prepareLedger } from "./prepare.ts";
import { type KnownTables, readInForce } from "./rate-tables.ts";
import { readTogether } from "./read-together.ts";
import { schemaVersion } from "./schema.ts";
import { pageAccounts, selectAccounts, selectFound, spanOfAccounts } from "./statements.ts";
import { saveTables, Transaction } from "./transaction.ts";
import { type PostgresPlace, parsePostgresUrl } from "./url.ts";

/** What may be said in place of the URL's parameters. */
export type PostgresOptions = Partial<
  Pick<PostgresPlace, "connectTimeoutMs" | "poolSize" | "deadlineMs" | "serializable" | "parameters">
>;

const pagesCounted = 128;
/** All entries of a small journal; of a larger one those on its first pages, as if the others were as full. */
export const countEntries =
  `select round(count(*) * greatest(1, pg_relation_size('journal') / (${pagesCounted}.0 * ` +
  `current_setting('block_size')::integer))) as entries from journal where ctid < '(${pagesCounted},0)'`;
const leastId = "00000000-0000-0000-0000-000000000000";
const greatestId = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/**
 * Opens a ledger in a PostgreSQL database. Any number of processes may work on one database. See `parsePostgresUrl` for what a URL may say.
 * @throws FxError storage-unavailable, without the URL's password
 */
export async function openPostgres(
  url: string,
  { access = "create", onNotice: tell, ...options }: PostgresOptions & OpenOptions = {},
): Promise<PostgresStore> {
  const said = parsePostgresUrl(url);
  const told = new Set<string>();
  const onNotice = (notice: string): void => {
    if (!told.has(notice)) tell?.(notice);
    told.add(notice);
  };
  const parameters = { ...said.parameters, ...options.parameters };
  const place = { ...said, ...options, parameters, onNotice };
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
  readonly schemaVersion = schemaVersion;
  /** While the database works on one, fx decides another. Reads keep a connection, where there is more than one. */
  readonly transactionsAtOnce: number;
  readonly commitsWithinMs: number;
  readonly #place: PostgresPlace;
  readonly #pool: Pool;
  readonly #tables: KnownTables = { byId: new Map<string, RateTable>(), inForce: undefined };
  readonly #account = readTogether(async (pesels: readonly Pesel[]) => {
    const rows = await this.#all(selectAccounts, listText(pesels));
    const found = new Map(rows.map(accountRow).map((row) => [row.pesel, row]));
    return pesels.map((pesel) => decodedOrError(() => decodeAccount(found.get(pesel) as AccountRow)));
  });

  constructor(place: PostgresPlace) {
    super();
    this.#place = place;
    this.#pool = new Pool(place);
    this.commitsWithinMs = place.deadlineMs;
    this.transactionsAtOnce = Math.max(1, Math.min(3, Math.ceil(place.poolSize) - 1));
  }

  async prepare(access: Access): Promise<void> {
    const passing = {
      isRetryable: (error: unknown) => (isRetryable(error) || isTaken(error)) && !isAbsent(error),
    };
    await this.#persist((connection) => refusePooler(connection, this.#place), passing);
    await this.#persist((connection) => prepareLedger(connection, access), passing);
  }

  async transact<T>(touched: readonly Touch[], decide: (loaded: Loaded) => Decision<T>): Promise<T> {
    const { serializable } = this.#place;
    const transaction = new Transaction(touched, decide, { serializable, tables: this.#tables });
    return this.#persist((connection) => transaction.try(connection), {
      first: true,
      isRetryable: (error) => isRetryable(error) || transaction.isRace(error),
      mayBeDone: () => transaction.mayBeDone,
    });
  }

  look<T>(touched: readonly Touch[], see: (loaded: Loaded) => T): Promise<T> {
    return this.#persist((connection) => Transaction.look(connection, touched, see, this.#tables));
  }

  account(pesel: Pesel): Promise<StoredAccount | undefined> {
    return this.#account(pesel);
  }

  async accounts({ after, limit, name = [] }: AccountsPage): Promise<ListedAccountRow[]> {
    const rows = await this.#all(pageAccounts(name.length), Number(after ?? -1), limit, ...name);
    return rows.map(accountRow);
  }

  async accountSpan({ after, limit }: Parameters<Store["accountSpan"]>[0]): Promise<AccountSpan> {
    const [row] = await this.#all(spanOfAccounts, Number(after ?? -1), limit);
    const { count = 0, through = null } = row ?? {};
    return { count: Number(count), through: through === null ? undefined : peselText(Number(through)) };
  }

  async statement(
    pesel: Pesel,
    { before, limit }: { before?: Entry | undefined; limit: number },
  ): Promise<readonly FoundEntry[]> {
    const rows = await this.#all(
      `${selectFound} where journal.pesel = $1 and journal.sequence < $2 order by journal.sequence desc limit $3`,
      Number(pesel),
      before?.sequence ?? Number.MAX_SAFE_INTEGER,
      limit,
    );
    return requireChain(rows.map(foundEntry), { before, limit });
  }

  async journal({ place, limit, ...range }: Parameters<Store["journal"]>[0]): Promise<JournalPage> {
    const [after, through] = rangeOf(range);
    const [pesel = after, sequence = Number.MAX_SAFE_INTEGER] = place ?? [];
    const found = await this.#all(
      "select pesel, sequence, entry, hash from journal where (pesel, sequence) > ($1, $2) and pesel <= $3 " +
        "order by pesel, sequence limit $4",
      pesel,
      sequence,
      through,
      limit,
    );
    const rows = found.map(journalRow);
    const last = rows.at(-1);
    const isLast = last === undefined || rows.length < limit;
    return { rows, next: isLast ? undefined : [Number(last.pesel), last.sequence] };
  }

  async entries({
    after = leastId,
    through = greatestId,
    limit,
  }: {
    after?: string | undefined;
    through?: string | undefined;
    limit: number;
  }): Promise<SealedEntry[]> {
    const rows = await this.#all(
      "select entry, hash from journal where id > $1 and id <= $2 order by id limit $3",
      after,
      through,
      limit,
    );
    return rows.map((row) => decodeEntry(row as unknown as JournalRow));
  }

  async entriesBefore({
    before = greatestId,
    limit,
  }: Parameters<Store["entriesBefore"]>[0]): Promise<SealedEntry[]> {
    const page = "select entry, hash from journal where id < $1 order by id desc limit $2";
    const rows = await this.#all(page, before, limit);
    return rows.map((row) => decodeEntry(row as unknown as JournalRow));
  }

  async newestEntry(): Promise<string | undefined> {
    const [row] = await this.#all("select id from journal order by id desc limit 1");
    return row && String(row.id);
  }

  async entry(id: string): Promise<FoundEntry | undefined> {
    if (!isUuid(id)) return undefined;
    const [row] = await this.#all(`${selectFound} where journal.id = $1`, id);
    return row && foundEntry(row);
  }

  async entriesIn({ first, last }: IdRange, limit: number): Promise<FoundEntry[]> {
    const rows = await this.#all(
      `${selectFound} where journal.id between $1 and $2 limit $3`,
      first,
      last,
      limit,
    );
    return rows.map(foundEntry);
  }

  async entryWithKey(pesel: Pesel, key: string): Promise<FoundEntry | undefined> {
    const [row] = await this.#all(
      `${selectFound} where journal.pesel = $1 and journal.idempotency_key = $2`,
      Number(pesel),
      key,
    );
    return row && foundEntry(row);
  }

  async rows<Name extends keyof KeptRows>(
    name: Name,
    { after, limit }: { after?: string | number | undefined; limit: number },
  ): Promise<KeptRows[Name][]> {
    const place = after === undefined ? [] : [after];
    const rows = await this.#all(pageRows(name, place.length > 0), limit, ...place);
    return rows.map((row) => keptRow(row as unknown as KeptRows[Name]));
  }

  async strayWords(range: Parameters<Store["strayWords"]>[0]): Promise<string[]> {
    const rows = await this.#all(selectStrayWords, ...rangeOf(range));
    return rows.map(({ pesel }) => peselText(Number(pesel)));
  }

  async entryCount(): Promise<number> {
    const rows = await this.#persist((connection) =>
      connection.query(countEntries).catch((error: unknown): readonly Row[] => {
        // Not every database of this family knows of pages.
        if (error instanceof ConnectionLost) throw error;
        return [];
      }),
    );
    return Number(rows[0]?.entries ?? 0);
  }

  async identityKey(): Promise<string> {
    const [row] = await this.#all("select * from identity_key");
    return decodeIdentityKey(row);
  }

  inForce(): Promise<TableInForce | undefined> {
    return this.#persist((connection) => readInForce(connection, this.#tables));
  }

  async saveTables(tables: readonly RateTable[]): Promise<void> {
    await this.#persist((connection) => saveTables(connection, tables));
  }

  async ping(): Promise<void> {
    const deadline = performance.now() + limits.pingMs;
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

  protected select(sql: string, ...parameters: SqlValue[]): Promise<readonly SqlRow[]> {
    return this.#all(sql.replaceAll("?", "$"), ...parameters);
  }

  #all(sql: string, ...parameters: Parameter[]): Promise<readonly Row[]> {
    return this.#persist((connection) => connection.query(sql, parameters));
  }

  /** Does `work` again, with growing, jittered pauses, for as long as that may help and the deadline allows. */
  async #persist<T>(
    work: (connection: Connection) => Promise<T>,
    options: {
      first?: boolean;
      isRetryable?: (error: unknown) => boolean;
      mayBeDone?: () => boolean;
    } = {},
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
        if ((options.isRetryable ?? isRetryable)(error) && performance.now() + pauseMs < end) {
          await sleep(pauseMs);
          continue;
        }
        throw storageFailure(error, this.#place, options.mayBeDone?.() ? "unknown" : "nothing changed");
      }
    }
  }
}

/** For DataLoader, which rejects only the request whose result is an error. */
function decodedOrError<T>(decode: () => T): T | Error {
  try {
    return decode();
  } catch (error) {
    return error as Error;
  }
}

/** What PostgreSQL takes for the type, without an error. */
function isUuid(text: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(text);
}

/** Whether nothing fit answers there, which who opens a store wants to know at once. */
function isAbsent(error: unknown): boolean {
  return (
    error instanceof ConnectionLost &&
    /^(ECONNREFUSED|ENOTFOUND|ENOENT|EACCES|NO_TLS)$/.test(error.code ?? "")
  );
}
