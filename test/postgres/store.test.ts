import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { auditLedger } from "../../src/ledger/audit.ts";
import { listText } from "../../src/postgres/connection.ts";
import { countEntries } from "../../src/postgres/store.ts";
import { adult } from "../support/fixture.ts";
import type { Database } from "../support/postgres.ts";
import { create, emptyDatabase, openStore, sellGrosz } from "../support/postgres-store.ts";

test("a value that is empty or has a line break is refused, and not taken for another", () => {
  for (const value of ["", "a\nb"]) assert.throws(() => listText(["a", value]), RangeError);
  assert.equal(listText(["a", null, 1]), "a\n\n1");
});

describe("how many entries there are", () => {
  /** So many entries behind the ledger's back, each about as long as fx writes them. */
  const fill = (run: Database["run"], count: number) =>
    run(`insert into journal (entry, hash) select json_build_object('id', gen_random_uuid(), 'pesel', '1',
        'sequence', number, 'note', repeat('x', 200 + number % 50)), repeat('0', 64)
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
    const { entries, findings } = await auditLedger(store, {
      onProgress: ({ totalEntries }) => progress.push(totalEntries),
    });
    assert.deepEqual([entries, findings, progress], [1, [], [0]]);
  });
});

describe("the pool", () => {
  test("answers more at once than it has connections", async (t) => {
    const { url, run } = await emptyDatabase(t);
    const store = await openStore(t, url, { poolSize: 2 });
    await create(store, adult());
    const read = await Promise.all(Array.from({ length: 200 }, () => store.statement(adult(), { limit: 2 })));
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
    const reading = Promise.all(Array.from({ length: 20 }, () => store.statement(adult(), { limit: 2 })));
    await Promise.all([store.close(), reading]);
    await assert.rejects(store.account(adult()), { code: "storage-unavailable" });
  });

  test("goes on after the server ended its connections", async (t) => {
    const { url, run } = await emptyDatabase(t);
    const store = await openStore(t, url);
    await create(store, adult());
    await Promise.all(Array.from({ length: 5 }, () => store.statement(adult(), { limit: 2 })));
    await run(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'fx' and datname = current_database()",
    );
    await sellGrosz(store, [adult()]);
    assert.equal((await store.account(adult()))?.sequence, 2);
  });
});
