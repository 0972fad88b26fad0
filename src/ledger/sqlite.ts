import { existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from "@photostructure/sqlite";
import type { Entry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import type { RateTable } from "../core/rates.ts";
import { AccountCache } from "./account-cache.ts";
import { entryId, positionInId } from "./entry-id.ts";
import {
  type AccountRow,
  accountRow,
  decodeAccount,
  decodeEntry,
  decodeTable,
  encodeTable,
  type JournalRow,
  journalRow,
  lastUpTo,
  type RateTableRow,
} from "./rows.ts";
import { applicationId, migrations } from "./schema/sqlite.ts";
import { storageFailure, unusable } from "./sqlite-failures.ts";
import type {
  Decision,
  JournalPlace,
  Loaded,
  SealedEntry,
  Store,
  StoredAccount,
  Touch,
  Writes,
} from "./store.ts";

const busyTimeoutMs = 5000;
/** 12 MiB of log between checkpoints: a page that many orders touch is written to the file once, and none waits long. */
const checkpointPages = 3000;
/** SQLITE_CONSTRAINT_UNIQUE */
const uniqueViolation = 2067;
/**
 * At a commit after a page was split, SQLite looks through all pages of its cache (pcache1TruncateUnsafe), so that more
 * is not better: the rest is read from the system's cache.
 */
const cacheKibibytes = 8 * 1024;
/** Unlike ":memory:", it keeps few of its pages in SQLite's cache. Private to the connection; at most 1 GiB. */
const memoryPath = "file:ledger?vfs=memdb";
/** Entries indexed for an audit, in their order, before the event loop has its turn again: some 50 ms. */
const orderedAtOnce = 50_000;

const appendEntry =
  "insert into journal (position, previous, pesel, sequence, key, entry, hash) values (?, ?, ?, ?, ?, ?, ?)";
const insertAccount = "insert into account (pesel, name, surname, newest) values (?, ?, ?, ?)";
const updateAccount = "update account set newest = ? where pesel = ?";
/** An account is as its newest entry leaves it; without that entry, which an audit tells, it holds nothing. */
const selectAccounts =
  "select account.*, coalesce(sequence, 0) as sequence, coalesce(hash, '') as hash, " +
  "case when entry is null then '{}' when json_valid(entry) then coalesce(entry ->> 'balances', '') else '' end as balances " +
  "from account left join journal on position = newest and journal.pesel = account.pesel";
const selectAccount = `${selectAccounts} where account.pesel = ?`;
const pageAccounts = `${selectAccounts} where account.pesel > ? order by account.pesel limit ?`;

/**
 * Opens a ledger in a SQLite file, or in memory for ":memory:", and brings its schema up to date. Several
 * processes may have one file open.
 * @throws FxError storage-unavailable if the file is not a whole ledger of this or an earlier version of fx
 */
export function openSqlite(path: string): SqliteStore {
  const inMemory = path === ":memory:";
  if (!inMemory) refuseRemains(path);
  let database: DatabaseSyncInstance | undefined;
  try {
    database = new DatabaseSync(inMemory ? memoryPath : path, { timeout: busyTimeoutMs });
    database.exec("pragma synchronous = full");
    migrate(database, path);
    database.exec(
      `pragma journal_mode = wal; pragma wal_autocheckpoint = ${checkpointPages}; pragma cache_size = -${cacheKibibytes}`,
    );
    if (!inMemory) refuseDamage(database, path);
    return new SqliteStore(database);
  } catch (error) {
    database?.close();
    throw storageFailure(error, inMemory ? "the in-memory database" : path);
  }
}

/** An account with the position of its newest entry, from which the entries before it are found. */
interface LinkedAccount {
  readonly account: StoredAccount;
  readonly newest: number;
}

export class SqliteStore implements Store {
  readonly schemaVersion = migrations.length;
  readonly #database: DatabaseSyncInstance;
  readonly #accounts: AccountCache<LinkedAccount>;
  readonly #statements = new Map<string, StatementSyncInstance>();
  readonly #savedTables = new Set<string>();
  /** The position of the last entry that `#orderJournal` has indexed. */
  #orderedTo = 0;

  constructor(database: DatabaseSyncInstance) {
    this.#database = database;
    this.#accounts = new AccountCache(() => pragma(this.#statement("pragma data_version")));
  }

  async transact<T>(_touched: readonly Touch[], decide: (loaded: Loaded) => Decision<T>): Promise<T> {
    return this.#guard(() => {
      try {
        return this.#try(decide, false);
      } catch (error) {
        if ((error as { errcode?: number }).errcode !== uniqueViolation) throw error;
        return this.#try(decide, true);
      }
    });
  }

  #try<T>(decide: (loaded: Loaded) => Decision<T>, keysFirst: boolean): T {
    this.#run("begin immediate");
    try {
      this.#accounts.refresh();
      let position = this.#lastPosition();
      const newest = new Map<Pesel, number>();
      const { writes, answer } = decide({
        account: (pesel) =>
          this.#guard(() => {
            const linked = this.#account(pesel);
            if (linked !== undefined) newest.set(pesel, linked.newest);
            return linked?.account;
          }),
        keysFirst,
        entryByKey: (pesel, key) => this.#guard(() => this.#entryByKey(pesel, key)),
        nextId: () => {
          position += 1;
          return entryId(position);
        },
      });
      this.#write(writes, newest);
      this.#run("commit");
      for (const account of writes.accounts) {
        this.#accounts.put(account.pesel, { account, newest: newest.get(account.pesel) as number });
      }
      for (const { number } of writes.tables) this.#savedTables.add(number);
      return answer;
    } catch (error) {
      if (this.#database.isTransaction) this.#run("rollback");
      throw error;
    }
  }

  async account(pesel: Pesel): Promise<StoredAccount | undefined> {
    return this.#guard(() => {
      this.#accounts.refreshOnceATurn();
      return this.#account(pesel)?.account;
    });
  }

  async accounts({
    after = "",
    limit,
  }: {
    after?: string | undefined;
    limit: number;
  }): Promise<AccountRow[]> {
    return this.#all(pageAccounts, lastUpTo(after), limit).map(accountRow);
  }

  async statement(
    pesel: Pesel,
    { before, limit }: { before?: Entry | undefined; limit: number },
  ): Promise<SealedEntry[]> {
    const start = before
      ? "select previous from journal where position = ?"
      : "select newest from account where pesel = ?";
    return this.#all<JournalRow>(
      `with recursive page as (
         select 1 as nth, * from journal where position = (${start})
         union all
         select nth + 1, journal.* from page join journal on journal.position = page.previous where nth < ?
       ) select * from page`,
      before === undefined ? Number(pesel) : positionInId(before.id),
      limit,
    ).map(decodeEntry);
  }

  async journal(page: {
    after?: JournalPlace | undefined;
    through?: string;
    limit: number;
  }): Promise<JournalRow[]> {
    const { after = { pesel: "", sequence: 0 }, through = "~", limit } = page;
    await this.#orderJournal();
    return this.#all(
      `select journal.* from journal_order as place join journal using (position)
       where (place.pesel, place.sequence) > (?, ?) and place.pesel <= ?
       order by place.pesel, place.sequence limit ?`,
      lastUpTo(after.pesel),
      after.sequence,
      lastUpTo(through),
      limit,
    ).map(journalRow);
  }

  /** Indexes the entries that are new since the last time, for this connection only, in steps. */
  async #orderJournal(): Promise<void> {
    this.#run(
      `create temp table if not exists journal_order
       (pesel, sequence, position, primary key (pesel, sequence, position)) without rowid`,
    );
    const last = this.#lastPosition();
    while (this.#orderedTo < last) {
      const next = Math.min(this.#orderedTo + orderedAtOnce, last);
      this.#all(
        `insert into journal_order select pesel, sequence, position from journal
         where position > ? and position <= ? order by pesel, sequence`,
        this.#orderedTo,
        next,
      );
      this.#orderedTo = next;
      if (next < last) await nextTurn();
    }
  }

  async entry(id: string): Promise<SealedEntry | undefined> {
    const byPosition = "select * from journal where position = ?";
    const [row] = this.#all<JournalRow>(byPosition, positionInId(id));
    const sealed = row && decodeEntry(row);
    return sealed?.entry.id === id ? sealed : undefined;
  }

  /** Positions have no gaps, and to count would be to read the whole journal. */
  async entryCount(): Promise<number> {
    return this.#lastPosition();
  }

  async saveTables(tables: readonly RateTable[]): Promise<void> {
    await this.transact([], () => ({ writes: { accounts: [], entries: [], tables }, answer: undefined }));
  }

  async tables({ since = "", last = -1 }: { since?: string; last?: number }): Promise<RateTable[]> {
    return this.#all<RateTableRow>(
      "select * from rate_table where effective_date >= ? order by effective_date desc, number desc limit ?",
      since,
      last,
    )
      .map(decodeTable)
      .reverse();
  }

  async table(number: string): Promise<RateTable | undefined> {
    return this.#all<RateTableRow>("select * from rate_table where number = ?", number).map(decodeTable)[0];
  }

  async ping(): Promise<void> {
    this.#all("select 1 from account limit 1");
  }

  /** Writes the ledger as it is now, and nothing that comes after, to a new file. */
  async copyTo(path: string): Promise<void> {
    this.#guard(() => this.#database.prepare("vacuum into ?").run(path));
  }

  /** The binding leaves statements open, and so the log in use: it is moved into the file before. */
  async close(): Promise<void> {
    this.#database.exec("pragma busy_timeout = 0; pragma wal_checkpoint(truncate)");
    this.#database.close();
  }

  #account(pesel: Pesel): LinkedAccount | undefined {
    const known = this.#accounts.get(pesel);
    if (known !== undefined) return known;
    const row = this.#statement(selectAccount).get(Number(pesel)) as Required<AccountRow> | undefined;
    if (row === undefined) return undefined;
    const linked = { account: decodeAccount(row), newest: row.newest };
    this.#accounts.put(pesel, linked);
    return linked;
  }

  #entryByKey(pesel: Pesel, key: string): Entry | undefined {
    const byKey = "select * from journal where pesel = ? and key = ?";
    const [row] = this.#all<JournalRow>(byKey, Number(pesel), key);
    return row && decodeEntry(row).entry;
  }

  /** Writes, and brings `newest` up to date: where the newest entries of the accounts that were loaded are. */
  #write({ accounts, entries, tables }: Writes, newest: Map<Pesel, number>): void {
    const opened = new Set<Pesel>();
    const fresh = tables.filter(({ number }) => !this.#savedTables.has(number)).map(encodeTable);
    for (const row of fresh) {
      this.#statement(
        "insert into rate_table (number, trading_date, effective_date, rates) values (?, ?, ?, ?) on conflict do nothing",
      ).run(row.number, row.trading_date, row.effective_date, row.rates);
    }
    // `get` is half a microsecond faster than `run`, which counts changes.
    const append = this.#statement(appendEntry);
    for (const { entry, text, hash } of entries) {
      const { id, pesel, sequence, key = null } = entry;
      const position = positionInId(id);
      const previous = sequence === 1 ? null : (newest.get(pesel) ?? this.#account(pesel)?.newest);
      append.get(position, previous, Number(pesel), sequence, key, text, hash);
      newest.set(pesel, position);
      if (sequence === 1) opened.add(pesel);
    }
    const insert = this.#statement(insertAccount);
    const update = this.#statement(updateAccount);
    for (const { pesel, name, surname } of accounts) {
      const last = newest.get(pesel) as number;
      if (opened.has(pesel)) insert.get(Number(pesel), name, surname, last);
      else update.get(last, Number(pesel));
    }
  }

  #lastPosition(): number {
    return (
      this.#all<{ last: number }>("select coalesce(max(position), 0) as last from journal")[0]?.last ?? 0
    );
  }

  #run(sql: string): void {
    this.#statement(sql).get();
  }

  #all<Row = object>(sql: string, ...parameters: (string | number)[]): Row[] {
    return this.#guard(() => this.#statement(sql).all(...parameters) as Row[]);
  }

  /** Each statement is prepared once. */
  #statement(sql: string): StatementSyncInstance {
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
      throw storageFailure(error, "the database");
    }
  }
}

