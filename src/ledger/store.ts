import type { Account } from "../core/account.ts";
import type { Entry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import type { RateTable } from "../core/rates.ts";
import type { AccountRow, JournalRow } from "./rows.ts";

/**
 * Where accounts, the journal and the tables are kept. One suite, test/ledger/store.contract.ts, holds for every
 * adapter. A method that cannot do its work fails with FxError storage-unavailable.
 */
export interface Store {
  /**
   * One durable transaction: loads and locks the accounts that are touched, lets `decide` say what to write, and
   * writes it. Resolves when all of it is durable, to the answer that was decided with it; rejects when none of it is,
   * or when that cannot be known. `decide` is pure and may be called again, when a conflict with another process, a
   * lost connection or a key that was taken makes the store begin anew.
   */
  transact<T>(touched: readonly Touch[], decide: (loaded: Loaded) => Decision<T>): Promise<T>;
  account(pesel: Pesel): Promise<StoredAccount | undefined>;
  /** By PESEL, from the one after `after`. As rows, because the audit reads ones that may not decode. */
  accounts(page: { after?: string | undefined; limit: number }): Promise<AccountRow[]>;
  /** Entries of one account from the one before `before`, which is one of them, newest first. */
  statement(pesel: Pesel, page: { before?: Entry | undefined; limit: number }): Promise<SealedEntry[]>;
  /** All entries in the order of (pesel, sequence), from the one after `after`, up to the account `through`. */
  journal(page: { after?: JournalPlace | undefined; through?: string; limit: number }): Promise<JournalRow[]>;
  entry(id: string): Promise<SealedEntry | undefined>;
  /** How many entries there are, or about how many. */
  entryCount(): Promise<number>;
  /** Keeps tables. One kept under the same number before stays as it is. */
  saveTables(tables: readonly RateTable[]): Promise<void>;
  /** Tables in force on or after a date, oldest first; with `last`, only the newest so many. */
  tables(range: { since?: string; last?: number }): Promise<RateTable[]>;
  table(number: string): Promise<RateTable | undefined>;
  /** The version of the schema that this fx writes, to which opening a store brings it. */
  readonly schemaVersion: number;
  /** Fails unless the store answers now. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** An account that a transaction is about, and the idempotency key under which to look for an earlier entry. */
export interface Touch {
  readonly pesel: Pesel;
  readonly key: string | undefined;
}

export interface Loaded {
  account(pesel: Pesel): StoredAccount | undefined;
  /**
   * Whether to look a key up before deciding. Else it is enough to look it up before refusing: a key that was taken
   * fails the commit, and `decide` is called again.
   */
  readonly keysFirst: boolean;
  /** The entry of this account that carries this key. */
  entryByKey(pesel: Pesel, key: string): Entry | undefined;
  /** The id of the next entry to be written. */
  nextId(): string;
}

/** What to write, and what that means for whoever asked. */
export interface Decision<T> {
  readonly writes: Writes;
  readonly answer: T;
}

export interface Writes {
  /** Each account once, as it is after its last entry. */
  readonly accounts: readonly StoredAccount[];
  readonly entries: readonly SealedEntry[];
  /** The tables that the entries were settled at. */
  readonly tables: readonly RateTable[];
}

/** An account with the head of its chain: its newest entry's sequence and hash. */
export interface StoredAccount extends Account {
  readonly sequence: number;
  readonly hash: string;
}

/** An entry with its text, which is what is kept of it, and its hash, in hexadecimal. */
export interface SealedEntry {
  readonly entry: Entry;
  readonly text: string;
  readonly hash: string;
}

export interface JournalPlace {
  readonly pesel: string;
  readonly sequence: number;
}
