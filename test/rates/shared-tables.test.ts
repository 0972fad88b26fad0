import assert from "node:assert/strict";
import { afterEach, type TestContext, test } from "node:test";
import type { CurrentRates } from "../../src/core/rates.ts";
import { openPostgres } from "../../src/ledger/postgres.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { adult, opening, terms } from "../support/fixture.ts";
import { closeAll, json, newer, noon, older, openLive, standIn, unavailable } from "../support/live-rates.ts";
import { createDatabase } from "../support/postgres.ts";

afterEach(closeAll);

test("a process without the bank trades on the table that a sister process stored, and both on the newest", async (t: TestContext) => {
  const { url, drop } = await createDatabase();
  t.after(drop);
  const [reaching, cutOff] = [await openPostgres(url), await openPostgres(url)];
  const [bank, refusing] = [await standIn(older), await standIn()];
  await refusing.mode("refuses");

  const ratesCutOff = await openLive(refusing, { archive: cutOff });
  await ratesCutOff.events.next("failed");
  unavailable(ratesCutOff);
  const ratesReaching = await openLive(bank, { archive: reaching });
  await ratesReaching.events.next("in-force");
  assert.equal((await ratesCutOff.events.next("in-force")).from, "archive");

  const serviceOf = (store: typeof reaching, rates: CurrentRates) =>
    new LedgerService(store, rates, () => noon);
  const services = [serviceOf(reaching, ratesReaching), serviceOf(cutOff, ratesCutOff)];
  t.after(() => Promise.all(services.map((service) => service.close())));
  await services[0]?.createAccount(opening());
  /** The tables that orders settle at in both processes. */
  const settledAt = async () => {
    const order = { ...terms("buy 1 USD for PLN"), pesel: adult(), key: undefined };
    const receipts = await Promise.all(services.map((service) => service.exchange(order)));
    const entries = await Promise.all(
      receipts.map(({ receiptId }, index) => services[1 - index]?.receipt(receiptId)),
    );
    return entries.map((entry) => entry?.table);
  };
  assert.deepEqual(await settledAt(), [older.no, older.no]);

  bank.tables = json(newer);
  await ratesReaching.events.next("in-force");
  await ratesCutOff.events.next("in-force");
  assert.deepEqual(await settledAt(), [newer.no, newer.no]);
  assert.match(ratesCutOff.status().problem ?? "", /refused|ECONNREFUSED|answer/i);
  assert.deepEqual((await services[1]?.audit())?.findings, []);
});
