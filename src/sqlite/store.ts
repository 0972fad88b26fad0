import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import type { Pesel } from "../core/pesel.ts";
import { CommitDeadline, perhapsDone } from "../ledger/commit-deadline.ts";
import { limits } from "../ledger/limits.ts";
import type { Decision, Loaded, Store, StoredAccount, Touch } from "../ledger/store.ts";
import { SqlReader, type SqlRow, type SqlValue } from "../sql/reader.ts";
import { ledgerFailure, unusable } from "./failures.ts";
import { loadedRows } from "./loaded-rows.ts";
import { type OpenDatabase, openDatabase, type SqliteOptions } from "./open.ts";
import { ReadCache } from "./read-cache.ts";
import { whenUnlocked } from "./write-lock.ts";
import { writeRows } from "./written-rows.ts";

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
  readonly #cache: ReadCache;
  readonly #loaded: Loaded;
  readonly #statements = new Map<string, StatementSyncInstance>();
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
    this.#cache = new ReadCache(opened.database);
    this.#loaded = loadedRows(this.#cache, (sql, ...parameters) =>
      this.#guard(() => this.#prepared(sql).get(...parameters) as SqlRow | undefined),
    );
  }

  async transact<T>(_touched: readonly Touch[], decide: (loaded: Loaded) => Decision<T>): Promise<T> {
    return this.#whenUnlocked(() => {
      const deadline = new CommitDeadline(this.#commitsWithinMs);
      const { writes, answer } = this.#inTransaction("immediate", () => {
        this.#opened.requireFile();
        this.#cache.refresh();
        const decision = decide(this.#loaded);
        const epochInForce = () => this.#loaded.inForce()?.epoch ?? 0;
        writeRows(decision.writes, (sql) => this.#prepared(sql), epochInForce);
        deadline.require("Nothing was changed.");
        return decision;
      });
      for (const account of writes.accounts) this.#cache.keep(account);
      if (writes.accepted !== undefined) this.#cache.inForce = undefined;
      this.#opened.requireFile();
      deadline.require(perhapsDone);
      return answer;
    });
  }

  async look<T>(_touched: readonly Touch[], see: (loaded: Loaded) => T): Promise<T> {
    const atOneMoment = () => {
      this.#cache.refresh();
      return see({ ...this.#loaded, nextId: () => "" });
    };
    return this.#read(() => this.#inTransaction("deferred", atOneMoment));
  }

  override async account(pesel: Pesel): Promise<StoredAccount | undefined> {
    return this.#read(() => {
      this.#cache.refresh();
      return this.#loaded.account(pesel);
    });
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

  #inTransaction<T>(lock: "immediate" | "deferred", work: () => T): T {
    this.#database.exec(`begin ${lock}`);
    try {
      const result = work();
      this.#database.exec("commit");
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("rollback");
      throw error;
    }
  }

  protected async select(sql: string, ...parameters: SqlValue[]): Promise<readonly SqlRow[]> {
    return this.#all(sql, ...parameters);
  }

  #all<Row = object>(sql: string, ...parameters: (string | number)[]): Row[] {
    return this.#read(() => this.#prepared(sql).all(...parameters) as Row[]);
  }

  #read<T>(read: () => T): T {
    const found = this.#guard(read);
    this.#opened.requireFile();
    return found;
  }

  /** Each statement is prepared once. */
  #prepared(sql: string): StatementSyncInstance {
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
      throw this.#database.isOpen ? ledgerFailure(error) : unusable("The ledger is closed.");
    }
  }
}
