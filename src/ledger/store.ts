import type { Account, Holder } from "../core/account.ts";
import type { ErrorCode } from "../core/errors.ts";
import type { Entry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import type { AcceptedTable, RateTable, TableInForce, TableLedger } from "../core/rates.ts";

/**
 * Where accounts, the journal and the tables are kept. One suite, test/ledger/store.contract.ts, holds for every
 * adapter. A method that cannot do its work fails with FxError storage-unavailable.
 */
export interface Store extends TableLedger {
  /**
   * One durable transaction: loads and locks the accounts that are touched, lets `decide` say what to write, and
   * writes it. Resolves when all of it is durable, to the answer that was decided with it; rejects when none of it is,
   * or when that cannot be known. `decide` is pure and may be called again, when a conflict with another process, a
   * lost connection or a key that turns out to be taken makes the store start again.
   */
  transact<T>(touched: readonly Touch[], decide: (loaded: Loaded) => Decision<T>): Promise<T>;
  /** Lets `see` have what `transact` would load, at one moment. Locks and writes nothing, and gives no ids. */
  look<T>(touched: readonly Touch[], see: (loaded: Loaded) => T): Promise<T>;
  account(pesel: Pesel): Promise<StoredAccount | undefined>;
  /** By PESEL, from the one after `after`: all, or those of whose names a word begins with each of `name`. */
  accounts(page: AccountsPage): Promise<StoredAccount[]>;
  /** Entries of one account, newest first, from the one before that of the sequence `before`. */
  statement(
    pesel: Pesel,
    page: { before?: number | undefined; limit: number },
  ): Promise<readonly FoundEntry[]>;
  /** The entry of this sequence, which the account has. */
  entryOf(pesel: Pesel, sequence: number): Promise<AnsweredEntry>;
  /**
   * Entries in the order of commits, each after `after` and up to `through`, which are positions. Positions may have gaps.
   * In a store that commits several transactions at once, one with a lower position may be committed later; but an
   * account's positions rise with its sequence.
   */
  journal(page: {
    after?: number | undefined;
    through?: number | undefined;
    limit: number;
  }): Promise<readonly JournalRow[]>;
  /** The highest position in the journal, about as high as the number of its entries; 0 if it is empty. */
  lastPosition(): Promise<number>;
  /** Entries whose ids, which are UUIDs, are from `first` to `last`, in no order. */
  entriesBetween(first: string, last: string, limit: number): Promise<readonly FoundEntry[]>;
  /** Rows of a table beside the journal as they are, although they may be damaged, from the one after `after`. */
  rows<Name extends keyof KeptRows>(
    name: Name,
    page: { after?: string | number | undefined; limit: number },
  ): Promise<KeptRows[Name][]>;
  /** For an audit: PESELs after `after` up to `through` that words lead to, and that have no account. */
  strayWords(range: { after?: string | undefined; through?: string | undefined }): Promise<string[]>;
  table(id: string): Promise<RateTable | undefined>;
  /** Fails unless the store answers now. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** The version of the schema, in every database. There is no way from another version to this one. */
export const schemaVersion = 1;

/** "read" writes nothing. Only "create" makes a ledger where there is none; it is the default. */
export type Access = "read" | "write" | "create";

/** How a store is opened. */
export interface OpenOptions {
  readonly access?: Access | undefined;
  /** Called with what an operator should know about the database. */
  readonly onNotice?: ((notice: string) => void) | undefined;
}

/** An account that a transaction is about, and the idempotency key under which to look for an earlier answer. */
export interface Touch {
  readonly pesel: Pesel;
  readonly key?: string | undefined;
  /** The id of the entry that is to be reversed. */
  readonly reverses?: string | undefined;
}

/** What a transaction has read. Each throws DamagedLedger if what is asked for cannot be. */
export interface Loaded {
  /** As committed when this transaction read it, after it had locked the accounts. */
  inForce(): TableInForce | undefined;
  account(pesel: Pesel): StoredAccount | undefined;
  /** The account's entry with this key, or else the refusal kept under it. The key is one of those touched. */
  answered(pesel: Pesel, key: string): AnsweredEntry | Refusal | undefined;
  /** The entry of this id, one of those touched. */
  entry(id: string): FoundEntry | undefined;
  /** The id of the next entry to be written. */
  nextId(): string;
}

/** What to write, and what to answer once it is written. */
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
  /** A table that comes into force with this, as the next epoch. It is kept, too. */
  readonly accepted?:
    | (Pick<AcceptedTable, "at" | "overriddenBy"> & { readonly table: RateTable })
    | undefined;
  /** Refusals to keep, each in place of one with the same key. Earlier ones may be deleted: see `RefusalLimits`. */
  readonly refusals?: { readonly kept: readonly Refusal[]; readonly limits: RefusalLimits } | undefined;
}

/** The refusal of a request with an idempotency key: its answer for as long as this is kept. */
export interface Refusal {
  readonly pesel: Pesel;
  readonly key: string;
  /** The name of the token that the request came with. */
  readonly by: string | undefined;
  /** Of what was asked for. */
  readonly digest: string;
  readonly code: ErrorCode;
  readonly message: string;
  readonly time: Date;
}

/**
 * Refusals from before `since` are deleted, and the oldest if there are more than `most`; not all in one transaction.
 */
export interface RefusalLimits {
  readonly since: Date;
  readonly most: number;
}

/** An account with the head of its chain: its newest entry's sequence and hash. */
export interface StoredAccount extends Account {
  readonly sequence: number;
  readonly hash: string;
  /** Of the newest entry. */
  readonly time: Date;
}

/** An entry with its text, which is what is kept of it, and its hash, in hexadecimal. */
export interface SealedEntry {
  readonly entry: Entry;
  readonly text: string;
  readonly hash: string;
}

/** An entry, and the id of its reversal. */
export interface FoundEntry extends SealedEntry {
  readonly reversedBy: string | undefined;
}

/** An entry, such as the one that an earlier request led to. */
export interface AnsweredEntry extends Pick<FoundEntry, "entry" | "reversedBy"> {
  /** Whose the account was after it. */
  readonly holder: Holder;
}

export interface AccountsPage {
  readonly after?: string | undefined;
  readonly limit: number;
  /** As `nameWords` gives them. */
  readonly name?: readonly string[] | undefined;
}

/** A row of the table `account`. */
export interface AccountRow {
  readonly pesel: string;
  readonly name: string;
  readonly surname: string;
  /** Of the newest entry. */
  readonly sequence: number;
  /** The rows of `name_word`, by which it is found: words in any order, with spaces between. */
  readonly words: string;
}

/** A row of the table `journal`: what the entry is found by, the text of it, and its hash. */
export interface JournalRow {
  readonly position: number;
  readonly pesel: string;
  readonly sequence: number;
  readonly entry: string;
  readonly hash: string;
}

/** A row of the table `refusal`. */
export interface RefusalRow {
  readonly pesel: string;
  readonly idempotency_key: string;
  readonly digest: string;
  readonly code: string;
  readonly message: string;
  /** In milliseconds since 1970. */
  readonly refused_at: number;
  readonly asked_by: string | null;
  readonly hash: string;
}

/** A row of the table `identity_key`. */
export interface IdentityKeyRow {
  readonly id: number;
  readonly value: string;
  readonly hash: string;
}

/** A row of the table `rate_table`. */
export interface RateTableRow {
  readonly id: string;
  readonly source: string;
  readonly number: string;
  readonly trading_date: string;
  readonly effective_date: string;
  readonly rates: string;
}

/** A row of the table `accepted_table`. */
export interface AcceptedTableRow {
  readonly epoch: number;
  readonly table_id: string;
  /** In milliseconds since 1970. */
  readonly accepted_at: number;
  readonly overridden_by: string | null;
  readonly hash: string;
}

/** The tables that `Store.rows` reads, their rows, and the column that they are paged by. */
export interface KeptRows {
  readonly account: AccountRow;
  readonly accepted_table: AcceptedTableRow;
  readonly identity_key: IdentityKeyRow;
  readonly rate_table: RateTableRow;
  readonly refusal: RefusalRow & { readonly position: number };
}

export const pagedBy = {
  account: "pesel",
  accepted_table: "epoch",
  identity_key: "id",
  rate_table: "id",
  refusal: "position",
} as const satisfies Record<keyof KeptRows, string>;
