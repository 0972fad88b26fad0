import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import type { Pesel } from "../core/pesel.ts";
import type { TableInForce } from "../core/rates.ts";
import type { LedgerView, StoredAccount, Writes } from "../ledger/store.ts";

/** A cache of accounts and of the table in force as this process last read or wrote them, until another one commits. */
export class ReadCache {
  readonly #dataVersion: StatementSyncInstance;
  readonly #accounts = new Map<Pesel, StoredAccount>();
  #version: unknown;
  #inForce: TableInForce | undefined;
  readonly #accountsAtMost: number;

  /** @param accountsAtMost accounts to keep, besides those of one group: 100,000 take some 50 MB */
  constructor(database: DatabaseSyncInstance, accountsAtMost: number) {
    this.#accountsAtMost = accountsAtMost;
    // It changes with the commits of other connections alone.
    this.#dataVersion = database.prepare("pragma data_version");
  }

  /** Forgets everything if another process has committed, or too much is kept. Call it first in a transaction. */
  refresh(): void {
    const version = this.#dataVersion.get()?.data_version;
    if (version === this.#version && this.#accounts.size < this.#accountsAtMost) return;
    this.#version = version;
    this.#accounts.clear();
    this.#inForce = undefined;
  }

  account(pesel: Pesel): StoredAccount | undefined {
    return this.#accounts.get(pesel);
  }

  get inForce(): TableInForce | undefined {
    return this.#inForce;
  }

  /** A view that keeps what is read through it, and takes from `view` what is not kept. */
  over(view: LedgerView): LedgerView {
    return {
      ...view,
      account: (pesel) => this.account(pesel) ?? this.keep(view.account(pesel)),
      inForce: () => {
        this.#inForce ??= view.inForce();
        return this.#inForce;
      },
    };
  }

  /** Keeps what was committed. */
  written({ accounts, accepted }: Writes): void {
    for (const account of accounts) this.keep(account);
    if (accepted !== undefined) this.#inForce = undefined;
  }

  keep(account: StoredAccount | undefined): StoredAccount | undefined {
    if (account !== undefined) this.#accounts.set(account.pesel, account);
    return account;
  }
}
