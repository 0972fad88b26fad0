import type { Pesel } from "../core/pesel.ts";

const accountsKept = 100_000;

/**
 * Accounts as they were last read or written by this process, for as long as no other process has written to the
 * database. `version` tells: it changes with another's commit, and not with one's own (SQLite's data_version).
 */
export class AccountCache<A> {
  readonly #version: () => number;
  readonly #accounts = new Map<Pesel, A>();
  #knownVersion = Number.NaN;
  #refreshed = false;

  constructor(version: () => number) {
    this.#version = version;
  }

  /** Forgets everything if another process has written. Within a transaction nobody can write after. */
  refresh(): void {
    const version = this.#version();
    if (version !== this.#knownVersion) this.#accounts.clear();
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

  get(pesel: Pesel): A | undefined {
    return this.#accounts.get(pesel);
  }

  put(pesel: Pesel, account: A): void {
    this.#accounts.set(pesel, account);
    if (this.#accounts.size <= accountsKept) return;
    const [oldest] = this.#accounts.keys();
    if (oldest !== undefined) this.#accounts.delete(oldest);
  }
}
