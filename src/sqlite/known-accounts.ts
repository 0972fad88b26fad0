import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import type { Pesel } from "../core/pesel.ts";
import type { StoredAccount } from "../ledger/store.ts";

/** They take some 50 MB. */
const kept = 100_000;

/** A cache of accounts as this process last read or wrote them, valid until another process commits. */
export class KnownAccounts {
  readonly #dataVersion: StatementSyncInstance;
  readonly #accounts = new Map<Pesel, StoredAccount>();
  #version: unknown;

  constructor(database: DatabaseSyncInstance) {
    // It changes with the commits of other connections alone.
    this.#dataVersion = database.prepare("pragma data_version");
  }

  /** Forgets all accounts if another process has committed. Call it first in a transaction. */
  refresh(): void {
    const { data_version: version } = this.#dataVersion.get() as { data_version: number };
    if (version !== this.#version) this.#accounts.clear();
    this.#version = version;
  }

  get(pesel: Pesel): StoredAccount | undefined {
    return this.#accounts.get(pesel);
  }

  set(account: StoredAccount): void {
    if (this.#accounts.size >= kept) this.#accounts.clear();
    this.#accounts.set(account.pesel, account);
  }
}
