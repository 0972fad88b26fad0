import type { Pesel } from "../core/pesel.ts";
import { Recent } from "../ledger/recent.ts";
import { decodeAccount, peselText } from "../ledger/rows.ts";
import type { AccountRow, StoredAccount } from "../ledger/store.ts";
import { type Connection, listOf, listText, type Row } from "./connection.ts";

export const movingColumns = ["pesel", "balances", "sequence", "hash", "time", "closed"] as const;
export const accountColumns = ["name", "surname", ...movingColumns] as const;

const known = `unnest(${listOf(1, "bigint")}, ${listOf(2, "text")}) as known (pesel, hash)`;
const others = accountColumns.filter((column) => column !== "pesel");

/** A row for each account whose hash is another than the known one: of nulls, where there is no account. */
const selectChanged =
  `select known.pesel, ${others.map((column) => `account.${column}`).join(", ")} ` +
  `from ${known} left join account on account.pesel = known.pesel where account.hash is distinct from known.hash`;

/** A row for each account there is: of nulls, where its hash is the known one. */
const lockAccounts =
  `select account.pesel, ${others
    .map(
      (column) =>
        `case when account.hash is distinct from known.hash then account.${column} end as ${column}`,
    )
    .join(", ")} ` +
  `from ${known} join account on account.pesel = known.pesel order by account.pesel for update of account`;

/**
 * Accounts as they were last read or written by this process. Each time the database is asked whether it still has them
 * so: an account of the same hash is the same, whichever process wrote it and whichever server answers. To send the hash
 * costs both ends less than to read the row (docs/PERFORMANCE.md).
 */
export class KnownAccounts {
  readonly #accounts = new Recent<Pesel, StoredAccount>();

  /** Each as it is now; those that are not there are left out. */
  async read(connection: Connection, pesels: readonly Pesel[]): Promise<Map<Pesel, StoredAccount>> {
    const found = this.#known(pesels);
    for (const row of await connection.query(selectChanged, listsOf(pesels, found))) {
      const account = this.#accountOf(row);
      if (account === undefined) found.delete(peselText(row.pesel as number) as Pesel);
      else found.set(account.pesel, account);
    }
    return found;
  }

  /** The same, locked in the order of their PESELs until the transaction ends. */
  async lock(connection: Connection, pesels: readonly Pesel[]): Promise<Map<Pesel, StoredAccount>> {
    const found = new Map<Pesel, StoredAccount>();
    if (pesels.length === 0) return found;
    const before = this.#known(pesels);
    for (const row of await connection.query(lockAccounts, listsOf(pesels, before))) {
      const pesel = peselText(row.pesel as number) as Pesel;
      const account = this.#accountOf(row) ?? before.get(pesel);
      if (account !== undefined) found.set(pesel, account);
    }
    return found;
  }

  put(account: StoredAccount): void {
    this.#accounts.put(account.pesel, account);
  }

  #known(pesels: readonly Pesel[]): Map<Pesel, StoredAccount> {
    const accounts = new Map<Pesel, StoredAccount>();
    for (const pesel of pesels) {
      const account = this.#accounts.get(pesel);
      if (account !== undefined) accounts.set(pesel, account);
    }
    return accounts;
  }

  #accountOf(row: Row): StoredAccount | undefined {
    if (row.hash === null) return undefined;
    const account = decodeAccount(row as unknown as AccountRow);
    this.put(account);
    return account;
  }
}

function listsOf(pesels: readonly Pesel[], known: ReadonlyMap<Pesel, StoredAccount>): string[] {
  return [listText(pesels), listText(pesels.map((pesel) => known.get(pesel)?.hash ?? null))];
}
