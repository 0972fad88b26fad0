import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Change } from "../../src/core/change.ts";
import { pln } from "../../src/core/currency.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { engines } from "../support/adapters.ts";
import { adult, decimal, fixedRates, now, opening, putInForce, table, terms } from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";

const minuteMs = 60_000;
const tenYears = 10 * 365 * 24 * 60;
const after = (minutes: number) => new Date(now.getTime() + minutes * minuteMs);
const later = tableOf("109/C/NBP/2026", "2026-06-08", { USD: [3.6, 3.7], EUR: [4.2, 4.3] });
const deposit = {
  kind: "deposit",
  pesel: adult(),
  amount: decimal("5"),
  currency: pln,
  note: undefined,
} as const;
const buy = { ...terms("buy 1 USD for PLN"), pesel: adult() };

for (const { name, open } of engines) {
  /** A ledger with two accounts, and a clock that is turned by minutes. */
  async function start(t: TestContext) {
    const store = await open(t);
    await putInForce(store, table);
    let minutes = 0;
    const clock = () => after(minutes);
    const at = (time: number, own = table) => {
      minutes = time;
      // This process takes this rate table for the one in force, whatever the ledger says.
      return new LedgerService(store, { ...fixedRates(own), forOrder: () => own }, clock);
    };
    for (const index of [0, 1]) await at(0).createAccount(opening({ index }));
    return { store, at };
  }
  const problems = async (service: LedgerService) =>
    (await service.audit()).findings.map(({ account, entry, problem }) => [account, entry, problem]);

  describe(`times in a ledger over ${name}`, () => {
    const withdrawal: Change = { ...deposit, kind: "withdrawal", amount: decimal("1000") };
    const closing: Change = { kind: "closing", pesel: adult() };
    const requests: [
      what: string,
      ahead: readonly Change[],
      send: (service: LedgerService) => Promise<unknown>,
    ][] = [
      ["an exchange", [deposit], (service) => service.exchange(buy)],
      ["a deposit", [deposit], (service) => service.change(deposit)],
      ["a withdrawal", [deposit], (service) => service.change(withdrawal)],
      [
        "a renaming",
        [deposit],
        (service) => service.change({ kind: "renaming", pesel: adult(), name: "Ewa", surname: "Lis" }),
      ],
      ["a closing", [withdrawal], (service) => service.change(closing)],
      ["an opening", [withdrawal, closing], (service) => service.createAccount(opening())],
    ];
    for (const [what, ahead, send] of requests) {
      test(`${what} is refused while the account's newest entry is over five minutes ahead of the clock`, async (t) => {
        const { store, at } = await start(t);
        for (const change of ahead) await at(tenYears).change({ ...change, key: change.kind });
        const before = await store.account(adult());
        await assert.rejects(send(at(1)), {
          code: "storage-unavailable",
          message:
            /newest entry is dated 2036-06-05T12:00:00.000Z, more than five minutes after this clock's 2026-06-08T12:01/,
        });
        assert.deepEqual(await store.account(adult()), before);
        // The earlier results are still the answers to their keys, and other accounts go on.
        for (const change of ahead) {
          assert.equal((await at(1).change({ ...change, key: change.kind })).replayed, true);
        }
        await at(1).change({ ...deposit, pesel: adult(1) });
      });
    }

    test("a refusal because of the clock is not kept under the key: the request is carried out once the clock is right", async (t) => {
      const { at } = await start(t);
      await at(60).change(deposit);
      const order = { ...deposit, key: "again" };
      await assert.rejects(at(54).change(order), { code: "storage-unavailable" });
      assert.equal((await at(55).change(order)).replayed, false);
    });

    test("an entry made while the clock is up to five minutes back is dated as the account's newest", async (t) => {
      const { at } = await start(t);
      await at(5).change(deposit);
      await at(0).change(deposit);
      const { items } = await at(0).statement(adult(), { limit: 2 });
      assert.deepEqual(
        items.map(({ time }) => time),
        [after(5), after(5)],
      );
      assert.deepEqual(await problems(at(0)), []);
    });

    for (const [minutes, isFound] of [
      [5, false],
      [6, true],
    ] as const) {
      test(`an audit ${isFound ? "finds" : "allows"} an account settled at a table that was replaced for all others ${minutes} minutes before`, async (t) => {
        const { store, at } = await start(t);
        await at(0).exchange(buy);
        await store.acceptTable(later, { epoch: 1, at: after(10), overriddenBy: undefined });
        await at(11, later).exchange(buy);
        await at(10 + minutes).exchange({ ...buy, pesel: adult(1) });
        const expected = isFound ? [[adult(1), 2, "rate table in force"]] : [];
        assert.deepEqual(await problems(at(60)), expected);
      });

      test(`an audit ${isFound ? "finds" : "allows"} an account settled at a table ${minutes} minutes before it came into force`, async (t) => {
        const { store, at } = await start(t);
        await store.acceptTable(later, { epoch: 1, at: after(10), overriddenBy: undefined });
        await at(10 - minutes, later).exchange(buy);
        const expected = isFound ? [[adult(), 2, "rate table in force"]] : [];
        assert.deepEqual(await problems(at(60)), expected);
      });
    }

    test("an audit finds a table that came into force later than now", async (t) => {
      const { store, at } = await start(t);
      await store.acceptTable(later, { epoch: 1, at: after(60), overriddenBy: undefined });
      assert.deepEqual(await problems(at(55)), []);
      assert.deepEqual(await problems(at(54)), [["all accounts", undefined, "time of table in force 2"]]);
    });
  });
}
