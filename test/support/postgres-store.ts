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

export function create(store: Store, pesel: Pesel): Promise<StoredAccount> {
  // The id stays the same if the transaction is run again, and the time does not.
  const { id } = openingEntry(pesel);
  return store.transact([touch(pesel)], () => appending([openingEntry(pesel, { id, time: new Date() })]));
}

/** Sells one grosz of each account, in one transaction. Resolves to the first account after it. */
export function sellGrosz(
  store: Store,
  pesels: readonly Pesel[],
  tries = { count: 0 },
): Promise<StoredAccount> {
  const ids = pesels.map((pesel) => openingEntry(pesel).id);
  return store.transact(pesels.map(touch), (loaded) => {
    tries.count += 1;
    const decisions = pesels.map((pesel, nth) => {
      const account = loaded.account(pesel) as StoredAccount;
      return appending([groszEntry(account, { id: ids[nth] as string, time: new Date() })], account);
    });
    const accounts = decisions.flatMap(({ writes }) => writes.accounts);
    const entries = decisions.flatMap(({ writes }) => writes.entries);
    return { writes: { accounts, entries, tables: [] }, answer: accounts[0] as StoredAccount };
  });
}
