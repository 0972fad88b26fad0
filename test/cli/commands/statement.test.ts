import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parse } from "csv-parse/sync";
import { LedgerService } from "../../../src/ledger/service.ts";
import { openSqlite } from "../../../src/sqlite/store.ts";
import { cash } from "../../service-changes.contract.ts";
import { adult, opening, terms, tradedRates } from "../../support/fixture.ts";
import { newFolder } from "../../support/folder.ts";
import { runHere } from "../../support/run-here.ts";

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

const heading =
  "Entry,Date,Time,Kind,Out,Out currency,Out balance,In,In currency,In balance,Bid,Ask,Table,Note,Receipt,Reverses,Reversed by,Key,By";

/** The rows of CSV, by their headings. */
function rowsOf(text: string): Record<string, string>[] {
  return parse(text, { columns: true, record_delimiter: "\r\n" }) as Record<string, string>[];
}

test("account history --format csv has a heading and a line for each entry, with Warsaw's date and time", async (t) => {
  const fx = await ledger(t);
  const { stdout, stderr, exit } = await fx(`account history ${pesel} --format csv`);
  assert.deepEqual([stderr, exit], ["", 0]);
  const [first, exchange = "", opened = "", ...rest] = stdout.split("\r\n");
  assert.deepEqual([first, rest], [heading, [""]]);
  assert.match(
    exchange,
    /^2,2026-06-09,23:30:05,exchange,370\.00,PLN,630\.00,100\.00,USD,100\.00,,3\.7,108\/C\/NBP\/2026,,[0-9a-f-]{36},,,k-1,$/,
  );
  assert.match(opened, /^1,2026-06-08,14:00:00,opening,,,,1000\.00,PLN,1000\.00,,,,,[0-9a-f-]{36},,,,$/);
});

test("account history --format csv names a reversal, its reason, and the entry that it reverses", async (t) => {
  const fx = await ledger(t, async (service) => {
    const { receiptId: reverses } = await service.change(cash("deposit", pesel, "7 PLN"));
    const change = { kind: "reversal", pesel, reverses, reason: 'a "slip", twice', key: undefined } as const;
    await service.change(change);
  });
  const [reversal = {}, deposit = {}] = rowsOf((await fx(`account history ${pesel} --format csv`)).stdout);
  assert.deepEqual(
    [reversal.Kind, reversal.Note, reversal.Reverses, reversal.Out, reversal["Out balance"]],
    ["reversal", 'a "slip", twice', deposit.Receipt, "7.00", "1000.00"],
  );
  assert.equal(deposit["Reversed by"], reversal.Receipt);
});

test("account history and receipt name the token that an entry was made with, if there was one", async (t) => {
  const fx = await ledger(t, (service) =>
    service.change(cash("deposit", pesel, "1 PLN", { by: "counter 2" })),
  );
  const [deposit = {}, opened = {}] = rowsOf((await fx(`account history ${pesel} --format csv`)).stdout);
  assert.deepEqual([deposit.By, opened.By], ["counter 2", ""]);
  assert.match(
    (await fx(`account history ${pesel}`, 120)).stdout,
    /^# .* By\n2 .* counter 2\n1 .*[0-9a-f]\n$/,
  );
  const json = JSON.parse((await fx(`account history ${pesel} --json`)).stdout).entries;
  assert.deepEqual([json[0].by, "by" in json[1]], ["counter 2", false]);
  assert.match((await fx(`receipt ${deposit.Receipt}`)).stdout, /\nby\tcounter 2\n/);
  assert.doesNotMatch((await fx(`receipt ${opened.Receipt}`)).stdout, /\nby/);
});

test("account history --from --to has the entries of those days in Warsaw", async (t) => {
  const fx = await ledger(t);
  const rows = async (period: string) =>
    (await fx(`account history ${pesel} ${period}`)).stdout.split("\n").map((line) => line.split("\t")[0]);
  assert.deepEqual(await rows("--from 2026-06-09"), ["2", ""]);
  assert.deepEqual(await rows("--to 2026-06-08"), ["1", ""]);
  assert.deepEqual(await rows("--from 2026-06-08 --to 2026-06-09"), ["2", "1", ""]);
});

test("account history of a period shows at a terminal what was there before and after", async (t) => {
  const fx = await ledger(t);
  const { stdout } = await fx(`account history ${pesel} --from 2026-06-09 --to 2026-06-30`, 120);
  assert.match(
    stdout,
    /^opening balance {2}1\u202f000\.00 PLN\nclosing balance {2}630\.00 PLN, 100\.00 USD\n\n#.*\n2 .*exchange/,
  );
});

test("account history --json has the balances before and after a period", async (t) => {
  const fx = await ledger(t);
  const { stdout } = await fx(`account history ${pesel} --from 2026-06-09 --json`);
  const { opening, closing, entries } = JSON.parse(stdout);
  assert.deepEqual(opening, [{ symbol: "PLN", amount: 1000 }]);
  assert.deepEqual(closing, entries[0].currencies);
  assert.equal(entries.length, 1);
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
