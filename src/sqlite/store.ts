import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import type { Pesel } from "../core/pesel.ts";
import { CommitDeadline, limits, possiblyDone } from "../ledger/limits.ts";
import type { Decision, LedgerView, Lookup, Store, StoredAccount } from "../ledger/store.ts";
import { decodeAccount } from "../sql/found.ts";
import { SqlReader } from "../sql/reader.ts";
import { columnsOf, type GivenTable, type SqlRow, type SqlStatement } from "../sql/statements.ts";
import { accountsOf, keyedOf, refusalsOf, reversedOf, tableInForce, viewOf } from "../sql/view.ts";
import { epochOf, writesOf } from "../sql/writes.ts";
import { ledgerFailure, resultCodeOf, unusable } from "./failures.ts";
import { type OpenDatabase, openDatabase, type SqliteOptions } from "./open.ts";
import { ReadCache } from "./read-cache.ts";
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
  readonly #cache: ReadCache;
  readonly #statements = new Map<string, StatementSyncInstance>();
  readonly #lockWaitMs: number;

  constructor(
    opened: OpenDatabase,
    {
      lockWaitMs = limits.sqliteLockWaitMs,
      commitsWithinMs = limits.settledAfterMs,
      accountsKept = 100_000,
    }: SqliteOptions = {},
  ) {
    super();
    this.#lockWaitMs = lockWaitMs;
    this.#commitsWithinMs = commitsWithinMs;
    this.#opened = opened;
    this.#database = opened.database;
    this.#cache = new ReadCache(opened.database, accountsKept);
  }

  async transact<T>(lookups: readonly Lookup[], decide: (view: LedgerView) => Decision<T>): Promise<T> {
    return whenUnlocked(() => this.#guard(() => this.#commit(lookups, decide)), this.#lockWaitMs);
  }

  #commit<T>(lookups: readonly Lookup[], decide: (view: LedgerView) => Decision<T>): T {
    const deadline = new CommitDeadline(this.#commitsWithinMs);
    const { writes, answer } = this.#inTransaction("immediate", () => {
      this.#opened.requireFile();
      const view = this.#load(lookups);
      const decision = decide(view);
      const { writes } = decision;
      for (const [sql, parameters] of writesOf(givenAsJson, writes, epochOf(writes, view))) {
        this.#prepared(sql).run(...(parameters as SqliteParameter[]));
      }
      deadline.require("Nothing was changed.");
      return decision;
    });
    this.#cache.written(writes);
    this.#opened.requireFile();
    deadline.require(possiblyDone);
    return answer;
  }

  async read<T>(lookups: readonly Lookup[], use: (view: LedgerView) => T): Promise<T> {
    return use(this.#read(() => this.#inTransaction("deferred", () => this.#load(lookups))));
  }

  async account(pesel: Pesel): Promise<StoredAccount | undefined> {
    return this.#read(() => {
      this.#cache.refresh();
      return this.#cache.account(pesel) ?? this.#cache.keep(this.#found(pesel));
    });
  }

  #found(pesel: Pesel): StoredAccount | undefined {
    const [row] = this.#rows(accountsOf(givenAsJson, [pesel]));
    return row && decodeAccount(row);
  }

  async ping(): Promise<void> {
    await this.select(["select 1 from account limit 1", []]);
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

  protected async select(statement: SqlStatement): Promise<readonly SqlRow[]> {
    return this.#read(() => this.#rows(statement));
  }

  protected byIndex(index: string, one: string, own: string): string {
    return `indexed by ${index} where (${one}) = (${own})`;
  }

  #load(lookups: readonly Lookup[]): LedgerView {
    this.#cache.refresh();
    const unknown = lookups.filter(({ pesel }) => this.#cache.account(pesel) === undefined);
    const pesels = unknown.map(({ pesel }) => pesel);
    const view = viewOf({
      accounts: this.#rows(accountsOf(givenAsJson, pesels)),
      keyed: this.#rows(keyedOf(givenAsJson, lookups)),
      refusals: this.#rows(refusalsOf(givenAsJson, lookups)),
      inForce: this.#rows(this.#cache.inForce === undefined ? tableInForce : undefined),
      reversed: this.#rows(reversedOf(givenAsJson, lookups)),
    });
    return this.#cache.over(view);
  }

  /** The rows that a statement finds; none without one. */
  #rows(statement: SqlStatement | undefined): readonly SqlRow[] {
    if (statement === undefined) return [];
    const [sql, parameters] = statement;
    const prepared = this.#prepared(sql);
    return inNumbers(prepared, () => prepared.all(...(parameters as SqliteParameter[])) as SqlRow[]);
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

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.#database.isOpen ? ledgerFailure(error) : unusable("The ledger is closed.");
    }
  }
}

type SqliteParameter = string | number | null;

/** The given rows are one parameter, in JSON. */
const givenAsJson: GivenTable = (columns, rows) => {
  const all = columnsOf(columns);
  const values = all.map(([name, type]) => {
    const value = `value ->> '${name}'`;
    return type === "bigint" ? `cast(${value} as integer) as ${name}` : `${value} as ${name}`;
  });
  const names = all.map(([name]) => name);
  return [`(select ${values.join(", ")} from json_each(?1)) as given`, [JSON.stringify(rows, names)]];
};

/**
 * Reads rows whose whole numbers are JavaScript's. The binding refuses those beyond 2^53, which only a damaged ledger has,
 * with an error that is not SQLite's. They are rounded, and so are found to be wrong where they are compared.
 */
function inNumbers(statement: StatementSyncInstance, read: () => SqlRow[]): SqlRow[] {
  try {
    return read();
  } catch (error) {
    if (resultCodeOf(error) !== undefined) throw error;
  }
  statement.setReadBigInts(true);
  try {
    return read().map(roundedRow);
  } finally {
    statement.setReadBigInts(false);
  }
}

function roundedRow(row: SqlRow): SqlRow {
  const columns = Object.entries(row).map(([name, value]) => [
    name,
    typeof value === "bigint" ? Number(value) : value,
  ]);
  return Object.fromEntries(columns);
}
