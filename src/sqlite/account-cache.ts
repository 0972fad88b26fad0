import type { Pesel } from "../core/pesel.ts";
import { Recent } from "../ledger/recent.ts";
import type { StoredAccount } from "../ledger/store.ts";

/**
 * Accounts as they were last read or written by this process, for as long as no other process has written to the
 * database. `version` changes with another process's commit, and not with one's own (SQLite's data_version).
 */
export class AccountCache {
  readonly #version: () => number;
  readonly #onForget: () => void;
  readonly #accounts = new Recent<Pesel, StoredAccount>();
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
    this.refresh();
    this.#refreshed = true;
    setImmediate(() => {
      this.#refreshed = false;
    });
  }

  get(pesel: Pesel): StoredAccount | undefined {
    return this.#accounts.get(pesel);
  }

  put(account: StoredAccount): void {
    this.#accounts.put(account.pesel, account);
  }
}
