import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { schemaVersion } from "../../src/ledger/store.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { adult } from "../support/fixture.ts";
import { runSql, sharedServer, startPostgres } from "../support/postgres.ts";
import { create, emptyDatabase, openStore, sellGrosz } from "../support/postgres-store.ts";

function withUrl(url: string, change: (url: URL) => void): string {
  const changed = new URL(url);
  change(changed);
  return changed.href;
}

describe("Opening a PostgreSQL database", () => {
  test("Ten stores that open an empty database at once make one schema", async (t) => {
    for (let round = 0; round < 3; round += 1) {
      const { url, run } = await emptyDatabase(t);
      const stores = await Promise.all(Array.from({ length: 10 }, () => openStore(t, url)));
      await Promise.all(stores.map((store, index) => create(store, adult(index))));
      assert.equal((await stores[0]?.accounts({ limit: 100 }))?.length, 10);
      assert.deepEqual(
        [...(await run("select id, version from fx_schema"))],
        [{ id: 1, version: schemaVersion }],
      );
      await Promise.all(stores.map((store) => store.close()));
    }
  });

  test("A database with an index that an operator added is opened", async (t) => {
    const { url, run } = await emptyDatabase(t);
    await (await openStore(t, url)).close();
    await run("create index by_surname on account (surname)");
    await openStore(t, url, { access: "read" });
  });

  test("An empty database is refused and stays empty unless a ledger is to be created", async (t) => {
    const { url, run } = await emptyDatabase(t);
    for (const access of ["read", "write"] as const) {
      await assert.rejects(openPostgres(url, { access }), {
        code: "storage-unavailable",
        message: /holds no ledger yet\. fx serve, fx account create and fx batch create one/,
      });
    }
    const tables = await run("select from information_schema.tables where table_schema = current_schema()");
    assert.equal(tables.length, 0);
  });

  test("A database with another program's table of the same name is refused and left alone", async (t) => {
    const { url, run } = await emptyDatabase(t);
    await run("create table account (id integer)");
    await assert.rejects(openPostgres(url), {
      code: "storage-unavailable",
      message: /"account" that is not fx's/,
    });
    assert.equal(
      (await run("select from information_schema.tables where table_name = 'fx_schema'")).length,
      0,
    );
  });

  test("A ledger is not begun in a schema that would hide one in a later schema of the search path", async (t) => {
    const { url, run } = await emptyDatabase(t);
    await (await openStore(t, url)).close();
    await run("create schema own");
    await run(
      "do $$ begin execute format('alter database %I set search_path = own, public', current_database()); end $$",
    );
    await assert.rejects(openPostgres(url), {
      code: "storage-unavailable",
      message: /^The schema "own" has no ledger, and comes before "public".* set search_path = "public"\.$/,
    });
    assert.equal((await run("select to_regclass('own.fx_schema') as made"))[0]?.made, null);
    await run("drop schema own");
  });

  test("A database whose encoding is not UTF-8 is refused", async (t) => {
    const admin = await sharedServer();
    const name = "fx_test_latin1";
    t.after(() => runSql(admin, `drop database ${name} with (force)`));
    await runSql(
      admin,
      `create database ${name} encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C'`,
    );
    const url = withUrl(await sharedServer(), (at) => {
      at.pathname = `/${name}`;
    });
    await assert.rejects(openPostgres(url), { code: "storage-unavailable", message: /encoding is LATIN1/ });
  });

  const secret = "hunter2-secret";
  const refused: [what: string, change: (url: URL) => void, message: RegExp][] = [
    [
      "a wrong password",
      (url) => {
        url.password = secret;
      },
      /password authentication failed.*Check the user/,
    ],
    [
      "no password",
      (url) => {
        url.password = "";
      },
      /it asks for a password, and neither the URL nor PGPASSWORD has one/,
    ],
    [
      "no such database",
      (url) => {
        url.pathname = "/no_such";
      },
      /"no_such" does not exist. Create it/,
    ],
    [
      "nothing that answers",
      (url) => {
        url.port = "9";
        url.password = secret;
      },
      /nothing answers at 127.0.0.1:9/,
    ],
    [
      "a host without an address",
      (url) => {
        url.hostname = "no-such-host.invalid";
      },
      /no-such-host.invalid/,
    ],
    [
      "a server that must be verified and has no TLS",
      (url) => {
        url.search = "?sslmode=verify-full";
      },
      /it has no TLS, which sslmode asks for/,
    ],
  ];
  for (const [what, change, message] of refused) {
    test(`A database with ${what} is refused at once and without the password`, async (t) => {
      const { url } = await emptyDatabase(t);
      // A failure that is retried until the deadline would not end before the test.
      const failure: Error = await openPostgres(withUrl(url, change), { deadlineMs: 600_000 }).then(
        () => assert.fail("it was opened"),
        (error) => error,
      );
      assert.match(failure.message, message);
      assert.ok(!`${failure.stack}${JSON.stringify(failure)}`.includes(secret));
    });
  }

  test("A host that is down, a standby and a database set to read-only are passed over", async (t) => {
    const primary = await startPostgres();
    const { password } = primary;
    const standby = await startPostgres({ standbyOf: primary });
    const frozen = await startPostgres({ password, settings: { default_transaction_read_only: "on" } });
    t.after(() => Promise.all([primary, standby, frozen].map((server) => server.stop())));
    await assert.rejects(openPostgres(`${standby.url}?deadline=2`), {
      message: /it takes no writes: it is a standby/,
    });
    await assert.rejects(openPostgres(`${frozen.url}?deadline=4`), {
      message: /or default_transaction_read_only is on there\. Nothing was changed/,
    });
    const ports = [9, standby.port, frozen.port, primary.port];
    const hosts = ports.map((port) => `127.0.0.1:${port}`).join(",");
    const store = await openStore(t, `postgres://fx:${password}@${hosts}/postgres`);
    await create(store, adult());
    assert.equal((await store.account(adult()))?.sequence, 1);
  });

  test("A database that is set to read-only while it is open says so, and takes orders again afterwards", async (t) => {
    const { url, run } = await emptyDatabase(t);
    const store = await openStore(t, url, { deadlineMs: 4000 });
    await create(store, adult());
    const freeze = (value: string) => `do $$ begin execute format(
      'alter database %I set default_transaction_read_only = ${value}', current_database()); end $$`;
    await run(freeze("on"));
    await run(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'fx' and datname = current_database()",
    );
    await assert.rejects(sellGrosz(store, [adult()]), {
      message: /default_transaction_read_only is on there/,
    });
    await run(`begin read write; ${freeze("off")}; commit`);
    await sellGrosz(store, [adult()]);
    assert.equal((await store.account(adult()))?.sequence, 2);
  });
});
