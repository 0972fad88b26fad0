import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Decision, Writes } from "../../src/ledger/store.ts";
import { Connection } from "../../src/postgres/connection.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { Transaction } from "../../src/postgres/transaction.ts";
import { type PostgresHost, parsePostgresUrl } from "../../src/postgres/url.ts";
import { appending, groszEntry, openingEntry } from "../support/entries.ts";
import { adult, now, opening, table, terms, tradedRates } from "../support/fixture.ts";
import { createDatabase } from "../support/postgres.ts";

const order = (key: string) => ({ ...terms("buy 1 USD for PLN"), pesel: adult(), key });

async function start(t: TestContext, serializable = false) {
  const database = await createDatabase();
  t.after(() => database.drop());
  const store = await openPostgres(database.url, { serializable });
  t.after(() => store.close());
  const service = new LedgerService(store, await tradedRates(store));
  await service.createAccount(opening());
  return { database, service };
}

describe("a transaction in which the server forgets what was prepared", () => {
  const moments: [after: string, then: string][] = [
    ["update on account", "the insert of the entry"],
    ["insert on account", "the insert of the opening"],
  ];
  for (const serializable of [false, true]) {
    for (const [after, then] of moments) {
      const name = `before ${then} is done once, and whole${serializable ? ", if serializable" : ""}`;
      test(name, async (t) => {
        const { database, service } = await start(t, serializable);
        await database.run(`
          create sequence times;
          create function forget() returns trigger language plpgsql as
            $$ begin if nextval('times') = 1 then execute 'deallocate all'; end if; return null; end $$;
          create trigger forget after ${after} for each statement execute function forget()`);
        await Promise.all([
          service.createAccount(opening({ index: 1 })),
          service.exchange(order("second")),
          service.exchange(order("third")),
        ]);
        const [{ last_value: times } = {}] = await database.run("select last_value::int from times");
        assert.equal(times, 2, "it was forgotten, and all of it was done again");
        const entries = await database.run("select from journal");
        assert.equal(entries.length, 4);
        assert.deepEqual((await service.audit()).findings, []);
      });
    }
  }
});

describe("a write outside of its transaction is refused, and changes nothing:", () => {
  const nothing: Writes = { accounts: [], entries: [] };
  const kinds: [what: string, only: (all: Writes) => Writes][] = [
    ["of an account or its changes", ({ accounts }) => ({ ...nothing, accounts })],
    ["of an entry", ({ entries }) => ({ ...nothing, entries })],
    ["of a table that comes into force", ({ accepted }) => ({ ...nothing, accepted })],
  ];
  for (const isNew of [true, false]) {
    for (const [what, only] of kinds) {
      test(`${what}${isNew ? "" : ", where the account is there"}`, async (t) => {
        const { database } = await start(t);
        const pesel = isNew ? adult(1) : adult();
        const transaction = new Transaction(
          [{ pesel, key: undefined }],
          (loaded): Decision<undefined> => {
            const account = loaded.account(pesel);
            const next = account === undefined ? openingEntry(pesel) : groszEntry(account);
            const { writes } = appending([next], account);
            return {
              writes: only({ ...writes, accepted: { table, at: now, overriddenBy: undefined } }),
              answer: undefined,
            };
          },
          { serializable: false, tables: { byId: new Map(), inForce: undefined } },
        );
        const before = await contents(database);
        await assert.rejects(transaction.try(await withoutTransactions(t, database.url)), {
          message: /a write outside of its transaction/,
        });
        assert.deepEqual(await contents(database), before);
      });
    }
  }
});

async function contents(database: { run(sql: string): Promise<readonly unknown[]> }) {
  const tables = [
    "select * from account order by 1",
    "select * from journal order by 1, 2",
    "select * from rate_table",
    "select * from accepted_table",
  ];
  return Promise.all(tables.map(async (sql) => [...(await database.run(sql))]));
}

/** A connection that begins no transaction, as what is sent after a ROLLBACK that nobody knows of. */
async function withoutTransactions(t: TestContext, url: string): Promise<Connection> {
  const place = parsePostgresUrl(url);
  const connection = await Connection.open(place, place.hosts[0] as PostgresHost);
  t.after(() => connection.close());
  const query = connection.query.bind(connection);
  connection.query = (text, parameters) =>
    query(/^(begin|commit|rollback)/.test(text) ? "select 1" : text, parameters);
  return connection;
}
