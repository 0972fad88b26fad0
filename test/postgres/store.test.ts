import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import { Connection } from "../../src/postgres/connection.ts";
import { adult, fixedRates, opening } from "../support/fixture.ts";
import { create, emptyDatabase, openStore, sellGrosz, touch } from "../support/postgres-store.ts";

for (const [what, code] of [
  ["block", "XX001"],
  ["index", "XX002"],
]) {
  test(`A damaged ${what} fails the order that needs it, and none beside it`, async (t) => {
    const { url, run } = await emptyDatabase(t);
    const service = new LedgerService(await openStore(t, url), fixedRates());
    await run(`create function fail() returns trigger language plpgsql as
        'begin raise exception ''damaged'' using errcode = ''${code}''; end';
      create trigger damaged before insert on name_word for each row when (new.pesel = ${adult(1)})
        execute function fail()`);
    const outcomes = await Promise.allSettled(
      [0, 1, 2].map((index) => service.createAccount(opening({ index }))),
    );
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    assert.equal((await service.audit()).findingsTotal, 0);
  });
}

describe("The pool of connections", () => {
  test("The pool answers more requests at once than it has connections", async (t) => {
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

  test("The pool closes after the work under way and refuses later work", async (t) => {
    const { url } = await emptyDatabase(t);
    const store = await openStore(t, url, { poolSize: 2 });
    await create(store, adult());
    const reading = Promise.all(Array.from({ length: 20 }, () => store.statement(adult(), { limit: 2 })));
    await Promise.all([store.close(), reading]);
    await assert.rejects(store.account(adult()), { code: "storage-unavailable" });
  });

  test("The pool gives nobody a connection whose transaction could not be rolled back", async (t) => {
    const { url } = await emptyDatabase(t);
    const store = await openStore(t, url, { poolSize: 1 });
    await create(store, adult());
    const query = Connection.prototype.query;
    t.mock.method(
      Connection.prototype,
      "query",
      function (this: Connection, ...args: Parameters<typeof query>) {
        // As if it were cancelled: the server ends the statement, and not the transaction.
        return query.apply(this, args[0] === "rollback" ? ["select 1 / 0"] : args);
      },
    );
    const failing = store.transact([touch(adult())], () => {
      throw new Error("undecided");
    });
    await assert.rejects(failing, { message: "undecided" });
    t.mock.restoreAll();
    assert.equal((await store.account(adult()))?.sequence, 1);
  });

  test("The pool recovers after the server ended its connections", async (t) => {
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
