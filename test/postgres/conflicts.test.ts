import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pln } from "../../src/core/currency.ts";
import { houseNumber } from "../../src/core/house.ts";
import type { Pesel } from "../../src/core/pesel.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { Connection } from "../../src/postgres/connection.ts";
import type { PostgresOptions } from "../../src/postgres/store.ts";
import { appending, openingEntry } from "../support/entries.ts";
import { adult, decimal, opening, terms, tradedRates } from "../support/fixture.ts";
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

/** Has `interfere` done before a statement is sent. Statements of a connection keep their order. */
function beforeStatements(t: TestContext, interfere: (text: string) => Promise<void>): void {
  const query = Connection.prototype.query;
  const lastOf = new WeakMap<Connection, Promise<unknown>>();
  t.mock.method(
    Connection.prototype,
    "query",
    function (this: Connection, ...args: Parameters<typeof query>) {
      const sent = (lastOf.get(this) ?? Promise.resolve()).then(async () => {
        await interfere(args[0]);
        // Not awaited: the next statement does not wait for the answer.
        return { answer: query.apply(this, args) };
      });
      lastOf.set(this, sent);
      return sent.then(({ answer }) => answer);
    },
  );
}

/** Two processes over one database. */
async function twoProcesses(t: TestContext, ...options: PostgresOptions[]) {
  const database = await emptyDatabase(t);
  const open = async (nth: number) => {
    const store = await openStore(t, database.url, options[nth]);
    return new LedgerService(store, await tradedRates(store));
  };
  return { database, here: await open(0), there: await open(1) };
}

