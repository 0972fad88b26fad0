import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { LedgerService } from "../../../src/ledger/service.ts";
import { openSqlite } from "../../../src/sqlite/store.ts";
import { adult, opening, terms, tradedRates } from "../../support/fixture.ts";
import { newFolder } from "../../support/folder.ts";
import { runHere } from "../../support/run-here.ts";
import { cash } from "../../support/service.ts";

const pesel = adult();

/** A ledger of June 2026, which commands read: an opening on the 8th, and on the 9th what `more` does. */
async function ledger(t: TestContext, more?: (service: LedgerService) => Promise<unknown>) {
  const folder = newFolder(t);
  const path = join(folder, "fx.db");
  let now = new Date("2026-06-08T12:00:00Z");
  const store = openSqlite(path);
  const service = new LedgerService(store, await tradedRates(store), () => now);
  await service.createAccount(opening());
  now = new Date("2026-06-09T21:30:05.678Z");
  await (more ?? ((fx) => fx.exchange({ pesel, ...terms("buy 100 USD for PLN"), key: "k-1" })))(service);
  await service.close();
  return (command: string, columns?: number) =>
    runHere(command.split(" "), {
      env: { FX_URL: `sqlite:${path}`, FX_RATES: "demo", NO_COLOR: "1", LANG: "C.UTF-8" },
      ...(columns !== undefined && { columns }),
    });
}

test("account history and receipt name the token that an entry was made with, if there was one", async (t) => {
  const fx = await ledger(t, (service) =>
    service.change(cash("deposit", pesel, "1 PLN", { by: "counter 2" })),
  );
  assert.match(
    (await fx(`account history ${pesel}`, 120)).stdout,
    /^# .* By\n2 .* counter 2\n1 .*[0-9a-f]\n$/,
  );
  const [deposit, opened] = JSON.parse((await fx(`account history ${pesel} --json`)).stdout).entries;
  assert.deepEqual([deposit.by, "by" in opened], ["counter 2", false]);
  assert.match((await fx(`receipt ${deposit.id}`)).stdout, /\nby\tcounter 2\n/);
  assert.doesNotMatch((await fx(`receipt ${opened.id}`)).stdout, /\nby/);
});

test("times are Warsaw's at a terminal, and marked, and UTC in a pipe", async (t) => {
  const fx = await ledger(t);
  const { entries } = JSON.parse((await fx(`account history ${pesel} --json`)).stdout);
  assert.match(
    (await fx(`account history ${pesel}`, 120)).stdout,
    /^# +Time \(Warsaw\) .*\n2 +2026-06-09 23:30:05 /,
  );
  assert.match((await fx(`receipt ${entries[0].id}`, 120)).stdout, /\ntime +2026-06-09 23:30:05 CEST\n/);
  assert.match((await fx(`receipt ${entries[0].id}`)).stdout, /\ntime\t2026-06-09T21:30:05\.678Z\n/);
});

for (const at of ["--at 2026-06-08T14:00:00+02:00", "--at 2026-06-08"])
  test(`${at} shows an account, the accounts and the position as they were`, async (t) => {
    const fx = await ledger(t);
    assert.match((await fx(`account show ${pesel} ${at}`)).stdout, /\nPLN\t1000\.00\n$/);
    assert.match((await fx(`account list ${at}`)).stdout, /\tKowalski\t1000\.00 PLN\n$/);
    assert.equal(
      (await fx(`position ${at}`)).stdout,
      "PLN\t1000.00\t0.00\t1000.00\t0.00\nspread earned\t0.00 PLN\n",
    );
    assert.match((await fx(`account show ${pesel}`)).stdout, /\nPLN\t630\.00\nUSD\t100\.00\n$/);
  });
