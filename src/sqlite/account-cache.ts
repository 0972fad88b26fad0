import type { Pesel } from "../core/pesel.ts";
import { Recent } from "../ledger/recent.ts";
import type { StoredAccount } from "../ledger/store.ts";

/** An account with the position of its newest entry, from which the entries before it are found. */
export interface LinkedAccount {
  readonly account: StoredAccount;
  readonly newest: number;
}

/** The end of an account's chain while a transaction adds to it. */
export interface Head {
  /** The PESEL as the database has it. */
  readonly number: number;
  newest: number | null;
  readonly isNew: boolean;
  isRenamed: boolean;
}

/** @param newest of an account that is new, null */
export function headOf(pesel: Pesel, newest: number | null): Head {
  return { number: Number(pesel), newest, isNew: newest === null, isRenamed: false };
}

/**
 * Accounts as they were last read or written by this process, for as long as no other process has written to the
 * database. `version` changes with another process's commit, and not with one's own (SQLite's data_version).
 */
export class AccountCache {
  readonly #version: () => number;
  readonly #onForget: () => void;
  readonly #accounts = new Recent<Pesel, LinkedAccount>();
  #knownVersion = Number.NaN;
  #refreshed = false;

  constructor(version: () => number, onForget: () => void) {
    this.#version = version;
    this.#onForget = onForget;
  }

  /** Forgets everything if another process has written. Within a transaction nobody can write after. */
  refresh(): void {
    const version = this.#version();
    if (version !== this.#knownVersion) {
      this.#accounts.clear();
      this.#onForget();
    }
    this.#knownVersion = version;
  }

  /** For reads: what another process commits is seen from the next turn of the event loop on. */
  refreshOnceATurn(): void {
    if (this.#refreshed) return;
    this.#refreshed = true;
    setImmediate(() => {
      this.#refreshed = false;
    });
    this.refresh();
  }

  get(pesel: Pesel): LinkedAccount | undefined {
    return this.#accounts.get(pesel);
  }

  put(pesel: Pesel, account: LinkedAccount): void {
    this.#accounts.put(pesel, account);
  }
}
