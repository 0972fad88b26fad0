import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { addDays, warsawDate } from "../../src/core/date.ts";
import { adapters } from "../support/adapters.ts";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { send } from "../support/http.ts";
import { closeAll, json, standIn } from "../support/live-rates.ts";
import { publishedOf } from "../support/rates.ts";
import { startFx } from "../support/run-fx.ts";
import { openHere, runHere } from "../support/run-here.ts";

afterEach(closeAll);

const pesel = adult();
const today = warsawDate(new Date());
const yesterday = addDays(today, -1);
const at = (no: string, date: string, usd: number) =>
  publishedOf(`${no}/C/NBP/${date.slice(0, 4)}`, date, { USD: [usd, Number((usd * 1.02).toFixed(4))] });
const old = at("101", yesterday, 4);
const dearer = at("102", today, 6);

/** Two kinds of ledger that several processes can share: a file, and a PostgreSQL database. */
for (const { name, database } of adapters) {
  if (database === undefined) continue;

  test(`two servers on ${name}: a table that one is started to accept is in force for both at once, and nobody gains`, async (t) => {
    const bank = await standIn(old);
    const { url } = (await database(t)) ?? assert.fail();
    const start = async (settings: Record<string, string> = {}) => {
      const server = await startFx([], { env: { FX_DB: url, FX_RATES: bank.url, ...settings } });
      t.after(() => server.stop());
      return server;
    };
    const [a, b] = [await start(), await start()];
    await send(a.url, "POST", "/api/user", {
      body: { name: "Jan", surname: "Kowalski", pesel, pln: 100_000 },
    });
    assert.equal((await order(b, { from: "PLN", to: "USD", toSell: 50_000 })).table, old.no);
    bank.tables = json(dearer);
    await a.stop();
    const again = await start({ FX_ACCEPT_TABLE: dearer.no });
    assert.equal((await order(again, { from: "USD", to: "PLN", toSell: 1 })).table, dearer.no);
    const { table, worth: before } = await order(b, { from: "PLN", to: "USD", toSell: 1 });
    assert.equal(table, dearer.no);
    for (let round = 0; round < 3; round += 1) {
      const { pln } = await order(b, { from: "USD", to: "PLN", toSell: 1000 });
      const { worth } = await order(again, { from: "PLN", to: "USD", toSell: Math.floor(pln) });
      assert.ok(worth <= before);
    }
  });
}

/** The number of the table that an order settles at, the PLN that it leaves, and what it leaves in all at the dearer bid. */
async function order(server: { readonly url: string }, terms: object) {
  const body = { pesel, ...terms };
  const { status, json, text, headers } = await send(server.url, "POST", `/api/exchange/${pesel}`, { body });
  assert.equal(status, 200, text);
  const receipt = await send(server.url, "GET", String(headers.get("fx-receipt")));
  const { currencies } = json as { currencies: { amount: number }[] };
  const [pln = 0, usd = 0] = currencies.map(({ amount }) => amount);
  return { table: (receipt.json as { table: string }).table, pln, worth: pln + 6 * usd };
}

test("a command that settles no order puts no table in force", async (t) => {
  const folder = newFolder(t);
  const file = join(folder, "rates.json");
  const env = { FX_URL: `sqlite:${join(folder, "fx.db")}`, FX_RATES: file };
  writeFileSync(file, `[${JSON.stringify(old)}]`);
  await openHere(env.FX_URL, { pln: "100" });
  const buy = "--from PLN --to USD --to-buy 1".split(" ");
  assert.equal((await runHere(["exchange", pesel, ...buy], { env })).exit, 0);
  writeFileSync(file, JSON.stringify([old, at("102", today, 4.1)]));
  for (const command of [
    "trading suspend --reason slip",
    "trading resume",
    "house deposit --account cash --amount 5 --currency USD",
  ]) {
    assert.equal((await runHere(command.split(" "), { env })).exit, 0, command);
    const quote = await runHere(["quote", ...buy, "--json"], { env });
    assert.equal(JSON.parse(quote.stdout).table, old.no, command);
  }
});
