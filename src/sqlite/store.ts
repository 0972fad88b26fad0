import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import type { Pesel } from "../core/pesel.ts";
import type { RateTable } from "../core/rates.ts";
import { CommitDeadline } from "../ledger/commit-deadline.ts";
import { entryId } from "../ledger/entry-id.ts";
import { limits } from "../ledger/limits.ts";
import { decodeAccount, foundEntry } from "../ledger/rows.ts";
import type {
  AccountRow,
  Decision,
  FoundEntry,
  Loaded,
  Store,
  StoredAccount,
  Touch,
  Writes,
} from "../ledger/store.ts";
import { SqlReader, type SqlRow, type SqlValue } from "../sql/reader.ts";
import { entriesBetween, oneAccount } from "../sql/statements.ts";
import { AccountCache } from "./account-cache.ts";
import { storageFailure, unusable } from "./failures.ts";
import { Keys } from "./keys.ts";
import { writeWords } from "./name-words.ts";
import { type OpenDatabase, openDatabase, pragma, type SqliteOptions, tuningFor } from "./open.ts";
import { RateTables } from "./rate-tables.ts";
import { appendEntry, insertAccount, renameAccount, updateAccount } from "./statements.ts";
import { whenUnlocked } from "./write-lock.ts";

/**
 * Opens a ledger in a SQLite file, or in memory for ":memory:". Several processes may have one file open.
 * @throws FxError storage-unavailable if the file is not a whole ledger of this version of fx
 */
export function openSqlite(path: string, options: SqliteOptions = {}): SqliteStore {
  return new SqliteStore(openDatabase(path, options), options);
}

export class SqliteStore extends SqlReader implements Store {
  /** From the decision to the commit is one turn of the event loop, in which the process or the disk may stand still. */
  readonly #commitsWithinMs: number;
  readonly #opened: OpenDatabase;
  readonly #database: DatabaseSyncInstance;
  readonly #accounts: AccountCache;
  readonly #statements = new Map<string, StatementSyncInstance>();
  readonly #keys = new Keys((sql) => this.#statement(sql));
  readonly #tables = new RateTables((sql) => this.#statement(sql));
  #tuning = tuningFor(0);
  readonly #lockWaitMs: number;

  constructor(
    opened: OpenDatabase,
    { lockWaitMs = limits.sqliteLockWaitMs, commitsWithinMs = limits.settledAfterMs }: SqliteOptions = {},
  ) {
    super();
    this.#lockWaitMs = lockWaitMs;
    this.#commitsWithinMs = commitsWithinMs;
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
    const deadline = new CommitDeadline(this.#commitsWithinMs);
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

  override async account(pesel: Pesel): Promise<StoredAccount | undefined> {
    const account = this.#guard(() => {
      this.#accounts.refreshOnceATurn();
      return this.#account(pesel);
    });
    if (this.#opened.isReadOnly) this.#opened.requireFile();
    return account;
  }

  #entry(id: string): FoundEntry | undefined {
    const row = this.#statement(entriesBetween).get(id, id, 1);
    return row && foundEntry(row);
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
    const select = () => this.#statement(oneAccount).get(Number(pesel)) as unknown as AccountRow;
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
