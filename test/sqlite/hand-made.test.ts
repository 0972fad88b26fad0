import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import type { CurrencyCode } from "../../src/core/currency.ts";
import { identifyTable } from "../../src/core/rates.ts";
import { acceptanceHash, encodeTable, entryHash, sha256 } from "../../src/ledger/rows.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { adult, decimal, now, table, terms, tradedRates } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { ledgerFile } from "../support/ledger-file.ts";
import { startServer } from "../support/server.ts";

/** The path of a ledger whose exchange has another text, with the hash that goes with it, and the exchange's id. */
async function forged(t: TestContext, textOf: (entry: string) => string) {
  const path = await ledgerFile(t, 1);
  const database = new DatabaseSync(path);
  const rows = database.prepare("select entry, hash from journal order by sequence").all();
  const [{ hash: before }, { entry }] = rows as [{ hash: string }, { entry: string }];
  const text = textOf(entry);
  const hash = entryHash(text, before);
  database.prepare("update journal set entry = ?, hash = ? where sequence = 2").run(text, hash);
  database.close();
  return { path, id: JSON.parse(entry).id as string };
}

const values: Readonly<Record<string, readonly unknown[]>> = {
  time: [9e15, 253402300800000, -62135596800001],
  effectiveDate: ["", "2026-02-30", "0000-01-01", "12026-06-08", "2026-06-08T10:00", "soon"],
  tableId: ["", "x"],
  side: ["", "both"],
  ask: ["0", "-4"],
  debited: ["3700 QQQ", "-1 PLN"],
  balances: [{ QQQ: 5 }, { PLN: 1.5 }],
};
for (const [field, odd] of Object.entries(values)) {
  for (const value of odd) {
    test(`An entry made by hand with the ${field} ${JSON.stringify(value)} is damage and no failure of fx`, async (t) => {
      const { path, id } = await forged(t, (entry) =>
        JSON.stringify({ ...JSON.parse(entry), [field]: value }),
      );
      const server = await startServer({}, "", { store: openSqlite(path) });
      t.after(() => server.close());
      const account = `/api/user/${adult()}`;
      for (const asked of [account, `${account}/history`, `/api/receipts/${id}`, "/api/position"]) {
        isProblem(await send(server.url, "GET", asked), "storage-unavailable");
      }
      const { json } = await send(server.url, "GET", "/api/users");
      const listed = { name: "Jan", surname: "Kowalski", pesel: adult(), currencies: [], damaged: true };
      assert.deepEqual((json as { users: unknown }).users, [listed]);
      assert.notDeepEqual((await server.service.audit()).findings, []);
    });
  }
}

test("An entry made by hand that names two accounts is a finding, and answers no key of either", async (t) => {
  const members = `"pesel":"${adult()}","pesel":"${adult(1)}"`;
  const { path } = await forged(t, (entry) =>
    entry.replace(`"pesel":"${adult()}"`, members).replace('"key":null', '"key":"k"'),
  );
  const store = openSqlite(path);
  const service = new LedgerService(store, await tradedRates(store), () => now);
  t.after(() => service.close());
  const problems = (await service.audit()).findings.map(({ problem }) => problem);
  assert.ok(problems.includes("account of the entry"), String(problems));
  await assert.rejects(service.exchange({ ...terms("buy 10 USD for PLN"), pesel: adult(), key: "k" }), {
    message: /^The ledger is damaged/,
  });
});

for (const odd of ["", "2026-02-30", "0000-01-01", "12026-06-08", "soon"]) {
  test(`A rate table made by hand with the date ${JSON.stringify(odd)} is damage and no failure of fx`, async (t) => {
    const path = await ledgerFile(t, 1);
    const made = encodeTable(identifyTable({ ...table, effectiveDate: odd }, table.source, sha256));
    const database = new DatabaseSync(path);
    database.prepare("update rate_table set id = ?, effective_date = ?").run(made.id, odd);
    database.exec("delete from accepted_table");
    database.close();
    const store = openSqlite(path);
    t.after(() => store.close());
    await assert.rejects(store.table(made.id), {
      code: "storage-unavailable",
      message: /^The ledger is damaged: the rate table .* cannot be read/,
    });
  });
}

const quotations = { "0": ["0", "0.5"], "no spread": ["4", "4"], "a negative bid": ["-1", "4"] };
for (const [what, [bid = "", ask = ""]] of Object.entries(quotations)) {
  test(`A rate table made by hand in force with a bid of ${what} is damage and no failure of fx`, async (t) => {
    const path = await ledgerFile(t, 1);
    const usd = { currency: "USD" as CurrencyCode, name: "dolar", bid: decimal(bid), ask: decimal(ask) };
    const rates = new Map([[usd.currency, usd]]);
    const made = encodeTable(identifyTable({ ...table, rates }, table.source, sha256));
    const database = new DatabaseSync(path);
    const { epoch, accepted_at } = database.prepare("select * from accepted_table").get() as never;
    const notSuspended = { suspended_for: null, suspended_at: null, actor: null };
    const row = { epoch, table_id: made.id, accepted_at, overridden_by: null, ...notSuspended };
    const hash = acceptanceHash(row);
    database.prepare("update rate_table set id = ?, rates = ?").run(made.id, made.rates);
    database.prepare("update accepted_table set table_id = ?, hash = ?").run(made.id, hash);
    database.close();
    const store = openSqlite(path);
    t.after(() => store.close());
    await assert.rejects(store.inForce(), { message: /^The ledger is damaged: the rate table/ });
  });
}
