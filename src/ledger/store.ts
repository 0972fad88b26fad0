import type { Account } from "../core/account.ts";
import type { Pesel } from "../core/pesel.ts";
import type { RateTable, TableInForce, TableLedger } from "../core/rates.ts";
import type { AuditedRow, AuditedRows, NewEpoch, Refusal, SealedEntry } from "./rows.ts";

/**
 * The port to a database, which keeps accounts, the journal and rate tables. One suite, test/ledger/store.contract.ts,
 * holds for every adapter. A method that cannot do its work fails with FxError storage-unavailable.
 */
export interface Store extends TableLedger {
  /**
   * One durable transaction: reads what is looked up and locks the accounts, lets `decide` say what to write, and
   * writes it. Resolves to the answer of that decision when all of it is durable; rejects when none of it is, or when
   * that cannot be known. `decide` is pure and may be called again, after a conflict with another process or a lost
   * connection.
   */
  transact<T>(lookups: readonly Lookup[], decide: (view: LedgerView) => Decision<T>): Promise<T>;
  /** Lets `use` see what `transact` would, at one moment, without locks. */
  read<T>(lookups: readonly Lookup[], use: (view: LedgerView) => T): Promise<T>;
  /** The house's accounts are there before their first entry, too, with the sequence 0. */
  account(pesel: Pesel): Promise<StoredAccount | undefined>;
  /**
   * By PESEL, from the one after `after`: all, or those whose names have a word for each beginning in `name`. A damaged
   * account has no balances, and harms no other.
   */
  accounts(page: AccountsPage): Promise<(StoredAccount | DamagedAccount)[]>;
  /** Entries of one account with sequences below `before`, newest first. */
  statement(
    pesel: Pesel,
    page: { before?: number | undefined; limit: number },
  ): Promise<readonly FoundEntry[]>;
  /**
   * The journal in the order of commits: what is committed later has a higher position. Positions may have gaps. It ends
   * before a damaged entry, and fails with DamagedLedger if that is the first.
   */
  entries(page: JournalPage): Promise<readonly PlacedEntry[]>;
  journalEnd(): Promise<JournalEnd>;
  /** Entries with these ids, in no order. */
  entriesBetween(ids: IdRange, limit: number): Promise<readonly FoundEntry[]>;
  /** The places in the journal of the first and the last of the entries with these ids; undefined if there are none. */
  positionsBetween(ids: IdRange): Promise<{ readonly first: number; readonly last: number } | undefined>;
  /** Rows of a table as they are, although they may be damaged, by their primary keys. */
  rows<Name extends keyof AuditedRows>(name: Name, page: RowsPage): Promise<AuditedRow<Name>[]>;
  /** PESELs after `after` up to `through` that words of names lead to, and that have no account. */
  orphanWords(range: { after?: string | undefined; through?: string | undefined }): Promise<string[]>;
  /** The refusals of one person's requests, oldest first, and the words of names by which the account is found. */
  besideEntries(
    pesel: Pesel,
  ): Promise<{ readonly refusals: readonly Refusal[]; readonly words: readonly string[] }>;
  table(id: string): Promise<RateTable | undefined>;
  /** Fails unless the store answers now. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** The version of the schema, in every database. There are no migrations from another version. */
export const schemaVersion = 1;

/** "read" writes nothing. Only "create" makes a ledger where there is none; it is the default. */
export type Access = "read" | "write" | "create";

/** How a store is opened. */
export interface OpenOptions {
  readonly access?: Access | undefined;
  /** Called with what an operator should know about the database. */
  readonly onNotice?: ((notice: string) => void) | undefined;
}

/** An account that a request is about, and the idempotency key under which it may have been answered. */
export interface Lookup {
  readonly pesel: Pesel;
  readonly key?: string | undefined;
  /** The id of the entry that is to be reversed. */
  readonly reverses?: string | undefined;
}

/** The part of the ledger that was looked up. Each method throws DamagedLedger if what it reads is damaged. */
export interface LedgerView {
  /** The table in force, as committed when this transaction read it after it had locked the accounts. */
  inForce(): TableInForce | undefined;
  account(pesel: Pesel): StoredAccount | undefined;
  /** The account's entry with this key, or else the refusal kept under it. */
  answered(pesel: Pesel, key: string): FoundEntry | Refusal | undefined;
  entry(id: string): FoundEntry | undefined;
}

/** Rows to write, and the answer to give once they are durable. */
export interface Decision<T> {
  readonly writes: Writes;
  readonly answer: T;
}

export interface Writes {
  /** Each account once, as it is after its last entry. */
  readonly accounts: readonly StoredAccount[];
  readonly entries: readonly SealedEntry[];
  /** Rate tables to keep, unless they are kept already. */
  readonly tables?: readonly RateTable[] | undefined;
  /** The next epoch, which begins with this. Its table is kept, too. */
  readonly accepted?: NewEpoch | undefined;
  /** Refusals to keep, each in place of one with the same key. Earlier ones may be deleted: see `RefusalLimits`. */
  readonly refusals?: { readonly kept: readonly Refusal[]; readonly limits: RefusalLimits } | undefined;
}

/**
 * Refusals from before `since` are deleted, and the oldest if there are more than `most`; not all in one transaction.
 */
export interface RefusalLimits {
  readonly since: Date;
  readonly most: number;
}

/** An account with the sequence, hash and time of its newest entry. */
export interface StoredAccount extends Account {
  readonly sequence: number;
  readonly hash: string;
  readonly time: Date;
}

/** An account that cannot be read, with the names of its row and without balances. */
export interface DamagedAccount extends Account {
  readonly damaged: true;
}

/** An entry, and the id of its reversal. */
export interface FoundEntry extends SealedEntry {
  readonly reversedBy: string | undefined;
}

export interface PlacedEntry extends FoundEntry {
  readonly position: number;
}

export interface JournalEnd {
  /** The highest position; 0 if the journal is empty. */
  readonly position: number;
  /** Whether an entry is at a position that no store gives, where not every read of the journal comes. */
  readonly misplaced: boolean;
  /** The number of entries at the same moment, by the accounts' rows. */
  readonly entries: number;
}

/** Up to `limit` rows with primary keys after `after`, none past `through`. */
export interface RowsPage {
  readonly after?: string | number | undefined;
  readonly through?: number | undefined;
  readonly limit: number;
}

/** Primary keys of the journal are positions. */
export interface JournalPage extends RowsPage {
  readonly after: number;
}

/** The ids, which are UUIDs, from `first` to `last`. */
export interface IdRange {
  readonly first: string;
  readonly last: string;
}

export interface AccountsPage {
  readonly after?: string | undefined;
  readonly limit: number;
  /** Beginnings of words, in the form of `nameWords`. */
  readonly name?: readonly string[] | undefined;
}
