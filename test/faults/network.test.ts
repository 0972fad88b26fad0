import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, type TestContext, test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import { openPostgres, type PostgresOptions } from "../../src/postgres/store.ts";
import {
  acceptance,
  adult,
  fixedRates,
  opening,
  putInForce,
  table,
  terms,
  tradedRates,
} from "../support/fixture.ts";
import { createDatabase, runSql, startPostgres } from "../support/postgres.ts";
import { create, sellGrosz } from "../support/postgres-store.ts";
import { type CommitFault, Network } from "../support/proxy.ts";
import { until } from "../support/until.ts";

/** A store behind a proxy, with its statements prepared, and a direct one. */
async function start(t: TestContext, options: PostgresOptions = {}) {
  const database = await createDatabase();
  t.after(() => database.drop());
  const proxy = await Network.open(database.url);
  t.after(() => proxy.close());
  const store = await openPostgres(proxy.url, options);
  t.after(() => store.close());
  const direct = await openPostgres(database.url);
  t.after(() => direct.close());
  for (const index of [0, 1]) await create(store, adult(index));
  await sellGrosz(store, [adult()]);
  return { store, direct, proxy, database };
}

describe("A COMMIT that the network loses", () => {
  const sales: [faults: CommitFault[], happens: string, decided?: number][] = [
    [["lost"], "is lost before it arrives is run again", 2],
    [["unanswered"], "is lost after it arrived is found done", 1],
    [["lost", "unanswered"], "is lost, and then unanswered, is found done", 2],
    [["late"], "arrives late is found done by the next try, which waits for its lock"],
  ];
  for (const [faults, happens, decided] of sales) {
    test(`A transaction whose COMMIT ${happens}`, async (t) => {
      const { store, direct, proxy } = await start(t);
      const tries = { count: 0 };
      proxy.nextCommits = [...faults];
      const answer = await sellGrosz(store, [adult()], tries);
      assert.deepEqual(await direct.account(adult()), answer);
      assert.deepEqual([proxy.disturbed, answer.sequence], [faults.length, 3]);
      assert.equal(tries.count, decided ?? tries.count);
    });
  }

  for (const fault of ["lost", "unanswered", "late", "all late"] as const) {
    test(`An opening whose COMMIT is ${fault} makes one account and answers with it`, async (t) => {
      const { store, direct, proxy } = await start(t);
      proxy.nextCommits = [fault];
      const answer = await create(store, adult(2));
      assert.equal(proxy.disturbed, 1);
      await new Promise((resolve) => setTimeout(resolve, 2 * proxy.lateMs));
      assert.deepEqual(await direct.account(adult(2)), answer);
      assert.equal((await direct.statement(adult(2), { limit: 10 })).length, 1);
    });
  }

  test("An opening whose first try is not yet committed is answered by that try", async (t) => {
    const { store, direct, proxy, database } = await start(t);
    await database.run(`create function slow() returns trigger language plpgsql as
        'begin if (select count(*) from account) <= 3 then perform pg_sleep(0.5); end if; return null; end';
      create constraint trigger slow after insert on journal deferrable initially deferred
        for each row execute function slow()`);
    proxy.nextCommits = ["unanswered"];
    const answer = await create(store, adult(2));
    assert.equal(proxy.disturbed, 1);
    assert.deepEqual(await direct.account(adult(2)), answer);
    assert.equal((await direct.statement(adult(2), { limit: 10 })).length, 1);
  });

  test("A transaction found done after its deadline is not answered as done", async (t) => {
    const { store, direct, proxy } = await start(t);
    const tries = { count: 0 };
    proxy.nextCommits = ["unanswered"];
    const selling = sellGrosz(store, [adult()], tries);
    await until(() => tries.count > 0);
    const end = Date.now() + 3_600_000;
    t.mock.method(Date, "now", () => end);
    await assert.rejects(selling, { code: "storage-unavailable", message: /with the same keys is safe/ });
    assert.equal((await direct.account(adult()))?.sequence, 3);
  });

  test("An order whose COMMIT is lost until the deadline has an unknown outcome, and its key finds it", async (t) => {
    const { store, direct, proxy } = await start(t, { deadlineMs: 3000 });
    const rates = await tradedRates(direct);
    const order = { ...terms("buy 1 USD for PLN"), pesel: adult(), key: "order-1" };
    proxy.nextCommits = ["unanswered"];
    const failing = new LedgerService(store, rates).exchange(order);
    await until(() => proxy.disturbed > 0);
    proxy.cut();
    await assert.rejects(failing, { code: "storage-unavailable", message: /not known.*same key/ });
    assert.equal((await new LedgerService(direct, rates).exchange(order)).replayed, true);
  });

  test("A resumption whose COMMIT got no answer does not lift a later suspension", async (t) => {
    const { store, direct, proxy } = await start(t);
    const [here, elsewhere] = [store, direct].map((one) => new LedgerService(one, fixedRates(table, one)));
    await putInForce(direct, table);
    await elsewhere?.changeTrading({ reason: "a slip", by: "anna" });
    proxy.nextCommits = ["unanswered"];
    const resuming = here?.changeTrading({ reason: undefined, by: "ewa" });
    await until(() => proxy.disturbed > 0);
    proxy.cut();
    await until(async () => (await direct.inForce())?.suspension === undefined);
    await elsewhere?.changeTrading({ reason: "another slip", by: "anna" });
    proxy.restore();
    await resuming;
    assert.equal((await direct.inForce())?.suspension?.reason, "another slip");
  });
});

