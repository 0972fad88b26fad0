import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import postgres from "postgres";
import type { Pesel } from "../../src/core/pesel.ts";
import { auditLedger } from "../../src/ledger/audit.ts";
import type { Store, StoredAccount } from "../../src/ledger/store.ts";
import { Connection, listText } from "../../src/postgres/connection.ts";
import { countEntries, openPostgres } from "../../src/postgres/store.ts";
import { appending, groszEntry, openingEntry } from "../support/entries.ts";
import { adult } from "../support/fixture.ts";
import {
  createDatabase,
  type Database,
  inTransaction,
  sharedServer,
  startPostgres,
  untilBlocked,
} from "../support/postgres.ts";

async function emptyDatabase(t: TestContext): Promise<Database> {
  const database = await createDatabase();
  t.after(() => database.drop());
  return database;
}

async function openStore(
  t: TestContext,
  url: string,
  options?: Parameters<typeof openPostgres>[1],
): Promise<Store> {
  const store = await openPostgres(url, options);
  t.after(() => store.close());
  return store;
}

const touch = (pesel: Pesel) => ({ pesel, key: undefined });

async function create(store: Store, pesel: Pesel): Promise<void> {
  await store.transact([touch(pesel)], () => appending([openingEntry(pesel)]));
}

/** Sells one grosz from each of the accounts, in one transaction. */
async function sellGrosz(store: Store, pesels: readonly Pesel[], tries = { count: 0 }): Promise<void> {
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

/** The SQLSTATEs with which the server refuses statements from now on. */
function failuresOf(t: TestContext): string[] {
  const codes: string[] = [];
  const query = Connection.prototype.query;
  t.mock.method(
    Connection.prototype,
    "query",
    function (this: Connection, ...args: Parameters<typeof query>) {
      const answer = query.apply(this, args);
      answer.catch((error) => codes.push(error.code));
      return answer;
    },
  );
  return codes;
}

function withUrl(url: string, change: (url: URL) => void): string {
  const changed = new URL(url);
  change(changed);
  return changed.href;
}

describe("opening a PostgreSQL database", () => {
  test("by ten at once, when it is empty, leaves one schema that all of them use", async (t) => {
    for (let round = 0; round < 3; round += 1) {
      const { url, run } = await emptyDatabase(t);
      const stores = await Promise.all(Array.from({ length: 10 }, () => openStore(t, url)));
      await Promise.all(stores.map((store, index) => create(store, adult(index))));
      assert.equal((await stores[0]?.accounts({ limit: 100 }))?.length, 10);
      assert.deepEqual(
        [...(await run("select id, version from fx_schema"))],
        [{ id: 1, version: stores[0]?.schemaVersion }],
      );
      await Promise.all(stores.map((store) => store.close()));
    }
  });

  test("of a newer fx is refused, and leaves it alone", async (t) => {
    const { url, run } = await emptyDatabase(t);
    await (await openStore(t, url)).close();
    await run("update fx_schema set version = 99");
    await assert.rejects(openPostgres(url), { code: "storage-unavailable", message: /newer fx \(schema 99/ });
  });

  test("that is empty is refused unless a ledger is to be created, and stays empty", async (t) => {
    const { url, run } = await emptyDatabase(t);
    for (const access of ["read", "write"] as const) {
      await assert.rejects(openPostgres(url, { access }), {
        code: "storage-unavailable",
        message: /holds no ledger yet\. fx serve, fx account create and fx batch make one/,
      });
    }
    const tables = await run("select from information_schema.tables where table_schema = current_schema()");
    assert.equal(tables.length, 0);
  });

  test("with somebody else's table of the same name is refused, and leaves it alone", async (t) => {
    const { url, run } = await emptyDatabase(t);
    await run("create table account (id integer)");
    await assert.rejects(openPostgres(url), {
      code: "storage-unavailable",
      message: /"account" that is not of fx/,
    });
    assert.equal(
      (await run("select from information_schema.tables where table_name = 'fx_schema'")).length,
      0,
    );
  });

  test("whose encoding is not UTF-8 is refused", async (t) => {
    const admin = postgres(await sharedServer(), { max: 1 });
    const name = "fx_test_latin1";
    t.after(async () => {
      await admin.unsafe(`drop database ${name} with (force)`);
      await admin.end();
    });
    await admin.unsafe(
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
      "a parameter that the server does not know",
      (url) => {
        url.search = "?nonsense=1";
      },
      /"nonsense"/,
    ],
    [
      "an sslmode that there is not",
      (url) => {
        url.search = "?sslmode=maybe";
      },
      /sslmode is none of/,
    ],
    [
      "a server that must be verified and has no TLS",
      (url) => {
        url.search = "?sslmode=verify-full";
      },
      /asked for TLS/,
    ],
  ];
  for (const [what, change, message] of refused) {
    test(`that has ${what} says so, at once and without the password`, async (t) => {
      const { url } = await emptyDatabase(t);
      const started = performance.now();
      const failure: Error = await openPostgres(withUrl(url, change)).then(
        () => assert.fail("it was opened"),
        (error) => error,
      );
      assert.match(failure.message, message);
      assert.ok(!`${failure.stack}${JSON.stringify(failure)}`.includes(secret));
      assert.ok(performance.now() - started < 8000);
    });
  }

  test("passes over a host that is down and one that takes no writes", { timeout: 60_000 }, async (t) => {
    const standby = await startPostgres({ settings: { default_transaction_read_only: "on" } });
    t.after(() => standby.stop());
    await assert.rejects(openPostgres(`${standby.url}?deadline=0.5`), { message: /is a standby/ });
    const primary = await startPostgres({ password: standby.password });
    t.after(() => primary.stop());
    const hosts = ["127.0.0.1:9", `127.0.0.1:${standby.port}`, `127.0.0.1:${primary.port}`].join(",");
    const store = await openStore(t, `postgres://fx:${standby.password}@${hosts}/postgres`);
    await create(store, adult());
    assert.equal((await store.account(adult()))?.sequence, 1);
  });
});

describe("transactions that get into each other's way", () => {
  test("on the same accounts in opposite order all go through, once each", async (t) => {
    const { url } = await emptyDatabase(t);
    const stores = [
      await openStore(t, url),
      await openStore(t, url),
      await openStore(t, `${url}?serializable=true`),
    ];
    const pesels = [0, 1, 2, 3].map(adult);
    for (const pesel of pesels) await create(stores[0] as Store, pesel);
    await Promise.all(
      Array.from({ length: 45 }, (_, index) =>
        sellGrosz(stores[index % 3] as Store, index % 2 === 0 ? pesels : [...pesels].reverse()),
      ),
    );
    for (const pesel of pesels) assert.equal((await stores[0]?.account(pesel))?.sequence, 46);
  });

  test("on one account wait for its lock: nothing is decided twice", async (t) => {
    const { url } = await emptyDatabase(t);
    const stores = [await openStore(t, url), await openStore(t, url)];
    await create(stores[0] as Store, adult());
    const tries = { count: 0 };
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => sellGrosz(stores[index % 2] as Store, [adult()], tries)),
    );
    assert.equal(tries.count, 40);
  });

  test("and open the same accounts in opposite order leave one of each", async (t) => {
    const { url } = await emptyDatabase(t);
    const stores = [await openStore(t, url), await openStore(t, url)];
    const pesels = Array.from({ length: 20 }, (_, index) => adult(index));
    await Promise.all(
      Array.from({ length: 10 }, (_, index) => {
        const order = index % 2 === 0 ? pesels : [...pesels].reverse();
        return (stores[index % 2] as Store).transact(order.map(touch), (loaded) => {
          const decisions = order
            .filter((pesel) => loaded.account(pesel) === undefined)
            .map((pesel) => appending([openingEntry(pesel)]));
          const accounts = decisions.flatMap(({ writes }) => writes.accounts);
          const entries = decisions.flatMap(({ writes }) => writes.entries);
          return { writes: { accounts, entries, tables: [] }, answer: undefined };
        });
      }),
    );
    assert.equal((await stores[0]?.accounts({ limit: 100 }))?.length, 20);
    assert.equal(await stores[0]?.entryCount(), 20);
  });

  test("into a deadlock: the one that the server ends is run again", async (t) => {
    const database = await emptyDatabase(t);
    const store = await openStore(t, database.url, { parameters: { deadlock_timeout: "100ms" } });
    const [first, second] = [0, 1].map(adult).sort() as [Pesel, Pesel];
    for (const pesel of [first, second]) await create(store, pesel);
    const codes = failuresOf(t);
    let selling: Promise<void> | undefined;
    await inTransaction(database.url, async (run) => {
      await run("set local deadlock_timeout = '20s'");
      await run(`select from account where pesel = ${second} for update`);
      selling = sellGrosz(store, [first, second]);
      await untilBlocked(database);
      await run(`select from account where pesel = ${first} for update`);
    });
    await selling;
    assert.equal((await store.account(first))?.sequence, 2);
    assert.equal(codes[0], "40P01");
  });

  test("into a serialization failure: the one that the server refuses is run again", async (t) => {
    const database = await emptyDatabase(t);
    const store = await openStore(t, database.url, { serializable: true });
    await create(store, adult());
    const codes = failuresOf(t);
    const tries = { count: 0 };
    let selling: Promise<void> | undefined;
    await inTransaction(database.url, async (run) => {
      await run(`update account set name = 'Ewa' where pesel = ${adult()}`);
      selling = sellGrosz(store, [adult()], tries);
      await untilBlocked(database);
    });
    await selling;
    const account = await store.account(adult());
    assert.deepEqual([account?.name, account?.sequence, tries.count], ["Ewa", 2, 1]);
    assert.equal(codes[0], "40001");
  });

  test("for longer than the deadline fail, and say that nothing was changed", async (t) => {
    const { url } = await emptyDatabase(t);
    const store = await openStore(t, url, { deadlineMs: 600, parameters: { lock_timeout: "200" } });
    await create(store, adult());
    await inTransaction(url, async (run) => {
      await run(`select from account where pesel = ${adult()} for update`);
      await assert.rejects(sellGrosz(store, [adult()]), {
        code: "storage-unavailable",
        message: /Nothing was changed/,
      });
    });
    await sellGrosz(store, [adult()]);
    assert.equal((await store.account(adult()))?.sequence, 2);
  });
});

test("accounts are read by one statement while each turn asks for more", async (t) => {
  const { url, run } = await emptyDatabase(t);
  const store = await openStore(t, url);
  await create(store, adult());
  const asked: Promise<unknown>[] = [];
  for (let turn = 0; turn < 20; turn += 1) {
    asked.push(store.account(adult()), store.account(adult(1)));
    await nextTurn();
  }
  await Promise.all(asked);
  const [{ connections } = {}] = await run(
    "select count(*)::int as connections from pg_stat_activity where application_name = 'fx' and datname = current_database()",
  );
  assert.equal(connections, 1);
});

test("a value that is empty or has a line break is refused, and not taken for another", () => {
  for (const value of ["", "a\nb"]) assert.throws(() => listText(["a", value]), RangeError);
  assert.equal(listText(["a", null, 1]), "a\n\n1");
});

describe("how many entries there are", () => {
  /** So many entries behind the ledger's back, each about as long as fx writes them. */
  const fill = (run: Database["run"], count: number) =>
    run(`insert into journal select 1, number, gen_random_uuid(), null, repeat('x', 300 + number % 50), repeat('0', 64)
      from generate_series(1, ${count}) as number`);

  test("is known of a small journal, and of one that was just filled about", async (t) => {
    const { url, run } = await emptyDatabase(t);
    const store = await openStore(t, url);
    assert.equal(await store.entryCount(), 0);
    await fill(run, 700);
    assert.equal(await store.entryCount(), 700);
    await run("truncate journal");
    await fill(run, 50_000);
    const about = await store.entryCount();
    assert.ok(Math.abs(about - 50_000) < 1000, `${about}`);
  });

  test("is told from the journal's first pages, never from all", async (t) => {
    const { url, run } = await emptyDatabase(t);
    await openStore(t, url);
    await fill(run, 50_000);
    const [{ "QUERY PLAN": plan } = {}] = await run(`explain (analyze, format json) ${countEntries}`);
    const scans = [...JSON.stringify(plan).matchAll(/"Node Type":"([^"]*Scan)".*?"Actual Rows":(\d+)/g)];
    assert.deepEqual(
      scans.map(([, scan, rows]) => [scan, Number(rows) < 5000]),
      [["Tid Range Scan", true]],
    );
  });

  test("is not known where the database has no pages, and an audit goes on", async (t) => {
    const { url, run } = await emptyDatabase(t);
    const store = await openStore(t, url);
    await run("alter table journal rename to kept; create view journal as select * from kept");
    await create(store, adult());
    assert.equal(await store.entryCount(), 0);
    const progress: (number | undefined)[] = [];
    const { entries, findings } = await auditLedger(store, ({ totalEntries }) => progress.push(totalEntries));
    assert.deepEqual([entries, findings, progress], [1, [], [0]]);
  });
});

describe("the pool", () => {
  test("answers more at once than it has connections", async (t) => {
    const { url, run } = await emptyDatabase(t);
    const store = await openStore(t, url, { poolSize: 2 });
    await create(store, adult());
    const read = await Promise.all(Array.from({ length: 200 }, () => store.statement(adult(), { limit: 1 })));
    assert.ok(read.every(([newest]) => newest?.entry.sequence === 1));
    const [{ connections } = {}] = await run(
      "select count(*)::int as connections from pg_stat_activity where application_name = 'fx' and datname = current_database()",
    );
    assert.equal(connections, 2);
  });

  test("closes after what is under way, and refuses what comes then", async (t) => {
    const { url } = await emptyDatabase(t);
    const store = await openStore(t, url, { poolSize: 2 });
    await create(store, adult());
    const reading = Promise.all(Array.from({ length: 20 }, () => store.statement(adult(), { limit: 1 })));
    await Promise.all([store.close(), reading]);
    await assert.rejects(store.account(adult()), { code: "storage-unavailable" });
  });

  test("goes on after the server ended its connections", async (t) => {
    const { url, run } = await emptyDatabase(t);
    const store = await openStore(t, url);
    await create(store, adult());
    await Promise.all(Array.from({ length: 5 }, () => store.statement(adult(), { limit: 1 })));
    await run(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'fx' and datname = current_database()",
    );
    await sellGrosz(store, [adult()]);
    assert.equal((await store.account(adult()))?.sequence, 2);
  });
});
