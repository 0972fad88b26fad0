import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, type TestContext, test } from "node:test";
import { addDays, warsawDate } from "../../src/core/date.ts";
import { adapters } from "../support/adapters.ts";
import { adult } from "../support/fixture.ts";
import { send } from "../support/http.ts";
import { closeAll, json, standIn } from "../support/live-rates.ts";
import { publishedOf } from "../support/rates.ts";
import { startFx } from "../support/run-fx.ts";
import { runHere, serveHere } from "../support/run-here.ts";

afterEach(closeAll);

const pesel = adult();
const today = warsawDate(new Date());
const yesterday = addDays(today, -1);
const at = (no: string, date: string, usd: number) =>
  publishedOf(`${no}/C/NBP/${date.slice(0, 4)}`, date, { USD: [usd, Number((usd * 1.02).toFixed(4))] });
const old = at("101", yesterday, 4);
const dearer = at("102", today, 6);
const usual = at("102", today, 4.24);

/** Two kinds of ledger that several processes can share: a file, and a PostgreSQL database. */
for (const { name, database } of adapters) {
  if (database === undefined) continue;

  describe(`two servers on ${name}`, () => {
    async function open(t: TestContext) {
      const bank = await standIn(old);
      const { url } = (await database?.(t)) ?? assert.fail();
      const env = { FX_DB: url, FX_RATES: bank.url };
      const serve = async (settings: Record<string, string> = {}) => {
        const server = await serveHere({ ...env, ...settings });
        t.after(() => server.stop());
        return server;
      };
      /** The same as a process of its own. */
      const start = async (settings: Record<string, string> = {}) => {
        const server = await startFx([], { env: { ...env, ...settings } });
        t.after(() => server.stop());
        return server;
      };
      return { bank, url, serve, start };
    }

    const amountsOf = (account: unknown) =>
      (account as { currencies: { amount: number }[] }).currencies.map(({ amount }) => amount);

    /** The number of the table that an order settles at, and the dollars that it leaves. */
    async function order(server: { readonly url: string }, terms: object) {
      const body = { pesel, ...terms };
      const { status, json, text, headers } = await send(server.url, "POST", `/api/exchange/${pesel}`, {
        body,
      });
      assert.equal(status, 200, text);
      const receipt = await send(server.url, "GET", String(headers.get("fx-receipt")));
      const [pln = 0, usd = 0] = amountsOf(json);
      return { table: (receipt.json as { table: string }).table, pln, usd };
    }

    const openAccount = (server: { readonly url: string }) =>
      send(server.url, "POST", "/api/user", {
        body: { name: "Jan", surname: "Kowalski", pesel, pln: 100_000 },
      });

    for (const [how, move, next, settings] of [
      ["start", "50 %, which one of them is started to accept", dearer, { FX_ACCEPT_TABLE: dearer.no }],
      ["serve", "6 %", usual, {}],
    ] as const) {
      test(`a move of ${move}, comes into force for both at once, and nobody gains`, async (t) => {
        const { bank, [how]: start } = await open(t);
        const [a, b] = [await start(), await start()];
        await openAccount(a);
        const bought = await order(b, { from: "PLN", to: "USD", toSell: 50_000 });
        assert.equal(bought.table, old.no);
        bank.tables = json(next);
        await a.stop();
        const again = await start(settings);
        assert.equal((await order(again, { from: "USD", to: "PLN", toSell: 1 })).table, next.no);
        assert.equal((await order(b, { from: "PLN", to: "USD", toSell: 1 })).table, next.no);
        const worth = async () => {
          const { json } = await send(b.url, "GET", `/api/user/${pesel}`);
          const [pln = 0, usd = 0] = amountsOf(json);
          return pln + usd * (next.rates[0]?.bid ?? 0);
        };
        const before = await worth();
        for (let round = 0; round < 3; round += 1) {
          const { pln } = await order(b, { from: "USD", to: "PLN", toSell: 1000 });
          await order(again, { from: "PLN", to: "USD", toSell: Math.floor(pln) });
        }
        assert.ok((await worth()) <= before);
      });
    }

    test("one that refuses a leap goes on at the old table, and one that starts refuses it, too", async (t) => {
      const { bank, serve, start } = await open(t);
      const a = await serve();
      await openAccount(a);
      await order(a, { from: "PLN", to: "USD", toSell: 100 });
      bank.tables = json(at("102", today, 36));
      const b = await start({ FX_LOG_LEVEL: "warn" });
      assert.equal((await order(b, { from: "PLN", to: "USD", toSell: 100 })).table, old.no);
      assert.match(b.output().stderr, /rates: refused/);
    });

    test("a quote pinned by its table is refused by the other once the rates have moved", async (t) => {
      const { bank, serve } = await open(t);
      const a = await serve();
      await openAccount(a);
      await order(a, { from: "PLN", to: "USD", toSell: 100 });
      const quote = await send(a.url, "GET", "/api/quote?from=PLN&to=USD&toSell=100");
      bank.tables = json(usual);
      const b = await serve();
      const headers = {
        "content-type": "application/json",
        "fx-table": (quote.json as { tableId: string }).tableId,
      };
      const body = { pesel, from: "PLN", to: "USD", toSell: 100 };
      const answer = await send(a.url, "POST", `/api/exchange/${pesel}`, { headers, body });
      assert.deepEqual([answer.status, (answer.json as { code: string }).code], [400, "rate-changed"]);
      const [here, there] = await Promise.all(
        [a, b].map(async ({ url }) => (await send(url, "GET", "/api/quote?from=PLN&to=USD&toSell=100")).json),
      );
      assert.deepEqual(here, there);
      assert.equal((here as { table: string }).table, usual.no);
    });

    test("a table of days to come is not in force, and the bank's correction of it is", async (t) => {
      const { bank, serve } = await open(t);
      const a = await serve();
      await openAccount(a);
      await order(a, { from: "PLN", to: "USD", toSell: 100 });
      const ahead = { ...dearer, effectiveDate: addDays(today, 7) };
      bank.tables = json(old, ahead);
      const b = await serve({ FX_ACCEPT_TABLE: dearer.no });
      assert.equal((await order(b, { from: "PLN", to: "USD", toSell: 100 })).table, old.no);
      await b.stop();
      bank.tables = json(old, usual);
      const c = await serve();
      assert.equal((await order(c, { from: "PLN", to: "USD", toSell: 100 })).table, usual.no);
    });

    test("a command with another source quotes at it, says so, and changes nothing", async (t) => {
      const { serve, url } = await open(t);
      const a = await serve();
      await openAccount(a);
      await order(a, { from: "PLN", to: "USD", toSell: 100 });
      const folder = mkdtempSync(join(tmpdir(), "fx-prices-"));
      t.after(() => rmSync(folder, { recursive: true }));
      const path = join(folder, "what-if.json");
      writeFileSync(path, `[${JSON.stringify(at("102", today, 5))}]`);
      const quote = ["quote", "--from", "PLN", "--to", "USD", "--to-buy", "1", "--json"];
      const env = { FX_URL: url };
      const asked = await runHere([...quote, "--rates", path], { env });
      const { source, table } = JSON.parse(asked.stdout);
      assert.deepEqual([source, table], [path, `102/C/NBP/${today.slice(0, 4)}`]);
      const bought = await runHere(
        ["exchange", pesel, "--from", "PLN", "--to", "USD", "--to-buy", "1", "--rates", path],
        { env },
      );
      assert.equal(bought.exit, 6);
      assert.match(bought.stderr, /trades at the rates of http:\/\/127\S+, and this fx has those of /);
      assert.ok(bought.stderr.includes(`this fx has those of ${path}`), bought.stderr);
      assert.match(bought.stderr, /--change-source/);
      assert.equal((await order(a, { from: "PLN", to: "USD", toSell: 100 })).table, old.no);
    });

    test("a command without --rates does not trade at what it was not told of", async (t) => {
      const { serve, url } = await open(t);
      const a = await serve();
      await openAccount(a);
      await order(a, { from: "PLN", to: "USD", toSell: 100 });
      await a.stop();
      const args = ["exchange", pesel, "--from", "PLN", "--to", "USD", "--to-buy", "1"];
      const { exit, stderr } = await runHere(args, { env: { FX_URL: url } });
      assert.equal(exit, 6);
      assert.match(stderr, /The ledger trades at the rates of http:\S+, and this fx has those of nbp/);
      const doctor = await runHere(["doctor"], { env: { FX_URL: url } });
      assert.equal(doctor.exit, 1);
      assert.match(doctor.stdout, /check\ttable\twrong\tThe ledger trades at the rates of http/);
    });

    test("--change-source changes the ledger's source, once, and stands in a unit file", async (t) => {
      const { bank, serve, url } = await open(t);
      const a = await serve();
      await openAccount(a);
      await order(a, { from: "PLN", to: "USD", toSell: 100 });
      const dear = at("101", yesterday, 8);
      const other = await standIn(dear);
      const change = { FX_RATES: other.url, FX_CHANGE_SOURCE: bank.url };
      const held = await serve(change);
      const refused = await send(held.url, "POST", `/api/exchange/${pesel}`, {
        body: { pesel, from: "PLN", to: "USD", toSell: 100 },
      });
      assert.match(refused.text, /is held back: a rate moved by more than 30 %.*--accept-table 101/);
      await held.stop();
      for (let start = 0; start < 2; start += 1) {
        const b = await serve({ ...change, FX_ACCEPT_TABLE: dear.no });
        const { usd } = await order(b, { from: "PLN", to: "USD", toSell: 8.16 });
        const { json } = await send(b.url, "GET", "/api/rates");
        assert.equal((json as { source: string }).source, other.url);
        assert.ok(usd > 0);
        await b.stop();
      }
      const answer = await send(a.url, "POST", `/api/exchange/${pesel}`, {
        body: { pesel, from: "PLN", to: "USD", toSell: 100 },
      });
      assert.deepEqual([answer.status, (answer.json as { code: string }).code], [500, "rates-unavailable"]);
      const audit = await runHere(["audit", "--json"], { env: { FX_URL: url } });
      assert.equal(JSON.parse(audit.stdout).ok, true);
    });
  });
}

