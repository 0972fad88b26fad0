import assert from "node:assert/strict";
import { test } from "node:test";
import { LedgerService } from "../../src/ledger/service.ts";
import { nextTable } from "../../src/rates/judge.ts";
import { adapters } from "../support/adapters.ts";
import { adult, fixedRates, now, opening, putInForce, table, terms } from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";

for (const { name, database } of adapters) {
  if (database === undefined) continue;
  test(`A table is held back whose returned currency is far from its last rate, or cannot be compared, in ${name}`, async (t) => {
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

for (const { name, open } of adapters) {
  test(`Orders and suspensions are refused until a process has put a table in force, and everything else is done, in ${name}`, async (t) => {
    const store = await open(t);
    const service = new LedgerService(store, fixedRates(table), () => now);
    const buy = { ...terms("buy 1 USD for PLN"), pesel: adult() };
    await service.createAccount(opening());
    await assert.rejects(service.exchange(buy), { code: "rates-unavailable" });
    for (const reason of ["why", undefined]) {
      const refusal = { code: "rates-unavailable", message: /no trading to suspend/, retryAfterSeconds: 60 };
      await assert.rejects(service.changeTrading({ reason, by: undefined }), refusal);
    }
    assert.equal(await store.inForce(), undefined);
    await putInForce(store, table);
    await service.exchange(buy);
    // The same request makes no second epoch.
    for (const reason of ["why", "why", undefined, undefined]) {
      await service.changeTrading({ reason, by: "anna" });
    }
    const rows = await store.rows("accepted_table", { limit: 9 });
    assert.deepEqual(
      rows.map((row) => [row.epoch, row.suspended_for !== null, row.actor]),
      [
        [1, false, null],
        [2, true, "anna"],
        [3, false, "anna"],
      ],
    );
    assert.deepEqual((await service.audit()).findings, []);
  });
}
