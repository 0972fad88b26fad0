import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openSqlite } from "../../src/sqlite/store.ts";
import { identified, putInForce } from "../support/fixture.ts";
import { send } from "../support/http.ts";
import { publishedOf } from "../support/rates.ts";
import { type Ran, startFx, until } from "../support/run-fx.ts";
import { runHere, serveHere } from "../support/run-here.ts";

const folder = mkdtempSync(join(tmpdir(), "fx-old-rates-"));
after(() => rmSync(folder, { recursive: true }));

/** Nobody listens there. */
const bank = "http://127.0.0.1:1/api";
const stale =
  "The newest rate table, 108/C/NBP/2020, is of 2020-06-08, and fx trades at a table for at most 7 days";
/** A server asks the bank. A command that reads a store goes by what is in force there. */
const reasons: Record<string, RegExp> = {
  "a store in this process": new RegExp(
    `${stale}\\. fx serve, or a command that settles an order, fetches a newer one`,
  ),
  "a server": new RegExp(
    `${stale}\\. No answer from http://127\\.0\\.0\\.1:1/api\\S+ (connect ECONNREFUSED|Socket closed before the connection)`,
  ),
};

/** A ledger that traded at this bank long ago. */
async function oldLedger(name: string): Promise<string> {
  const path = join(folder, name);
  const store = openSqlite(path);
  const tables = [publishedOf("107/C/NBP/2020", "2020-06-05"), publishedOf("108/C/NBP/2020", "2020-06-08")];
  for (const table of tables) await putInForce(store, identified(table, bank));
  await store.close();
  return `sqlite:${path}`;
}

describe("rates that are too old to trade at, and a bank that is away", () => {
  let server: Awaited<ReturnType<typeof serveHere>>;
  const urls: Record<string, string> = {};
  before(async () => {
    urls["a store in this process"] = await oldLedger("here.db");
    server = await serveHere({ FX_DB: await oldLedger("served.db"), FX_RATES: bank });
    urls["a server"] = server.url;
    // It tries three times before it says that the bank is away.
    await until(() => server.rates().problem !== undefined);
  });
  after(() => server.stop());
  const fx = (where: string, ...args: string[]): Promise<Ran> =>
    runHere(args, { env: { FX_URL: urls[where] ?? "", FX_RATES: bank } });

  for (const [where, why] of Object.entries(reasons)) {
    test(`are shown, of ${where}, and a warning says why nothing is settled at them`, async () => {
      const { stdout, stderr, exit } = await fx(where, "rates");
      assert.match(stdout, /^USD\t3\.6268\t3\.7000\t0\.00\t108\/C\/NBP\/2020\t2020-06-08\tUSD$/m);
      assert.match(stderr, /^fx: No order is settled at this table\. /);
      assert.match(stderr, why);
      assert.equal(exit, 0);
    });

    test(`are shown, of ${where}, as a document that says why`, async () => {
      const { stdout, stderr, exit } = await fx(where, "rates", "--json");
      const { table, recorded, tradable, reason } = JSON.parse(stdout);
      assert.deepEqual([table, recorded, tradable, stderr, exit], ["108/C/NBP/2020", false, false, "", 0]);
      assert.match(reason, why);
    });

    test(`have their history, of ${where}, and a warning`, async () => {
      const { stdout, stderr, exit } = await fx(where, "rates", "history", "USD");
      assert.equal(stdout.trim().split("\n").length, 2);
      assert.match(stderr, why);
      assert.equal(exit, 0);
      const { stderr: warning } = await fx(where, "rates", "history", "USD", "--json");
      assert.match(JSON.parse(warning).warning, why);
    });

    test(`are wrong to the doctor of ${where}, for the reason that a quote fails for`, async () => {
      const { stdout } = await fx(where, "doctor", "--json");
      const { checks } = JSON.parse(stdout) as { checks: { check: string; ok: boolean; detail: string }[] };
      const table = checks.find(({ check }) => check === "table");
      assert.equal(table?.ok, false);
      assert.match(table?.detail ?? "", why);
      const quote = await fx(where, "quote", "--from", "PLN", "--to", "USD", "--to-buy", "1");
      assert.match(quote.stderr, why);
      assert.equal(quote.exit, 6);
    });
  }

  test("are told as such by the probe and by a metric", async () => {
    const { json } = await send(server.url, "GET", "/health/ready");
    const { tradable, reason, table } = (json as { rates: Record<string, unknown> }).rates;
    assert.deepEqual([tradable, table], [false, "108/C/NBP/2020"]);
    assert.match(String(reason), reasons["a server"] as RegExp);
    assert.match((await send(server.url, "GET", "/metrics")).text, /^fx_trading 0$/m);
  });

  test("are told as such by the first lines of fx serve and by its log", async () => {
    const started = await startFx([], { env: { FX_DB: await oldLedger("started.db"), FX_RATES: bank } });
    const { stdout, stderr } = await started.stop();
    assert.match(
      stdout,
      /^rates\t.*table 108\/C\/NBP\/2020 of 2020-06-08\. No order is settled\. The newest rate table/m,
    );
    assert.match(stderr, /"problem":"The newest rate table, 108.*"msg":"rates: not-trading"/);
    assert.doesNotMatch(stderr, /rate table in force/);
  });

  test("a command says what the doctor says, and not to wait", async () => {
    const quote = await fx(
      "a store in this process",
      "quote",
      "--from",
      "PLN",
      "--to",
      "USD",
      "--to-buy",
      "1",
    );
    const { stdout } = await fx("a store in this process", "doctor");
    const detail = /^check\ttable\twrong\t(.*)$/m.exec(stdout)?.[1];
    assert.equal(quote.stderr, `fx: ${detail}.\n`);
  });
});

test("without any table a command says that the bank did not answer, and does not say to wait", async () => {
  const { stderr, exit } = await runHere(["rates", "--url", "memory:"], { env: { FX_RATES: bank } });
  assert.match(
    stderr,
    /^fx: There is no rate table yet\. No answer from http\S+ connect ECONNREFUSED [\d.:]+\.\n$/,
  );
  assert.equal(exit, 6);
});
