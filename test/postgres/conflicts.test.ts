import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Pesel } from "../../src/core/pesel.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { Connection } from "../../src/postgres/connection.ts";
import { selectAccounts } from "../../src/postgres/loaded-rows.ts";
import { appending, openingEntry } from "../support/entries.ts";
import { adult, fixedRates, opening } from "../support/fixture.ts";
import { inTransaction, untilBlocked } from "../support/postgres.ts";
import { create, emptyDatabase, openStore, sellGrosz, touch } from "../support/postgres-store.ts";

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

describe("transactions that get into each other's way", () => {
  test("on the same accounts in opposite order all go through, once each", async (t) => {
    const { url } = await emptyDatabase(t);
    const stores = await Promise.all([0, 1, 2].map(() => openStore(t, url)));
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
    assert.equal((await stores[0]?.journal({ limit: 100 }))?.length, 20);
  });

  for (const before of Array.from({ length: 8 }, (_, index) => index)) {
    test(`by the same opening, committed before statement ${before + 1} of the other: both are answered`, async (t) => {
      const { url } = await emptyDatabase(t);
      const services = await Promise.all(
        [0, 1].map(async () => new LedgerService(await openStore(t, url), fixedRates())),
      );
      const [here, there] = services as [LedgerService, LedgerService];
      const request = opening({ key: "opening" });
      const query = Connection.prototype.query;
      const lastOf = new WeakMap<Connection, Promise<unknown>>();
      let statements = 0;
      t.mock.method(
        Connection.prototype,
        "query",
        function (this: Connection, ...args: Parameters<typeof query>) {
          const isNext = statements === before;
          statements += 1;
          const asked = (lastOf.get(this) ?? Promise.resolve()).then(async () => {
            if (isNext) await there.createAccount(request);
            return query.apply(this, args);
          });
          lastOf.set(
            this,
            asked.catch(() => {}),
          );
          return asked;
        },
      );
      const { receiptId } = await here.createAccount(request);
      t.mock.restoreAll();
      const statement = await here.statement(adult(), { limit: 10 });
      assert.deepEqual(
        statement.items.map(({ id }) => id),
        [receiptId],
      );
      assert.deepEqual((await here.audit()).findings, []);
    });
  }

  test("by openings that another process commits whenever the accounts have been locked: all are answered", async (t) => {
    const { url } = await emptyDatabase(t);
    const services = await Promise.all(
      [0, 1].map(async () => new LedgerService(await openStore(t, url), fixedRates())),
    );
    const [here, there] = services as [LedgerService, LedgerService];
    const openings = [0, 1, 2, 3, 4, 5].map((index) => opening({ index, key: "opening" }));
    const others = openings.slice(1);
    const query = Connection.prototype.query;
    let isOther = false;
    t.mock.method(
      Connection.prototype,
      "query",
      async function (this: Connection, ...args: Parameters<typeof query>) {
        const isNext = args[0] === selectAccounts && !isOther;
        const request = isNext ? others.shift() : undefined;
        if (request !== undefined) {
          isOther = true;
          await there.createAccount(request);
          isOther = false;
        }
        return query.apply(this, args);
      },
    );
    const answers = await Promise.all(openings.map((each) => here.createAccount(each)));
    assert.deepEqual(
      answers.map(({ replayed }) => replayed),
      [false, true, true, true, true, true],
    );
    assert.deepEqual((await here.audit()).findings, []);
  });

  test("into a deadlock: the one that the server ends is run again", async (t) => {
    const database = await emptyDatabase(t);
    const store = await openStore(t, database.url);
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

  test("for longer than the deadline fail, and say that nothing was changed", async (t) => {
    const { url } = await emptyDatabase(t);
    const patient = await openStore(t, url);
    const store = await openStore(t, url, { deadlineMs: 2000, lockTimeoutMs: 200 });
    await create(patient, adult());
    await inTransaction(url, async (run) => {
      await run(`select from account where pesel = ${adult()} for update`);
      await assert.rejects(sellGrosz(store, [adult()]), {
        code: "storage-unavailable",
        message: /Nothing was changed/,
      });
    });
    await sellGrosz(patient, [adult()]);
    assert.equal((await patient.account(adult()))?.sequence, 2);
  });
});
