import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import type { Entry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import type { RateTable, TableInForce } from "../core/rates.ts";
import { CommitDeadline } from "../ledger/commit-deadline.ts";
import { entryId, type IdRange } from "../ledger/entry-id.ts";
import { limits } from "../ledger/limits.ts";
import {
  accountRow,
  decodeAccount,
  decodeEntry,
  decodeIdentityKey,
  foundEntry,
  requireChain,
} from "../ledger/rows.ts";
import type {
  AccountRow,
  AccountsPage,
  Decision,
  FoundEntry,
  IdentityKeyRow,
  JournalRow,
  ListedAccountRow,
  Loaded,
  SealedEntry,
  Store,
  StoredAccount,
  Touch,
  Writes,
} from "../ledger/store.ts";
import { SqlReader, type SqlRow, type SqlValue } from "../sql/reader.ts";
import { AccountCache } from "./account-cache.ts";
import { keptRows, type SelectRows, strayWords } from "./audited.ts";
import { storageFailure, unusable } from "./failures.ts";
import { accountSpan, journalPage, type Select } from "./journal-pages.ts";
import { Keys } from "./keys.ts";
import { selectPage, writeWords } from "./name-words.ts";
import { type OpenDatabase, openDatabase, pragma, type SqliteOptions, tuningFor } from "./open.ts";
import { RateTables } from "./rate-tables.ts";
import { schemaVersion } from "./schema.ts";
import {
  appendEntry,
  insertAccount,
  pageEntries,
  pageEntriesBack,
  pageStatement,
  renameAccount,
  selectAccount,
  selectFound,
  updateAccount,
} from "./statements.ts";
import { whenUnlocked } from "./write-lock.ts";

/** No id is greater. */
const greatestId = "g";

/**
 * Opens a ledger in a SQLite file, or in memory for ":memory:". Several processes may have one file open.
 * @throws FxError storage-unavailable if the file is not a whole ledger of this version of fx
 */
export function openSqlite(path: string, options: SqliteOptions = {}): SqliteStore {
  return new SqliteStore(openDatabase(path, options), options);
}

export class SqliteStore extends SqlReader implements Store {
  readonly schemaVersion = schemaVersion;
  readonly transactionsAtOnce = 1;
  /** From the decision to the commit is one turn of the event loop, in which the process or the disk may stand still. */
  readonly commitsWithinMs: number;
  readonly #opened: OpenDatabase;
  readonly #database: DatabaseSyncInstance;
  readonly #accounts: AccountCache;
  readonly #select: Select = (sql, ...parameters) => this.#arrays(sql, ...parameters);
  readonly #selectRows: SelectRows = (sql, ...parameters) => this.#all(sql, ...parameters);
  readonly #statements = new Map<string, StatementSyncInstance>();
  readonly #keys = new Keys((sql) => this.#statement(sql));
  readonly #tables = new RateTables((sql) => this.#statement(sql));
  #tuning = tuningFor(0);
  readonly #lockWaitMs: number;
  readonly accountSpan: Store["accountSpan"] = async (page) => accountSpan(this.#select, page);
  readonly rows: Store["rows"] = async (name, page) => keptRows(this.#selectRows, name, page);
  readonly strayWords: Store["strayWords"] = async (range) => strayWords(this.#selectRows, range);
  readonly journal: Store["journal"] = async (page) =>
    journalPage(this.#select, page, () => this.#lastPosition());

  constructor(
    opened: OpenDatabase,
    { lockWaitMs = limits.sqliteLockWaitMs, commitsWithinMs = limits.settledAfterMs }: SqliteOptions = {},
  ) {
    super();
    this.#lockWaitMs = lockWaitMs;
    this.commitsWithinMs = commitsWithinMs;
    this.#opened = opened;
    this.#database = opened.database;
    this.#accounts = new AccountCache(
      () => {
        opened.requireFile();
        return pragma(this.#statement("pragma data_version"));
      },
      () => this.#tables.forget(),
    );
  }

  async transact<T>(touched: readonly Touch[], decide: (loaded: Loaded) => Decision<T>): Promise<T> {
    const answer = await this.#whenUnlocked(() => this.#try(touched, decide));
    this.#opened.requireFile();
    return answer;
  }

  #try<T>(touched: readonly Touch[], decide: (loaded: Loaded) => Decision<T>): T {
    this.#tuneFor(touched.length);
    const deadline = new CommitDeadline(this.commitsWithinMs);
    const { answer, next, accounts } = this.#inTransaction(() => {
      this.#accounts.refresh();
      const loaded = new Map<Pesel, StoredAccount | undefined>();
      const { writes, answer } = decide({
        inForce: () => this.#guard(() => this.#tables.inForce()),
        account: (pesel) => {
          const account = this.#account(pesel);
          loaded.set(pesel, account);
          return account;
        },
        answered: (pesel, key) => this.#guard(() => this.#keys.answered(pesel, key)),
        entry: (id) => this.#guard(() => this.#entry(id)),
        nextId: entryId,
      });
      this.#write(writes, (pesel) => loaded.get(pesel) === undefined);
      if (writes.refusals !== undefined) this.#keys.keep(writes.refusals);
      const next = writes.accepted && {
        epoch: (this.#tables.inForce()?.epoch ?? 0) + 1,
        table: writes.accepted.table,
      };
      if (next !== undefined && writes.accepted !== undefined)
        this.#tables.accept(next.epoch, writes.accepted);
      deadline.require("Nothing was changed.");
      return { answer, next, accounts: writes.accounts };
    });
    if (next !== undefined) this.#tables.accepts(next);
    for (const account of accounts) this.#accounts.put(account);
    deadline.require("Orders may be done: sending them again with the same keys is safe.");
    return answer;
  }

  async look<T>(_touched: readonly Touch[], see: (loaded: Loaded) => T): Promise<T> {
    const seen = this.#guard(() =>
      this.#inTransaction(() => {
        this.#accounts.refresh();
        return see({
          inForce: () => this.#tables.inForce(),
          account: (pesel) => this.#account(pesel),
          answered: (pesel, key) => this.#keys.answered(pesel, key),
          entry: (id) => this.#entry(id),
          nextId: () => "",
        });
      }, "deferred"),
    );
    this.#opened.requireFile();
    return seen;
  }

  #tuneFor(commands: number): void {
    const tuning = tuningFor(commands);
    if (tuning === this.#tuning) return;
    for (const sql of tuning) this.#run(sql);
    this.#tuning = tuning;
  }

  async account(pesel: Pesel): Promise<StoredAccount | undefined> {
    const account = this.#guard(() => {
      this.#accounts.refreshOnceATurn();
      return this.#account(pesel);
    });
    if (this.#opened.isReadOnly) this.#opened.requireFile();
    return account;
  }

  async accounts(page: AccountsPage): Promise<ListedAccountRow[]> {
    return this.#all(...selectPage(page)).map(accountRow);
  }

  async statement(
    pesel: Pesel,
    { before, limit }: { before?: Entry | undefined; limit: number },
  ): Promise<readonly FoundEntry[]> {
    const end = before?.sequence ?? Number.MAX_SAFE_INTEGER;
    const found = this.#all(pageStatement, Number(pesel), end, limit).map(foundEntry);
    return requireChain(found, { before, limit });
  }

  async entries({ after = "", through, limit }: Parameters<Store["entries"]>[0]): Promise<SealedEntry[]> {
    return this.#all<JournalRow>(pageEntries, after, through ?? greatestId, limit).map(decodeEntry);
  }

  async entriesBefore({ before, limit }: Parameters<Store["entriesBefore"]>[0]): Promise<SealedEntry[]> {
    return this.#all<JournalRow>(pageEntriesBack, before ?? greatestId, limit).map(decodeEntry);
  }

  async newestEntry(): Promise<string | undefined> {
    return this.#all<{ id: string }>("select id from journal order by id desc limit 1")[0]?.id;
  }

  async entry(id: string): Promise<FoundEntry | undefined> {
    return this.#read(() => this.#entry(id));
  }

  #entry(id: string): FoundEntry | undefined {
    const row = this.#statement(`${selectFound} where journal.id = ?`).get(id);
    return row && foundEntry(row);
  }

  async entriesIn({ first, last }: IdRange, limit: number): Promise<FoundEntry[]> {
    const inRange = `${selectFound} where journal.id between ? and ? limit ?`;
    return this.#all(inRange, first, last, limit).map(foundEntry);
  }

  async entryWithKey(pesel: Pesel, key: string): Promise<FoundEntry | undefined> {
    return this.#read(() => this.#keys.entry(pesel, key));
  }

  /** Positions have no gaps, and to count would be to read the whole index. */
  async entryCount(): Promise<number> {
    return this.#lastPosition();
  }

  async identityKey(): Promise<string> {
    return decodeIdentityKey(this.#all<IdentityKeyRow>("select * from identity_key")[0]);
  }

  async inForce(): Promise<TableInForce | undefined> {
    return this.#guard(() => {
      this.#accounts.refreshOnceATurn();
      return this.#tables.inForce();
    });
  }

  async saveTables(tables: readonly RateTable[]): Promise<void> {
    const save = () => {
      for (const table of tables) this.#tables.save(table);
    };
    await this.#whenUnlocked(() => this.#inTransaction(save));
  }

  async ping(): Promise<void> {
    this.#all("select 1 from account limit 1");
  }

  /** The binding leaves statements open, and so the log in use: it is moved into the file before. */
  async close(): Promise<void> {
    try {
      if (this.#opened.ownsLog()) {
        this.#guard(() => this.#database.exec("pragma wal_checkpoint(truncate)"));
      }
    } finally {
      this.#database.close();
    }
  }

  #account(pesel: Pesel): StoredAccount | undefined {
    const known = this.#accounts.get(pesel);
    if (known !== undefined) return known;
    const select = () => this.#statement(selectAccount).get(Number(pesel)) as unknown as AccountRow;
    const account = decodeAccount(this.#guard(select));
    if (account !== undefined) this.#accounts.put(account);
    return account;
  }

  #write({ accounts, entries }: Writes, isNew: (pesel: Pesel) => boolean): void {
    // `get` is half a microsecond faster than `run`, which counts changes.
    const append = this.#statement(appendEntry);
    const renamed = new Set<Pesel>();
    for (const { entry, text, hash } of entries) {
      append.get(text, hash);
      if (entry.holder !== undefined) renamed.add(entry.pesel);
    }
    const insert = this.#statement(insertAccount);
    const update = this.#statement(updateAccount);
    for (const account of accounts) {
      const { pesel, name, surname, sequence } = account;
      const number = Number(pesel);
      if (isNew(pesel)) insert.get(number, name, surname, sequence);
      else if (renamed.has(pesel)) this.#statement(renameAccount).get(sequence, name, surname, number);
      else update.get(sequence, number);
      if (isNew(pesel) || renamed.has(pesel)) writeWords((sql) => this.#statement(sql), account);
    }
  }

  #inTransaction<T>(work: () => T, lock: "immediate" | "deferred" = "immediate"): T {
    this.#run(`begin ${lock}`);
    try {
      const result = work();
      this.#run("commit");
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#run("rollback");
      throw error;
    }
  }

  #lastPosition(): number {
    const sql = "select coalesce(max(position), 0) as last from journal";
    return this.#all<{ last: number }>(sql)[0]?.last ?? 0;
  }

  #run(sql: string): void {
    this.#statement(sql).get();
  }

  protected async select(sql: string, ...parameters: SqlValue[]): Promise<readonly SqlRow[]> {
    return this.#all(sql, ...parameters);
  }

  #all<Row = object>(sql: string, ...parameters: (string | number)[]): Row[] {
    return this.#read(() => this.#statement(sql).all(...parameters) as Row[]);
  }

  #read<T>(read: () => T): T {
    const found = this.#guard(read);
    this.#opened.requireFile();
    return found;
  }

  /** Rows as arrays, which the binding makes in half the time. */
  #arrays<Values>(sql: string, ...parameters: (string | number)[]): Values[] {
    this.#guard(() => this.#statement(sql)).setReturnArrays(true);
    return this.#all<Values>(sql, ...parameters);
  }

  /** Each statement is prepared once. */
  #statement(sql: string): StatementSyncInstance {
    const prepared = this.#statements.get(sql);
    if (prepared !== undefined) return prepared;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  #whenUnlocked<T>(work: () => T): Promise<T> {
    return whenUnlocked(() => this.#guard(work), this.#lockWaitMs);
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.#database.isOpen ? storageFailure(error, "the database") : unusable("The ledger is closed.");
    }
  }
}
