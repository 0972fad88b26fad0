import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { DatabaseSync } from "@photostructure/sqlite";
import { pln } from "../../../src/core/currency.ts";
import { LedgerService } from "../../../src/ledger/service.ts";
import { openSqlite } from "../../../src/sqlite/store.ts";
import { adult, decimal, opening, terms, tradedRates } from "../../support/fixture.ts";
import { newFolder } from "../../support/folder.ts";
import { runHere, serveHere } from "../../support/run-here.ts";

const june = ["statements", "--month", "2026-06", "--out", "out"];

/**
 * A folder with a ledger: in June, one customer exchanged, one did nothing, one withdrew all; one came in July, and one
 * had withdrawn all in May.
 */
async function workplace(t: TestContext) {
  const cwd = newFolder(t);
  const path = join(cwd, "fx.db");
  const store = openSqlite(path);
  let clock = new Date("2026-05-20T10:00:00Z");
  const service = new LedgerService(store, await tradedRates(store), () => clock);
  const withdrawAll = (index: number) =>
    service.change({
      kind: "withdrawal",
      pesel: adult(index),
      amount: decimal("1000"),
      currency: pln,
      note: undefined,
    });
  for (const index of [0, 1, 2, 4]) await service.createAccount(opening({ index }));
  await withdrawAll(4);
  clock = new Date("2026-06-10T10:00:00Z");
  await service.exchange({ pesel: adult(0), ...terms("sell 100 PLN for USD") });
  await withdrawAll(2);
  clock = new Date("2026-07-01T10:00:00Z");
  await service.createAccount(opening({ index: 3 }));
  await service.close();
  const run = (args: readonly string[], url = `sqlite:${path}`) =>
    runHere(args, { cwd, env: { FX_URL: url } });
  const out = join(cwd, "out");
  const files = () => readdirSync(out).sort();
  const text = (name: string) => readFileSync(join(out, name), "utf8");
  return { path, out, run, files, text };
}

/** The customers who have a statement of June, by PESEL, which orders the files. */
const customers = [0, 1, 2].map(adult).sort();
const names = customers.map((_, nth) => `2026-06-00000${nth + 1}.csv`);

for (const place of ["in this process", "of a server"]) {
  test(`fx statements ${place} writes the month of each customer into a file of no telling name, and a list`, async (t) => {
    const { path, run, files, text } = await workplace(t);
    let url: string | undefined;
    if (place === "of a server") {
      const server = await serveHere({ FX_DB: `sqlite:${path}`, FX_RATES: "demo" });
      t.after(() => server.stop());
      url = server.url;
    }
    const { exit, stdout, stderr } = await run([...june, "--json"], url);
    assert.equal(exit, 0, stderr);
    assert.deepEqual(JSON.parse(stdout), {
      ...{ folder: "out", from: "2026-06-01", to: "2026-06-30", format: "csv" },
      ...{ statements: 3, withoutStatement: 2 },
    });
    assert.deepEqual(files(), [...names, "list.csv"]);
    for (const [nth, pesel] of customers.entries()) {
      const period = ["--from", "2026-06-01", "--to", "2026-06-30"];
      const history = await run(["account", "history", pesel, ...period, "--format", "csv"], url);
      assert.equal(text(names[nth] ?? ""), history.stdout);
    }
    const rows = customers.map((pesel, nth) => `${names[nth]},${pesel},Jan,Kowalski\r\n`);
    assert.equal(text("list.csv"), `File,PESEL,Name,Surname\r\n${rows.join("")}`);
  });
}

test("fx statements --format camt.053 writes XML, with the balances of customers who did nothing", async (t) => {
  const { run, files, text } = await workplace(t);
  const { exit, stdout } = await run([...june, "--format", "camt.053"]);
  assert.equal(exit, 0);
  assert.match(
    stdout,
    /^folder\tout\nstatements\t3\nwithout statement\t2\nlist of the files\tout\/list\.csv\n$/,
  );
  assert.deepEqual(files(), [...names.map((name) => name.replace("csv", "xml")), "list.csv"]);
  const quiet = text(`2026-06-00000${customers.indexOf(adult(1)) + 1}.xml`);
  assert.equal(quiet.match(/<Cd>(OP|CL)BD<\/Cd><\/CdOrPrtry><\/Tp><Amt Ccy="PLN">1000\.00</g)?.length, 2);
  assert.ok(!quiet.includes("<Ntry>"));
});

test("What fx statements writes is for its user alone", async (t) => {
  const { out, run, files } = await workplace(t);
  await run(june);
  assert.equal(statSync(out).mode & 0o777, 0o700);
  for (const name of files()) assert.equal(statSync(join(out, name)).mode & 0o777, 0o600, name);
});

test("fx statements refuses a folder with files in it, and leaves them", async (t) => {
  const { out, run, files } = await workplace(t);
  mkdirSync(out);
  writeFileSync(join(out, "of somebody else"), "");
  const { exit, stderr } = await run(june);
  assert.equal(exit, 2);
  assert.match(stderr, /out has files in it\. Name a new folder/);
  assert.deepEqual(files(), ["of somebody else"]);
});

test("fx statements that fails in the middle leaves whole statements, and neither a half one nor the list", async (t) => {
  const { path, run, files, text } = await workplace(t);
  const database = new DatabaseSync(path);
  database.exec(`update journal set hash = 'edited' where pesel = ${Number(customers[1])} and sequence = 1`);
  database.close();
  const { exit, stderr } = await run(june);
  assert.equal(exit, 7, stderr);
  assert.deepEqual(files(), names.slice(0, 1));
  assert.match(text(names[0] ?? ""), /\r\n$/);
});