test("reading a file changes no byte of it, whatever rates are asked for", async (t) => {
  const sqlite = adapters.find(({ name }) => name === "sqlite:");
  const { url } = (await sqlite?.database?.(t)) ?? assert.fail();
  const path = url.slice("sqlite:".length);
  const env = { FX_URL: url };
  await runHere(["account", "create", pesel, "--name", "Jan", "--surname", "Kowalski", "--pln", "1000"], {
    env,
  });
  await runHere(["exchange", pesel, "--from", "PLN", "--to", "USD", "--to-buy", "1", "--rates", "demo"], {
    env,
  });
  const before = readFileSync(path);
  for (const args of [
    ["quote", "--from", "PLN", "--to", "USD", "--to-buy", "1", "--rates", "demo"],
    ["rates", "--rates", "demo"],
    ["rates", "history", "USD", "--rates", "demo"],
    ["exchange", pesel, "--from", "PLN", "--to", "USD", "--to-buy", "1", "--rates", "demo", "--dry-run"],
    ["account", "show", pesel],
    ["audit"],
    ["doctor", "--rates", "demo"],
  ]) {
    const { exit, stderr } = await runHere(args, { env });
    assert.equal(exit, 0, stderr);
  }
  assert.ok(readFileSync(path).equals(before));
});
