import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import { adapters } from "../support/adapters.ts";
import { adult, now, opening, terms, tradedRates } from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";

const nextTable = tableOf("109/C/NBP/2026", "2026-06-09", { USD: [3.63, 3.71], EUR: [4.2, 4.3] });

for (const adapter of adapters) {
  describe(`an idempotency key over ${adapter.name}`, () => {
    async function start(t: TestContext) {
      const store = await adapter.open(t);
      const rates = await tradedRates(store);
      const service = new LedgerService(store, rates, () => now);
      await service.createAccount(opening());
      return { service, rates };
    }
    const order = { ...terms("buy 10 USD for PLN"), pesel: adult(), key: "order-1" };

    test("makes the same order, sent again, one exchange with one answer", async (t) => {
      const { service } = await start(t);
      const first = await service.exchange(order);
      const second = await service.exchange(order);
      assert.deepEqual(second, { ...first, replayed: true });
      assert.equal((await service.statement(adult(), { limit: 10 })).items.length, 2);
    });

    test("answers what it answered first, whatever happened since", async (t) => {
      const { service, rates } = await start(t);
      const first = await service.exchange(order);
      await service.exchange({ ...terms("sell 5 USD for EUR"), pesel: adult() });
      await rates.use(nextTable);
      assert.deepEqual((await service.exchange(order)).account, first.account);
      await rates.use(undefined);
      assert.deepEqual((await service.exchange(order)).account, first.account);
    });

    test("answers what it answered first when the money is gone", async (t) => {
      const { service } = await start(t);
      const all = { ...order, ...terms("sell 1000 PLN for USD") };
      const first = await service.exchange(all);
      assert.deepEqual(await service.exchange(all), { ...first, replayed: true });
    });

    test("disturbs no order in the same group when it is sent again", async (t) => {
      const { service } = await start(t);
      const first = await service.exchange(order);
      const answers = await Promise.all([
        service.exchange({ ...order, key: "order-2" }),
        service.exchange(order),
        service.exchange({ ...order, key: "order-3" }),
      ]);
      assert.deepEqual(
        answers.map(({ replayed }) => replayed),
        [false, true, false],
      );
      assert.equal(answers[1]?.receiptId, first.receiptId);
      assert.equal((await service.statement(adult(), { limit: 10 })).items.length, 4);
    });

    test('"undefined" is no more than a key: an order without a key is another order', async (t) => {
      const { service } = await start(t);
      const keys = [undefined, "undefined", undefined];
      const answers = await Promise.all(keys.map((key) => service.exchange({ ...order, key })));
      assert.ok(answers.every(({ replayed }) => !replayed));
    });

    test("takes 10 and 10.00 for the same order", async (t) => {
      const { service } = await start(t);
      await service.exchange(order);
      const again = await service.exchange({ ...order, ...terms("buy 10.00 usd for pln") });
      assert.equal(again.replayed, true);
    });

    for (const [what, other] of [
      ["amount", terms("buy 11 USD for PLN")],
      ["side", terms("sell 10 PLN for USD")],
      ["currency", terms("buy 10 EUR for PLN")],
    ] as const) {
      test(`is refused for an order of another ${what}`, async (t) => {
        const { service } = await start(t);
        await service.exchange(order);
        await assert.rejects(service.exchange({ ...order, ...other }), { code: "idempotency-key-reused" });
        assert.equal((await service.statement(adult(), { limit: 10 })).items.length, 2);
      });
    }

    test("belongs to the account: another account may use the same", async (t) => {
      const { service } = await start(t);
      await service.createAccount(opening({ index: 1 }));
      await service.exchange(order);
      assert.equal((await service.exchange({ ...order, pesel: adult(1) })).replayed, false);
    });

    test("sent twice at once makes one exchange and two equal answers", async (t) => {
      const { service } = await start(t);
      const [one, other] = await Promise.all([service.exchange(order), service.exchange(order)]);
      assert.deepEqual(one?.account, other?.account);
      assert.deepEqual([one?.receiptId, one?.replayed, other?.replayed], [other?.receiptId, false, true]);
      assert.equal((await service.statement(adult(), { limit: 10 })).items.length, 2);
    });

    test("makes the same opening, sent again, one account", async (t) => {
      const { service } = await start(t);
      const keyed = opening({ index: 2, key: "open-1" });
      const { receiptId, replayed } = await service.createAccount(keyed);
      assert.equal(replayed, false);
      assert.deepEqual(await service.createAccount(keyed), { receiptId, replayed: true });
      await assert.rejects(service.createAccount({ ...keyed, key: undefined }), { code: "account-exists" });
      await assert.rejects(service.createAccount({ ...keyed, key: "open-2" }), { code: "account-exists" });
      await assert.rejects(service.createAccount({ ...keyed, name: "Ewa" }), {
        code: "idempotency-key-reused",
      });
    });

    test("is refused to another token in one group, and disturbs no other order there", async (t) => {
      const { service } = await start(t);
      const outcomes = () =>
        Promise.all(
          [
            { ...order, by: "anna" },
            { ...order, by: "jan" },
            { ...order, by: "jan", key: "order-2" },
            { ...order, by: "anna" },
          ].map((asked) =>
            service.exchange(asked).then(
              ({ replayed }) => (replayed ? "replayed" : "done"),
              ({ code }) => code,
            ),
          ),
        );
      const reused = "idempotency-key-reused";
      assert.deepEqual(await outcomes(), ["done", reused, "done", "replayed"]);
      assert.deepEqual(await outcomes(), ["replayed", reused, "replayed", "replayed"]);
      const { items } = await service.statement(adult(), { limit: 10 });
      assert.deepEqual(
        items.map(({ by }) => by),
        ["jan", "anna", undefined],
      );
    });

    test("makes an opening one, however the marks of a name are written", async (t) => {
      const { service } = await start(t);
      const asked = (name: string) => service.createAccount(opening({ index: 2, key: "open-1", name }));
      await asked("Zo\u0301sia");
      assert.equal((await asked("Z\u00f3sia")).replayed, true);
      assert.equal((await service.account(adult(2))).name, "Z\u00f3sia");
    });

    test("is refused for an order where an opening used it", async (t) => {
      const { service } = await start(t);
      await service.createAccount(opening({ index: 2, key: "order-1" }));
      await assert.rejects(service.exchange({ ...order, pesel: adult(2) }), {
        code: "idempotency-key-reused",
      });
    });
  });
}
