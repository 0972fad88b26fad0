import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { openSqlite } from "../../src/sqlite/store.ts";
import { identified, putInForce } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { publishedOf } from "../support/rates.ts";
import { startFx } from "../support/run-fx.ts";
import { runHere } from "../support/run-here.ts";

const folder = newFolder();

/** Nobody listens there. */
const bank = "http://127.0.0.1:1/api";
const stale =
  "The newest rate table, 108/C/NBP/2020, is of 2020-06-08, and fx trades at a table for at most 7 days";
const why = new RegExp(`${stale}\\. fx serve, or a command that settles an order, fetches a newer one`);

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
  let url: string;
  before(async () => {
    url = await oldLedger("here.db");
  });
  const fx = (line: string) => runHere(line.split(" "), { env: { FX_URL: url, FX_RATES: bank } });

  test("Rates too old to trade at are shown with their history, and a warning says why nothing is settled", async () => {
    const rates = await fx("rates");
    assert.match(rates.stdout, /^USD\t3\.6268\t3\.7000\t0\.00\t108\/C\/NBP\/2020\t2020-06-08\tUSD$/m);
    assert.match(rates.stderr, /^fx: No order is settled at this table\. /);
    const history = await fx("rates history USD");
    assert.equal(history.stdout.trim().split("\n").length, 2);
    for (const { stderr, exit } of [rates, history]) {
      assert.match(stderr, why);
      assert.equal(exit, 0);
    }
  });

  test("Rates too old to trade at are a document that says why, and their history one beside a warning", async () => {
    const rates = await fx("rates --json");
    const { table, recorded, tradable, reason } = JSON.parse(rates.stdout);
    assert.deepEqual([table, recorded, tradable, rates.stderr], ["108/C/NBP/2020", false, false, ""]);
    assert.match(reason, why);
    assert.match(JSON.parse((await fx("rates history USD --json")).stderr).warning, why);
  });

  test("Rates too old to trade at are wrong to fx doctor for the reason that a quote fails for, with exit 6", async () => {
    const detail = /^check\ttable\twrong\t(.*)$/m.exec((await fx("doctor")).stdout)?.[1];
    const quote = await fx("quote --from PLN --to USD --to-buy 1");
    assert.deepEqual([quote.stderr, quote.exit], [`fx: ${detail}.\n`, 6]);
    assert.match(quote.stderr, why);
  });

  test("Rates too old to trade at are reported as such by the first lines of fx serve and by its log", async () => {
    const started = await startFx([], { env: { FX_DB: await oldLedger("started.db"), FX_RATES: bank } });
    const { stdout, stderr } = await started.stop();
    assert.match(
      stdout,
      /^rates\t.*table 108\/C\/NBP\/2020 of 2020-06-08\. No order is settled\. The newest rate table/m,
    );
    assert.match(stderr, /"problem":"The newest rate table, 108.*"msg":"rates: not-trading"/);
    assert.doesNotMatch(stderr, /rate table in force/);
  });
});
