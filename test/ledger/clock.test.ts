import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import { engines } from "../support/adapters.ts";
import { adult, fixedRates, now, opening, putInForce, table, terms } from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";

const minuteMs = 60_000;
const after = (minutes: number) => new Date(now.getTime() + minutes * minuteMs);
const later = tableOf("109/C/NBP/2026", "2026-06-08", { USD: [3.6, 3.7], EUR: [4.2, 4.3] });
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
