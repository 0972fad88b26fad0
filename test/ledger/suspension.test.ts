import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { pln } from "../../src/core/currency.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { openRates } from "../../src/rates/open.ts";
import { adapters, openTwice } from "../support/adapters.ts";
import { adult, decimal, fixedRates, now, opening, putInForce, table, terms } from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";
import { answersTo, codesOf, refuses } from "../support/service.ts";

const minuteMs = 60_000;
const after = (minutes: number) => new Date(now.getTime() + minutes * minuteMs);
const buy = { ...terms("buy 1 USD for PLN"), pesel: adult() };
const suspend = (reason: string, by?: string) => ({ reason, by });
const resume = { reason: undefined, by: "ewa" };

/** A process with the real rates, whose clock stands `minutes` after that of the tests. */
async function processOn(t: TestContext, store: Store, minutes = 0): Promise<LedgerService> {
  const source = { name: table.source, recorded: false, tables: async () => ({ tables: [table] }) };
  const clock = () => after(minutes);
  const rates = await openRates({ source, ledger: store, role: "serve", now: clock });
  t.after(() => rates.close());
  return new LedgerService(store, rates, clock);
}

for (const adapter of adapters) {
  describe(`the suspension of trading on a ledger over ${adapter.name}`, () => {
    const stores = (t: TestContext) => openTwice(adapter, t);

    test("Suspensions that are asked for at the same time are all answered, and one of them is in force", async (t) => {
      const [one, other] = await stores(t);
      const services = [await processOn(t, one), await processOn(t, other)] as const;
      const requests = Array.from({ length: 24 }, (_, index) => suspend(`reason ${index}`, "ewa"));
      const answers = await Promise.all(
        requests.map((request, index) => services[index % 2 === 0 ? 0 : 1].changeTrading(request)),
      );
      assert.ok(answers.every(({ notTraded }) => notTraded?.code === "suspended"));
      const reasons = new Set(requests.map(({ reason }) => reason));
      assert.ok(reasons.has((await services[0].rates()).suspension?.reason ?? ""));
      assert.deepEqual((await services[1].audit()).findings, []);
    });

    test("Orders are refused by every process from then on, and everything else is done", async (t) => {
      const [one, other] = await stores(t);
      const [here, there] = [await processOn(t, one), await processOn(t, other)];
      await here.createAccount(opening());
      const { receiptId } = await there.exchange(buy);
      await here.changeTrading(suspend("The bank corrects its table", "anna"));
      const reason = `Trading has been suspended since ${now.toISOString()}: The bank corrects its table`;
      await refuses(there.exchange({ ...buy, key: "later" }), "trading-suspended", reason);
      const { notTraded, suspension } = await there.rates();
      assert.deepEqual(notTraded, { code: "suspended", reason });
      assert.deepEqual(suspension, { reason: "The bank corrects its table", by: "anna", since: now });
      await there.quote(terms("buy 1 USD for PLN"));
      await there.createAccount(opening({ index: 1 }));
      const usd = { pesel: adult(), currency: terms("buy 1 USD for PLN").to, note: undefined };
      await there.change({ kind: "deposit", ...usd, amount: decimal("5") });
      await there.change({ kind: "withdrawal", ...usd, amount: decimal("1") });
      await there.change({ kind: "reversal", pesel: adult(), reverses: receiptId, reason: "a slip" });
      await there.changeTrading(resume);
      assert.equal((await here.exchange({ ...buy, key: "later" })).replayed, false);
      assert.equal((await here.rates()).notTraded, undefined);
      assert.deepEqual((await here.audit()).findings, []);
    });

    test("A line of a batch is refused with a code that is not of the line, and its neighbours are done", async (t) => {
      const [store] = await stores(t);
      const service = await processOn(t, store);
      await service.createAccount(opening());
      const { suspension } = await service.changeTrading(suspend("why 80010112340"));
      assert.equal(suspension?.reason, "why 800101*****");
      const cash = { currency: pln, amount: decimal("1"), note: undefined };
      const deposit = { kind: "deposit", pesel: adult(), ...cash } as const;
      const answers = await answersTo(service, [{ kind: "exchange", ...buy }, deposit]);
      assert.deepEqual(codesOf(answers), ["trading-suspended", "done"]);
    });

    test("A new rate table does not end a suspension, and the same request changes nothing twice", async (t) => {
      const [one, other] = await stores(t);
      const service = await processOn(t, one);
      await service.createAccount(opening());
      await service.changeTrading(suspend("why", "anna"));
      await service.changeTrading(suspend("why", "anna"));
      await putInForce(other, tableOf("109/C/NBP/2026", "2026-06-08"));
      await refuses(service.exchange(buy), "trading-suspended");
      const later = new LedgerService(other, fixedRates(table, other), () => after(1));
      const { suspension } = await later.changeTrading(suspend("why else", "ewa"));
      assert.deepEqual(suspension, { reason: "why else", by: "ewa", since: now });
      for (let times = 0; times < 2; times += 1) await later.changeTrading(resume);
      assert.deepEqual(
        (await other.rows("accepted_table", { limit: 9 })).map((row) => [
          row.epoch,
          row.suspended_for !== null,
        ]),
        [
          [1, false],
          [2, true],
          [3, true],
          [4, true],
          [5, false],
        ],
      );
      const rows = await other.rows("accepted_table", { limit: 9 });
      assert.deepEqual(
        rows.map(({ actor }) => actor),
        [null, "anna", "anna", "ewa", "ewa"],
      );
      assert.deepEqual((await later.audit()).findings, []);
    });

    test("There is nothing to suspend before a rate table was in force", async (t) => {
      const [store] = await stores(t);
      const service = new LedgerService(store, fixedRates(table, store), () => now);
      for (const request of [suspend("why"), resume]) {
        const error = await refuses(
          service.changeTrading(request),
          "rates-unavailable",
          /no trading to suspend/,
        );
        assert.ok(error.retryAfterSeconds);
      }
      assert.equal(await store.inForce(), undefined);
    });

    test("An audit finds nothing where the process that suspended trading has a clock ten minutes ahead", async (t) => {
      const [store] = await stores(t);
      const service = await processOn(t, store);
      for (const index of [0, 1]) await service.createAccount(opening({ index }));
      await service.exchange(buy);
      await (await processOn(t, store, 10)).changeTrading(suspend("why"));
      await (await processOn(t, store, 1)).changeTrading(resume);
      for (const [index, minutes] of [2, 14].entries()) {
        await (await processOn(t, store, minutes)).exchange({ ...buy, pesel: adult(index) });
      }
      assert.deepEqual((await (await processOn(t, store, 90)).audit()).findings, []);
    });

    test("An audit finds an exchange that is dated more than five minutes inside a suspension", async (t) => {
      const [store] = await stores(t);
      const service = await processOn(t, store);
      for (const index of [0, 1, 2]) await service.createAccount(opening({ index }));
      await (await processOn(t, store, 10)).changeTrading(suspend("why"));
      await (await processOn(t, store, 60)).changeTrading(resume);
      for (const [index, minutes] of [15, 30, 55].entries()) {
        await (await processOn(t, store, minutes)).exchange({ ...buy, pesel: adult(index) });
      }
      const { findings } = await (await processOn(t, store, 90)).audit();
      assert.deepEqual(
        findings.map(({ account, entry, problem, recomputed }) => [account, entry, problem, recomputed]),
        [[adult(1), 2, "entry that fx refuses", "trading-suspended"]],
      );
    });
  });
}
