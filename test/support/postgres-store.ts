import type { TestContext } from "node:test";
import type { Pesel } from "../../src/core/pesel.ts";
import type { Store, StoredAccount } from "../../src/ledger/store.ts";
import { Connection } from "../../src/postgres/connection.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { type PostgresHost, parsePostgresUrl } from "../../src/postgres/url.ts";
import { appending, groszEntry, openingEntry } from "./entries.ts";
import { createDatabase, type Database } from "./postgres.ts";

export async function emptyDatabase(t: TestContext): Promise<Database> {
  const database = await createDatabase();
  t.after(() => database.drop());
  return database;
}

export async function openStore(
  t: TestContext,
  url: string,
  options?: Parameters<typeof openPostgres>[1],
): Promise<Store> {
  const store = await openPostgres(url, options);
  t.after(() => store.close());
  return store;
}

/** One connection to the first host of a URL. */
export async function connect(t: TestContext, url: string): Promise<Connection> {
  const place = parsePostgresUrl(url);
  const connection = await Connection.open(place, place.hosts[0] as PostgresHost);
  t.after(() => connection.destroy());
  return connection;
}

export const touch = (pesel: Pesel) => ({ pesel, key: undefined });

export async function create(store: Store, pesel: Pesel): Promise<void> {
  await store.transact([touch(pesel)], () => appending([openingEntry(pesel)]));
}

/** Sells one grosz of each account, in one transaction. */
export async function sellGrosz(store: Store, pesels: readonly Pesel[], tries = { count: 0 }): Promise<void> {
  await store.transact(pesels.map(touch), (loaded) => {
    tries.count += 1;
    const decisions = pesels.map((pesel) => {
      const account = loaded.account(pesel) as StoredAccount;
      return appending([groszEntry(account)], account);
    });
    const accounts = decisions.flatMap(({ writes }) => writes.accounts);
    const entries = decisions.flatMap(({ writes }) => writes.entries);
    return { writes: { accounts, entries, tables: [] }, answer: undefined };
  });
}
