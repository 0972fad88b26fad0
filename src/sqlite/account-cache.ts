import type { Pesel } from "../core/pesel.ts";
import type { StoredAccount } from "../ledger/store.ts";

/** An account with the position of its newest entry, from which the entries before it are found. */
export interface LinkedAccount {
  readonly account: StoredAccount;
  readonly newest: number;
}

const accountsKept = 100_000;

/**
 * Accounts as they were last read or written by this process, for as long as no other process has written to the
 * database. `version` changes with another process's commit, and not with one's own (SQLite's data_version).
 */
export class AccountCache {
  readonly #version: () => number;
  readonly #onForget: () => void;
  /** The older half is dropped as a whole, because deleting the first keys of a Map one by one gets ever slower. */
  #recent = new Map<Pesel, LinkedAccount>();
  #older = new Map<Pesel, LinkedAccount>();
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
      this.#recent.clear();
      this.#older.clear();
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
    const recent = this.#recent.get(pesel);
    if (recent !== undefined) return recent;
    const older = this.#older.get(pesel);
    if (older !== undefined) this.put(pesel, older);
    return older;
  }

  put(pesel: Pesel, account: LinkedAccount): void {
    this.#recent.set(pesel, account);
    if (this.#recent.size < accountsKept / 2) return;
    this.#older = this.#recent;
    this.#recent = new Map();
  }
}