function migrate(database: DatabaseSyncInstance, path: string): void {
  database.exec("begin immediate");
  const version = pragma(database.prepare("pragma user_version"));
  const marked = pragma(database.prepare("pragma application_id")) === applicationId;
  const strange = !marked && database.prepare("select 1 from sqlite_schema limit 1").get() !== undefined;
  if (strange) {
    throw unusable(`${path} is a SQLite database, but not one of fx. Name another file.`);
  }
  if (version > migrations.length) {
    throw unusable(
      `${path} was written by a newer fx (schema ${version}; this one knows ${migrations.length}). Use that fx.`,
    );
  }
  for (const migration of migrations.slice(version)) database.exec(migration);
  database.exec(
    `pragma application_id = ${applicationId}; pragma user_version = ${migrations.length}; commit`,
  );
}

/** An empty file, or a log without its database, is what is left of a ledger: SQLite would start anew on it. */
function refuseRemains(path: string): void {
  const size = existsSync(path) ? statSync(path).size : undefined;
  if (size === 0) {
    throw unusable(
      `${path} is empty, which no ledger is. Restore it from a backup, or delete it to start a new one.`,
    );
  }
  if (size === undefined && existsSync(`${path}-wal`)) {
    throw unusable(
      `${path} is missing, but its log ${path}-wal is there. Restore the database beside it, or delete the log.`,
    );
  }
  if (size === undefined && !existsSync(dirname(resolve(path)))) {
    throw unusable(`${path} cannot be made: the folder ${dirname(resolve(path))} does not exist.`);
  }
}

/** Reads the whole of a small database, and of a large one what cannot be missing: a full check would take minutes. */
function refuseDamage(database: DatabaseSyncInstance, path: string): void {
  const fullCheckBytes = 64 * 1024 * 1024;
  const bytes = pragma(database.prepare("pragma page_count")) * pragma(database.prepare("pragma page_size"));
  const verdict =
    bytes <= fullCheckBytes
      ? (database.prepare("pragma quick_check(1)").get() as { quick_check: string }).quick_check
      : "ok";
  if (verdict !== "ok") throw unusable(`${path} is damaged: ${verdict}. Restore it from a backup.`);
}

function pragma(statement: StatementSyncInstance): number {
  return Object.values(statement.get() as Record<string, number>)[0] ?? 0;
}