describe("Conflicts of PostgreSQL transactions", () => {
  test("Transactions on the same accounts in opposite order all go through, once each", async (t) => {
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

  test("Transactions on one account wait for its lock, and none is decided twice", async (t) => {
    const { url } = await emptyDatabase(t);
    const stores = [await openStore(t, url), await openStore(t, url)];
    await create(stores[0] as Store, adult());
    const tries = { count: 0 };
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => sellGrosz(stores[index % 2] as Store, [adult()], tries)),
    );
    assert.equal(tries.count, 40);
  });

  test("Transactions that open the same accounts in opposite order leave one of each", async (t) => {
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
    assert.equal((await stores[0]?.rows("journal", { limit: 100 }))?.length, 20);
  });

  for (const before of Array.from({ length: 8 }, (_, index) => index)) {
    test(`The same opening, committed before statement ${before + 1} of the other: both are answered`, async (t) => {
      const { here, there } = await twoProcesses(t);
      const request = opening({ key: "opening" });
      let statements = 0;
      beforeStatements(t, async () => {
        statements += 1;
        if (statements === before + 1) await there.createAccount(request);
      });
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

  const moments: [when: string, before: RegExp, opened: number][] = [
    ["once the accounts have been locked", /^select wanted/, 1],
    ["whenever they are about to be written", /^insert into account/, 5],
  ];
  for (const [when, statement, opened] of moments) {
    test(`Openings that another process commits ${when} are all answered`, async (t) => {
      const { here, there } = await twoProcesses(t);
      const openings = [0, 1, 2, 3, 4, 5].map((index) => opening({ index, key: "opening" }));
      const others = openings.slice(1);
      let isOther = false;
      beforeStatements(t, async (text) => {
        const request = statement.test(text) && !isOther ? others.shift() : undefined;
        if (request === undefined) return;
        isOther = true;
        await there.createAccount(request);
        isOther = false;
      });
      const answers = await Promise.all(openings.map((each) => here.createAccount(each)));
      assert.deepEqual(
        answers.map(({ replayed }) => replayed),
        openings.map((_, index) => index > 0 && index <= opened),
      );
      assert.deepEqual((await here.audit()).findings, []);
    });
  }

  test("A transaction that the server ends to break a deadlock is run again", async (t) => {
    const database = await emptyDatabase(t);
    const store = await openStore(t, database.url);
    const [first, second] = [0, 1].map(adult).sort() as [Pesel, Pesel];
    for (const pesel of [first, second]) await create(store, pesel);
    const codes = failuresOf(t);
    let selling: Promise<unknown> | undefined;
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

  const locks: [of: string, options: PostgresOptions][] = [
    ["a short lock_timeout", { lockTimeoutMs: 200 }],
    ["a lock_timeout longer than statement_timeout", { lockTimeoutMs: 3000, statementTimeoutMs: 600 }],
    ["a lock_timeout longer than a try", { lockTimeoutMs: 3000, deadlineMs: 3000 }],
  ];
  for (const [of, options] of locks) {
    test(`An order on an account that another session keeps locked fails alone, with ${of}: its neighbours are settled meanwhile`, async (t) => {
      const { url } = await emptyDatabase(t);
      const store = await openStore(t, url, options);
      const service = new LedgerService(store, await tradedRates(store));
      for (const index of [0, 1, 2]) await service.createAccount(opening({ index }));
      const order = (index: number) =>
        service.exchange({ ...terms("buy 1 USD for PLN"), pesel: adult(index), key: `order-${index}` });
      await inTransaction(url, async (run) => {
        await run(`select from account where pesel = ${adult(1)} for update`);
        const outcomes = await Promise.allSettled([0, 1, 2].map(order));
        assert.deepEqual(
          outcomes.map(({ status }) => status),
          ["fulfilled", "rejected", "fulfilled"],
        );
        const [, failed] = outcomes as PromiseRejectedResult[];
        assert.equal(failed?.reason.code, "storage-unavailable");
        assert.match(failed?.reason.message, /holds the account locked\. Nothing was changed/);
      });
      assert.deepEqual(await Promise.all([0, 1, 2].map(async (index) => (await order(index)).replayed)), [
        true,
        false,
        true,
      ]);
      assert.deepEqual((await service.audit()).findings, []);
    });
  }

  test("The first entry of the house's account is made beside an order on an account that is kept locked", async (t) => {
    const { url } = await emptyDatabase(t);
    const store = await openStore(t, url, { lockTimeoutMs: 200 });
    const service = new LedgerService(store, await tradedRates(store));
    await service.createAccount(opening());
    const cash = { kind: "deposit", amount: decimal("1"), currency: pln, note: undefined } as const;
    await inTransaction(url, async (run) => {
      await run(`select from account where pesel = ${adult()} for update`);
      const [locked, house] = await Promise.allSettled(
        [adult(), houseNumber("cash")].map((pesel) => service.change({ ...cash, pesel })),
      );
      assert.equal((locked as PromiseRejectedResult).reason.code, "storage-unavailable");
      assert.equal(house?.status, "fulfilled");
    });
  });

  test("An opening that waits for the account that another process has opened keeps nobody from committing", async (t) => {
    const { here, there, database } = await twoProcesses(t);
    const request = opening({ key: "opening" });
    let isOther = false;
    let settled: Promise<void> | undefined;
    beforeStatements(t, async (text) => {
      if (settled !== undefined || isOther || !/^insert into account/.test(text)) return;
      isOther = true;
      await there.createAccount(request);
      isOther = false;
      let tell = () => {};
      const locked = new Promise<void>((resolve) => {
        tell = resolve;
      });
      settled = inTransaction(database.url, async (run) => {
        await run(
          `set local lock_timeout = '500ms'; select from account where pesel = ${adult()} for update`,
        );
        tell();
        await untilBlocked(database);
        await run("select from fx_schema for no key update");
      });
      await locked;
    });
    const opened = await here.createAccount(request);
    await settled;
    assert.equal(opened?.replayed, true);
  });

  test("An order whose commit waits for others longer than for a lock is not refused as on a locked account", async (t) => {
    const options = [{ lockTimeoutMs: 400 }, { lockTimeoutMs: 2000 }];
    const { here: first, there: second, database } = await twoProcesses(t, ...options);
    await first.createAccount(opening());
    const order = (service: LedgerService) =>
      service.exchange({ ...terms("buy 1 USD for PLN"), pesel: adult() }).catch((error) => error);
    const orders: Promise<unknown>[] = [];
    await inTransaction(database.url, async (run) => {
      await run("select from fx_schema for no key update");
      orders.push(order(first));
      await untilBlocked(database);
      orders.push(order(second));
      // The first gives up after 400 ms, and then waits for the account, which the second holds.
      await sleep(600);
    });
    for (const answer of await Promise.all(orders)) assert.ok(!(answer instanceof Error), String(answer));
  });

  test("An opening that lost a race before the database stopped answering does not fail as damage", async (t) => {
    const { here, there } = await twoProcesses(t, { deadlineMs: 2000 });
    let tries = 0;
    let isOther = false;
    beforeStatements(t, async (text) => {
      if (isOther) return;
      if (/^begin/.test(text)) tries += 1;
      // A try has half of the deadline.
      if (/^select wanted/.test(text) && tries !== 2) await sleep(1100);
      if (!/^insert into account/.test(text)) return;
      isOther = true;
      await there.createAccount(opening({ key: "there" }));
      isOther = false;
    });
    const failure = { code: "storage-unavailable", message: /did not answer in time\. Nothing was changed/ };
    await assert.rejects(here.createAccount(opening({ key: "here" })), failure);
    assert.equal(tries, 3);
  });

  test("A transaction that waits for a lock past the deadline says that nothing was changed", async (t) => {
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
