import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { RateTable } from "../../src/core/rates.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { nextTable } from "../../src/rates/judge.ts";
import { openRates } from "../../src/rates/open.ts";
import { adapters, openTwice } from "../support/adapters.ts";
import { adult, fixedRates, identified, now, opening, putInForce, terms } from "../support/fixture.ts";
import { publishedOf, tableOf } from "../support/rates.ts";
import { exchangeReceipt } from "../support/service.ts";

const hourMs = 3_600_000;
const bank = (number: string, usd: number, source = "bank") =>
  identified(
    publishedOf(`${number}/C/NBP/2026`, `2026-06-0${number.at(-1)}`, {
      USD: [usd, Number((usd + 0.1).toFixed(4))],
    }),
    source,
  );
const first = bank("106", 4);
const second = bank("107", 4.2);
const elsewhere = bank("107", 9, "elsewhere");

/** A process whose bank has published `table`, and which looks at nothing again by itself. */
async function processOn(t: TestContext, store: Store, table: RateTable) {
  const { source } = table;
  const rates = await openRates({
    source: {
      name: source,
      recorded: false,
      tables: async () => ({ tables: [table] }),
    },
    ledger: store,
    role: "serve",
    operator: "anna@desk",
    now: () => now,
    refreshMs: hourMs,
    retryMs: hourMs,
  });
  t.after(() => rates.close());
  return new LedgerService(store, rates, () => now);
}

const buy = (index = 0, amount = 1) => ({ ...terms(`buy ${amount} USD for PLN`), pesel: adult(index) });
const outcome = (promise: Promise<unknown>) =>
  promise.then(
    () => "settled",
    ({ code }) => code,
  );

for (const adapter of adapters) {
  describe(`the table in force of a ledger over ${adapter.name}`, () => {
    const stores = (t: TestContext) => openTwice(adapter, t);

    const { database } = adapter;
    if (database !== undefined) {
      test("A table is held back whose returned currency is far from its last rate, or cannot be compared", async (t) => {
        const { open, run } = await database(t);
        const store = await open();
        const table = (day: number, gbp?: number) =>
          tableOf(`10${day}/C/NBP/2026`, `2026-06-0${day}`, {
            USD: [4, 4.1],
            ...(gbp === undefined ? {} : { GBP: [gbp, gbp + 0.1] }),
          });
        for (const each of [table(1, 5), table(2)]) await putInForce(store, each);
        const returned = table(3, 9);
        const next = () => nextTable(store, [returned], table(2), undefined);
        assert.match((await next()).heldBack?.reason ?? "", /GBP bid 5 to 9/);
        await run("update rate_table set rates = replace(rates, '\"5\"', '\"9\"')");
        await assert.rejects(next(), { code: "storage-unavailable", message: /damaged/ });
      });
    }

    test("Orders are refused until a process has put a table in force, and everything else is done", async (t) => {
      const [store] = await stores(t);
      const service = new LedgerService(store, fixedRates(first), () => now);
      await service.createAccount(opening());
      await assert.rejects(service.exchange(buy()), { code: "rates-unavailable" });
      assert.equal(await store.inForce(), undefined);
      await putInForce(store, first);
      await service.exchange(buy());
      assert.deepEqual((await service.audit()).findings, []);
    });

    test("The table in force stays as it was while orders settle and are refused", async (t) => {
      const [store] = await stores(t);
      const service = await processOn(t, store, first);
      await service.createAccount(opening());
      const orders = [buy(0, 5000), buy(), buy(), buy(1)].map((order) => outcome(service.exchange(order)));
      assert.deepEqual(await Promise.all(orders), [
        "insufficient-funds",
        "settled",
        "settled",
        "account-not-found",
      ]);
      assert.deepEqual(await store.inForce(), { epoch: 1, table: first });
      assert.deepEqual((await service.audit()).findings, []);
    });

    test("Of two processes that start with two sources, one trades", async (t) => {
      const [here, there] = await stores(t);
      const services = await Promise.all([processOn(t, here, first), processOn(t, there, elsewhere)]);
      for (const index of [0, 1]) await services[0]?.createAccount(opening({ index }));
      const answers = services.map((service, index) => outcome(service.exchange(buy(index))));
      assert.deepEqual((await Promise.all(answers)).sort(), ["rates-unavailable", "settled"]);
    });

    test("An order is priced at the table that another process has just put in force", async (t) => {
      const [here, there] = await stores(t);
      const service = await processOn(t, here, first);
      await service.createAccount(opening());
      await service.exchange(buy());
      await putInForce(there, second);
      const { receiptId } = await service.exchange(buy());
      assert.equal((await exchangeReceipt(service, receiptId)).tableId, second.id);
      assert.equal((await service.quote(buy())).tableId, second.id);
      assert.deepEqual((await service.audit()).findings, []);
    });

    test("An order that names another table, by number or id, is refused", async (t) => {
      const [here, there] = await stores(t);
      const service = await processOn(t, here, first);
      await service.createAccount(opening());
      await service.exchange(buy());
      const corrected = bank("106", 4.05);
      await putInForce(there, corrected);
      await assert.rejects(service.exchange({ ...buy(), table: first.id }), { code: "rate-changed" });
      await assert.rejects(service.exchange({ ...buy(), table: second.number }), { code: "rate-changed" });
      for (const table of [corrected.id, corrected.number]) await service.exchange({ ...buy(), table });
    });
  });
}
