import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import { adapters } from "../support/adapters.ts";
import { adult, now, opening, terms, tradedRates } from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";
import { refuses } from "../support/service.ts";

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

    test("An idempotency key answers what it answered first, whatever happened since, also when the money is gone", async (t) => {
      const { service, rates } = await start(t);
      const first = await service.exchange(order);
      await service.exchange({ ...terms("sell 5 USD for EUR"), pesel: adult() });
      await service.exchange({ ...terms("sell 963 PLN for EUR"), pesel: adult() });
      await rates.use(nextTable);
      assert.deepEqual(await service.exchange(order), { ...first, replayed: true });
      await rates.use(undefined);
      assert.deepEqual((await service.exchange(order)).account, first.account);
    });

    test("An idempotency key disturbs no order in the same group when it is sent again", async (t) => {
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

    test('The key "undefined" is a key like any other: an order without a key is another order', async (t) => {
      const { service } = await start(t);
      const keys = [undefined, "undefined", undefined];
      const answers = await Promise.all(keys.map((key) => service.exchange({ ...order, key })));
      assert.ok(answers.every(({ replayed }) => !replayed));
    });

    test("An idempotency key is refused for an order of another amount, side or currency, and takes 10 and 10.00 for the same", async (t) => {
      const { service } = await start(t);
      await service.exchange(order);
      for (const words of ["buy 11 USD for PLN", "sell 10 PLN for USD", "buy 10 EUR for PLN"]) {
        await refuses(service.exchange({ ...order, ...terms(words) }), "idempotency-key-reused");
      }
      const again = await service.exchange({ ...order, ...terms("buy 10.00 usd for pln") });
      assert.equal(again.replayed, true);
      assert.equal((await service.statement(adult(), { limit: 10 })).items.length, 2);
    });

    test("An opening sent again under its key is one account", async (t) => {
      const { service } = await start(t);
      const keyed = opening({ index: 2, key: "open-1" });
      const { receiptId, replayed } = await service.createAccount(keyed);
      assert.equal(replayed, false);
      assert.deepEqual(await service.createAccount(keyed), { receiptId, replayed: true });
      await refuses(service.createAccount({ ...keyed, key: undefined }), "account-exists");
      await refuses(service.createAccount({ ...keyed, key: "open-2" }), "account-exists");
      await refuses(service.createAccount({ ...keyed, name: "Ewa" }), "idempotency-key-reused");
    });

    test("An idempotency key is refused to another token in one group, and disturbs no other order there", async (t) => {
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

    test("Openings under one key are one opening, however the marks of a name are written", async (t) => {
      const { service } = await start(t);
      const asked = (name: string) => service.createAccount(opening({ index: 2, key: "open-1", name }));
      await asked("Zo\u0301sia");
      assert.equal((await asked("Z\u00f3sia")).replayed, true);
      assert.equal((await service.account(adult(2))).name, "Z\u00f3sia");
    });

    test("An idempotency key is refused for an order where an opening used it", async (t) => {
      const { service } = await start(t);
      await service.createAccount(opening({ index: 2, key: "order-1" }));
      await refuses(service.exchange({ ...order, pesel: adult(2) }), "idempotency-key-reused");
    });
  });
}
