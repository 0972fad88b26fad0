import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import type { Entry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import type { Acceptance, AcceptedTable, RateTable, TableInForce } from "../core/rates.ts";
import { planAcceptance } from "../ledger/acceptance.ts";
import { entryId, type IdRange, positionInId } from "../ledger/entry-id.ts";
import { decodeAccount, decodeEntry, foundEntry, missingIdentityKey } from "../ledger/rows.ts";
import type {
  AccountsPage,
  Decision,
  FoundEntry,
  JournalRow,
  ListedAccountRow,
  Loaded,
  SealedEntry,
  Store,
  StoredAccount,
  Touch,
  Writes,
} from "../ledger/store.ts";
import { AccountCache, type Head, headOf, type LinkedAccount } from "./account-cache.ts";
import { keptRows, reversalsPage, type SelectRows, strayWords } from "./audited.ts";
import { CommitDeadline } from "./commit-deadline.ts";
import { storageFailure, unusable } from "./failures.ts";
import { entriesIn } from "./ids.ts";
import { accountSpan, chainsPage, journalPage, type Select } from "./journal-pages.ts";
import { isKeyTaken, Keys } from "./keys.ts";
import {
  type AccountValues,
  accountRows,
  accountsTogether,
  type LinkedAccountRow,
  misplacedAccount,
  misplacedEntry,
} from "./links.ts";
import { selectPage, writeWords } from "./name-words.ts";
import { type OpenDatabase, openDatabase, pragma, type SqliteOptions, tuningFor } from "./open.ts";
import { RateTables } from "./rate-tables.ts";
import { schemaVersion } from "./schema.ts";
import {
  appendEntry,
  insertAccount,
  insertReversal,
  pageEntries,
  pageEntriesBack,
  pageStatement,
  renameAccount,
  reversedBy,
  selectAccount,
  updateAccount,
} from "./statements.ts";
import { whenUnlocked } from "./write-lock.ts";

/**
 * Opens a ledger in a SQLite file, or in memory for ":memory:". Several processes may have one file open.
 * @throws FxError storage-unavailable if the file is not a whole ledger of this version of fx
 */
export function openSqlite(path: string, options: SqliteOptions = {}): SqliteStore {
  return new SqliteStore(openDatabase(path, options), options);
}

export class SqliteStore implements Store {
  readonly schemaVersion = schemaVersion;
  readonly accountsTogether: number;
  readonly transactionsAtOnce = 1;
  /** From the decision to the commit is one turn of the event loop, in which the process or the disk may stand still. */
  readonly commitsWithinMs: number;
  readonly misplacedEntry = misplacedEntry;
  readonly misplacedAccount = misplacedAccount;
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
  readonly reversals: Store["reversals"] = async (page) => reversalsPage(this.#selectRows, page);
  readonly rows: Store["rows"] = async (name, page) => keptRows(this.#selectRows, name, page);
  readonly strayWords: Store["strayWords"] = async (range) => strayWords(this.#selectRows, range);
  readonly chains: Store["journal"] = async (page) => chainsPage(this.#select, page);
  readonly journal: Store["journal"] = async (page) =>
    journalPage(this.#select, page, () => this.#lastPosition());

  constructor(opened: OpenDatabase, { lockWaitMs = 5000, commitsWithinMs = 10_000 }: SqliteOptions = {}) {
    this.#lockWaitMs = lockWaitMs;
    this.commitsWithinMs = commitsWithinMs;
    this.accountsTogether = opened.isReadOnly ? accountsTogether.reading : accountsTogether.besideOrders;
    this.#opened = opened;
    this.#database = opened.database;
    this.#accounts = new AccountCache(
      () => {
        opened.requireFile();
        return pragma(this.#statement("pragma data_version"));
      },
      () => {
        this.#tables.forget();
        this.#keys.forget();
      },
    );
  }

  async transact<T>(touched: readonly Touch[], decide: (loaded: Loaded) => Decision<T>): Promise<T> {
    const answer = await this.#whenUnlocked(() => {
      try {
        return this.#try(touched, decide, false);
      } catch (error) {
        if (!isKeyTaken(error)) throw error;
        return this.#try(touched, decide, true);
      }
    });
    this.#opened.requireFile();
    return answer;
  }

  /**
   * Most keys are new, so they are not looked up at first. If one was used before, that fails: on the index of keys if
   * an entry is written, otherwise in a look-up after the decision.
   */
  #try<T>(touched: readonly Touch[], decide: (loaded: Loaded) => Decision<T>, looksUpKeys: boolean): T {
    this.#tuneFor(touched.length);
    const deadline = new CommitDeadline(this.commitsWithinMs);
    const { answer, next, written } = this.#inTransaction(() => {
      this.#accounts.refresh();
      let position = this.#lastPosition();
      const heads = new Map<Pesel, Head>();
      const inForce = this.#tables.inForce();
      const { writes, answer } = decide({
        inForce,
        account: (pesel) => {
          const linked = this.#account(pesel);
          if (linked !== undefined) heads.set(pesel, headOf(pesel, linked.newest));
          return linked?.account;
        },
        answered: (pesel, key) =>
          looksUpKeys ? this.#guard(() => this.#keys.answered(pesel, key)) : undefined,
        entry: (id) => this.#guard(() => this.#entry(id)),
        nextId: () => {
          position += 1;
          return entryId(position);
        },
      });
      if (!looksUpKeys) this.#keys.requireFree(touched, writes);
      const written = this.#write(writes, heads);
      if (writes.refusals !== undefined) this.#keys.keep(writes.refusals);
      const next = writes.accepted && { epoch: (inForce?.epoch ?? 0) + 1, table: writes.accepted.table };
      if (writes.accepted !== undefined) this.#tables.accept((inForce?.epoch ?? 0) + 1, writes.accepted);
      deadline.require("Nothing was changed.");
      return { answer, next, written };
    });
    if (next !== undefined) this.#tables.accepts(next);
    for (const linked of written) this.#accounts.put(linked.account.pesel, linked);
    deadline.require("Orders may be done: sending them again with the same keys is safe.");
    return answer;
  }

  async look<T>(_touched: readonly Touch[], see: (loaded: Loaded) => T): Promise<T> {
    const seen = this.#guard(() =>
      this.#inTransaction(() => {
        this.#accounts.refresh();
        return see({
          inForce: this.#tables.inForce(),
          account: (pesel) => this.#account(pesel)?.account,
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
      return this.#account(pesel)?.account;
    });
    if (this.#opened.isReadOnly) this.#opened.requireFile();
    return account;
  }

  async accounts(page: AccountsPage): Promise<ListedAccountRow[]> {
    return accountRows(this.#arrays<AccountValues>(...selectPage(page)));
  }

  async statement(
    pesel: Pesel,
    { before, limit }: { before?: Entry | undefined; limit: number },
  ): Promise<FoundEntry[]> {
    return this.#all<JournalRow>(
      pageStatement(before === undefined),
      before === undefined ? Number(pesel) : positionInId(before.id),
      limit,
    ).map(foundEntry);
  }

  async entries({ after, through, limit }: Parameters<Store["entries"]>[0]): Promise<SealedEntry[]> {
    const [first, last] = [after, through].map((id) => id && positionInId(id));
    const range = [first || 0, last || Number.MAX_SAFE_INTEGER, limit];
    return this.#all<JournalRow>(pageEntries, ...range).map(decodeEntry);
  }

  async entriesBefore({ before, limit }: Parameters<Store["entriesBefore"]>[0]): Promise<SealedEntry[]> {
    const end = before === undefined ? Number.MAX_SAFE_INTEGER : positionInId(before);
    return this.#all<JournalRow>(pageEntriesBack, end, limit).map(decodeEntry);
  }

  async newestEntry(): Promise<string | undefined> {
    const byPosition = "select entry, hash from journal order by position desc limit 1";
    return this.#all<JournalRow>(byPosition).map(decodeEntry)[0]?.entry.id;
  }

  async entry(id: string): Promise<FoundEntry | undefined> {
    return this.#read(() => this.#entry(id));
  }

  #entry(id: string): FoundEntry | undefined {
    const byPosition = `select *, ${reversedBy} from journal where position = ?`;
    const row = this.#statement(byPosition).get(positionInId(id));
    const found = row && foundEntry(row);
    return found?.entry.id === id ? found : undefined;
  }

  async entriesIn(ids: IdRange, limit: number): Promise<FoundEntry[]> {
    return this.#read(() =>
      entriesIn((sql) => this.#statement(sql), ids, { last: this.#lastPosition(), limit }),
    );
  }

  async entryWithKey(pesel: Pesel, key: string): Promise<FoundEntry | undefined> {
    return this.#read(() => this.#keys.entry(pesel, key));
  }

  /** Positions have no gaps, and to count would be to read the whole journal. */
  async entryCount(): Promise<number> {
    return this.#lastPosition();
  }

  async identityKey(): Promise<string> {
    return this.#all<{ value: string }>("select value from identity_key")[0]?.value ?? missingIdentityKey();
  }

  async inForce(): Promise<TableInForce | undefined> {
    return this.#guard(() => {
      this.#accounts.refreshOnceATurn();
      return this.#tables.inForce();
    });
  }

  async acceptedTables(): Promise<readonly AcceptedTable[]> {
    return this.#read(() => this.#tables.accepted());
  }

  acceptTable(table: RateTable, accepted: Acceptance): Promise<boolean> {
    return this.transact([], planAcceptance(table, accepted));
  }

  async saveTables(tables: readonly RateTable[]): Promise<void> {
    const save = () => {
      for (const table of tables) this.#tables.save(table);
    };
    await this.#whenUnlocked(() => this.#inTransaction(save));
  }

  async tables(range: Parameters<Store["tables"]>[0]): Promise<RateTable[]> {
    return this.#read(() => this.#tables.of(range));
  }

  async table(id: string): Promise<RateTable | undefined> {
    return this.#read(() => this.#tables.table(id));
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

  #account(pesel: Pesel): LinkedAccount | undefined {
    const known = this.#accounts.get(pesel);
    if (known !== undefined) return known;
    const select = () => this.#statement(selectAccount).get(Number(pesel)) as LinkedAccountRow | undefined;
    const row = this.#guard(select);
    if (row === undefined) return undefined;
    const linked = { account: decodeAccount(row), newest: row.newest };
    this.#accounts.put(pesel, linked);
    return linked;
  }

  /** Gives the accounts as they are written. `heads` are those of accounts that were loaded; others are new. */
  #write({ accounts, entries }: Writes, heads: Map<Pesel, Head>): LinkedAccount[] {
    // `get` is half a microsecond faster than `run`, which counts changes.
    const append = this.#statement(appendEntry);
    for (const { entry, text, hash } of entries) {
      const { id, pesel, sequence, key = null } = entry;
      const position = positionInId(id);
      const head = heads.get(pesel) ?? headOf(pesel, null);
      append.get(position, head.newest, head.number, sequence, key, text, hash);
      head.newest = position;
      head.isRenamed ||= entry.holder !== undefined;
      heads.set(pesel, head);
      if (entry.reverses !== undefined) {
        this.#statement(insertReversal).get(positionInId(entry.reverses), position);
      }
    }
    const insert = this.#statement(insertAccount);
    const update = this.#statement(updateAccount);
    return accounts.map((account) => {
      const { pesel, name, surname } = account;
      const { number, newest, isNew, isRenamed } = heads.get(pesel) as Head & { newest: number };
      if (isNew) insert.get(number, name, surname, newest);
      else if (isRenamed) this.#statement(renameAccount).get(newest, name, surname, number);
      else update.get(newest, number);
      if (isNew || isRenamed) writeWords((sql) => this.#statement(sql), account, isNew);
      return { account, newest };
    });
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
