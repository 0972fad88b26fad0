import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import type { Pesel } from "../core/pesel.ts";
import type { TableInForce } from "../core/rates.ts";
import type { StoredAccount } from "../ledger/store.ts";
import { numberFrom } from "./schema.ts";

/** They take some 50 MB. */
const accountsAtMost = 100_000;

/** A cache of what this process last read or wrote, valid until another process commits. */
export class ReadCache {
  readonly #dataVersion: StatementSyncInstance;
  readonly #accounts = new Map<Pesel, StoredAccount>();
  #version: number | undefined;
  inForce: TableInForce | undefined;

  constructor(database: DatabaseSyncInstance) {
    // It changes with the commits of other connections alone.
    this.#dataVersion = database.prepare("pragma data_version");
  }

  /** Forgets everything if another process has committed. Call it first in a transaction. */
  refresh(): void {
    const version = numberFrom(this.#dataVersion);
    if (version === this.#version) return;
    this.#version = version;
    this.#accounts.clear();
    this.inForce = undefined;
  }

  account(pesel: Pesel): StoredAccount | undefined {
    return this.#accounts.get(pesel);
  }

  keep(account: StoredAccount): void {
    if (this.#accounts.size >= accountsAtMost) this.#accounts.clear();
    this.#accounts.set(account.pesel, account);
  }
}
