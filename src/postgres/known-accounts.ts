import type { Pesel } from "../core/pesel.ts";
import { Recent } from "../ledger/recent.ts";
import { decodeAccount, peselText } from "../ledger/rows.ts";
import type { AccountRow, StoredAccount } from "../ledger/store.ts";
import { type Connection, listOf, listText, type Row } from "./connection.ts";
import { accountColumns } from "./transaction.ts";

const others = accountColumns.filter((column) => column !== "pesel");

/** A row for each account whose hash is another than the known one: of nulls, where there is no account. */
const selectChanged =
  `select known.pesel, ${others.map((column) => `account.${column}`).join(", ")} ` +
  `from unnest(${listOf(1, "bigint")}, ${listOf(2, "text")}) as known (pesel, hash) ` +
  "left join account on account.pesel = known.pesel where account.hash is distinct from known.hash";

/**
 * Accounts as this process last read them or decided to write them. Each time the database is asked which of them are
 * others now: an account of the same hash is the same, whichever process wrote it and whichever server answers. That
 * costs both ends less than to send and to read the rows (docs/PERFORMANCE.md).
 */
export class KnownAccounts {
  readonly #accounts = new Recent<Pesel, StoredAccount>();

  /** Takes those whose commit fails, too: in the database they have another hash. */
  add(accounts: readonly StoredAccount[]): void {
    for (const account of accounts) this.#accounts.put(account.pesel, account);
  }

  /** Each as it is now, in their order. */
  async read(connection: Connection, pesels: readonly Pesel[]): Promise<(StoredAccount | undefined)[]> {
    const known = pesels.map((pesel) => this.#accounts.get(pesel));
    const hashes = known.map((account) => account?.hash ?? null);
    const rows = await connection.query(selectChanged, [listText(pesels), listText(hashes)]);
    if (rows.length === 0) return known;
    const changed = new Map(rows.map((row) => [peselText(row.pesel as number), this.#decode(row)]));
    return pesels.map((pesel, index) => (changed.has(pesel) ? changed.get(pesel) : known[index]));
  }

  #decode(row: Row): StoredAccount | undefined {
    if (row.hash === null) return undefined;
    const account = decodeAccount(row as unknown as AccountRow);
    this.#accounts.put(account.pesel, account);
    return account;
  }
}