test("A server that the network cuts off in the middle of its entries does not keep others from committing", async (t) => {
  const { store, direct, proxy } = await start(t);
  proxy.silentFrom = "kind";
  const cutOff = sellGrosz(store, [adult()]).catch(() => undefined);
  await until(() => proxy.silentFrom === undefined);
  const startedMs = performance.now();
  assert.equal((await sellGrosz(direct, [adult(1)])).sequence, 2);
  assert.ok(performance.now() - startedMs < 3000);
  await store.close();
  await cutOff;
});

describe("A database that is away", () => {
  test("Requests wait for a database that is away for a moment", async (t) => {
    const { store, proxy } = await start(t);
    proxy.cut();
    setTimeout(() => proxy.restore(), 700);
    const [sold, read] = await Promise.all([sellGrosz(store, [adult()]), store.account(adult(1))]);
    assert.deepEqual([sold.sequence, read?.sequence], [3, 1]);
  });

  test("A request past its deadline fails without a change, and the next one succeeds", async (t) => {
    const { store, proxy } = await start(t, { deadlineMs: 3000 });
    proxy.cut();
    const refused = { code: "storage-unavailable", message: /Nothing was changed/, retryAfterSeconds: 1 };
    await assert.rejects(sellGrosz(store, [adult()]), refused);
    await assert.rejects(store.account(adult()), refused);
    await assert.rejects(store.ping(), { code: "storage-unavailable" });
    proxy.restore();
    await store.ping();
    assert.equal((await sellGrosz(store, [adult()])).sequence, 3);
  });

  test("A database that falls silent gets another connection before the deadline", async (t) => {
    const { store, proxy } = await start(t, { deadlineMs: 8000 });
    proxy.silence();
    assert.equal((await sellGrosz(store, [adult()])).sequence, 3);
  });

  test("A ping of a silent database fails long before the deadline", async (t) => {
    const { store, proxy } = await start(t, { deadlineMs: 600_000 });
    proxy.silence();
    await assert.rejects(store.ping(), { code: "storage-unavailable" });
  });
});

test("A group of 256 orders over a slow network takes two round trips", async (t) => {
  const { store, proxy } = await start(t);
  const service = new LedgerService(store, await tradedRates(store));
  const batch = () =>
    Array.from({ length: 256 }, (_, index) =>
      service.exchange({ ...terms("buy 1 USD for PLN"), pesel: adult(5 + (index % 2)), key: randomUUID() }),
    );
  for (const index of [0, 1]) await service.createAccount(opening({ index: 5 + index, pln: "10000" }));
  await Promise.all(batch());
  proxy.delayMs = 200;
  proxy.roundTrips = 0;
  await Promise.all(batch());
  assert.equal(proxy.roundTrips, 2);
});

for (const told of ["notice", "error"]) {
  test(`A commit whose wait for the standby was cancelled is not answered as done, with client_min_messages = ${told}`, async (t) => {
    const server = await startPostgres({ settings: { client_min_messages: told } });
    t.after(() => server.stop());
    const database = await createDatabase(server.url);
    const store = await openPostgres(database.url, { deadlineMs: 2000 });
    t.after(() => store.close());
    await create(store, adult());
    await database.run("alter system set synchronous_standby_names = 'nobody'");
    await database.run("select pg_reload_conf()");
    let cancelled = 0;
    const cancelling = setInterval(() => {
      database
        .run("select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'")
        .then((backends) => {
          cancelled += backends.length;
        })
        .catch(() => {});
    }, 100);
    try {
      // Waits for the reload: until a commit is seen to wait for the standby.
      for (let probe = 0; cancelled === 0; probe += 1) await database.run(`create table probe_${probe} ()`);
      const service = new LedgerService(store, fixedRates());
      const order = { ...terms("buy 1 USD for PLN"), pesel: adult(2), key: "no account" };
      // An answer that depends on a commit without the standby waits for the standby as well.
      for (const asked of [
        () => sellGrosz(store, [adult()]),
        () => create(store, adult(1)),
        () => service.exchange(order),
        () => store.acceptTable(table, acceptance(0)),
      ]) {
        await assert.rejects(asked, { code: "storage-unavailable" });
      }
    } finally {
      clearInterval(cancelling);
    }
  });
}

test("All connections move from a server whose commits wait in vain to its successor", async (t) => {
  const [old, next] = await Promise.all([startPostgres(), startPostgres()]);
  t.after(() => Promise.all([old.stop(), next.stop()]));
  const { url, run } = await createDatabase(old.url);
  const role = "create role fx_moved superuser login password 'moved'";
  const [user, database] = ["fx_moved:moved", new URL(url).pathname.slice(1)];
  for (const server of [old, next]) await runSql(server.url, role);
  await runSql(next.url, `create database ${database} encoding 'UTF8' template template0`);
  const at = (...servers: readonly { readonly port: number }[]) =>
    `postgres://${user}@${servers.map(({ port }) => `127.0.0.1:${port}`).join(",")}/${database}`;
  const store = await openPostgres(at(old, next));
  t.after(() => store.close());
  const direct = await openPostgres(at(next));
  t.after(() => direct.close());
  for (const each of [store, direct]) await create(each, adult());
  // Concurrent reads open several connections.
  await Promise.all([0, 1, 2, 3].map(() => store.statement(adult(), { limit: 5 })));
  await run("alter system set synchronous_standby_names = 'nobody'");
  await run("select pg_reload_conf()");
  const [{ waits } = {}] = await run("select current_setting('synchronous_standby_names') as waits");
  assert.equal(waits, "nobody");

  const sold = await sellGrosz(store, [adult()]);
  assert.deepEqual(await direct.account(adult()), sold);
  const reads = await Promise.all([0, 1, 2, 3, 4, 5].map(() => store.statement(adult(), { limit: 5 })));
  assert.deepEqual(
    [...new Set(reads.map(([newest]) => newest?.entry.id))],
    [(await direct.statement(adult(), { limit: 1 }))[0]?.entry.id],
  );
});
