import assert from "node:assert/strict";
import { symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, test } from "node:test";
import { formatDecimal } from "../../src/core/decimal.ts";
import { FxError } from "../../src/core/errors.ts";
import { openRates, type RatesOptions } from "../../src/rates/open.ts";
import { demoTables, openRecorded } from "../../src/rates/recorded.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { now, putInForce } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { quoted } from "../support/live-rates.ts";
import { publishedTable } from "../support/nbp-stand-in.ts";
import { publishedOf, ratesEvents } from "../support/rates.ts";

const folder = newFolder();

const first = JSON.stringify(publishedOf("108/C/NBP/2026", "2026-06-08"));
const ahead = publishedOf("110/C/NBP/2026", "2026-06-10");

function openOver(options: Partial<RatesOptions> & { source: string }) {
  return openRates({ ledger: openSqlite(":memory:"), role: "serve", ...options });
}

let recordings = 0;

function recording(text: string): string {
  recordings += 1;
  const path = join(folder, `${recordings}.json`);
  writeFileSync(path, text);
  return path;
}

/** The message of a recording that cannot be opened, without its path. */
async function refusal(source: string): Promise<string> {
  const error = await openRecorded(source).catch((error: unknown) => error);
  assert.ok(error instanceof FxError, String(error));
  assert.equal(error.code, "rates-unavailable");
  return error.message.replaceAll(source, "FILE").replace(/ The source of rates is .*$/, "");
}

describe("demo", () => {
  test("The demo is 67 consecutive tables of 13 currencies", () => {
    const tables = demoTables();
    assert.deepEqual(
      tables.map(({ number }) => number),
      Array.from({ length: 67 }, (_, index) => `${String(index + 3).padStart(3, "0")}/C/NBP/2022`),
    );
    assert.ok(tables.every(({ rates }) => rates.size === 13));
  });

  test("The demo has the figures that the bank published", () => {
    const quoted = (table: number, code: string) => {
      const rate = [...(demoTables()[table]?.rates.values() ?? [])].find(({ currency }) => currency === code);
      return rate && `${rate.name} ${formatDecimal(rate.bid, 4)} ${formatDecimal(rate.ask, 4)}`;
    };
    assert.equal(quoted(0, "USD"), "dolar amerykański 4.0045 4.0853");
    assert.equal(quoted(0, "AUD"), "dolar australijski 2.8896 2.9480");
    assert.equal(quoted(0, "HUF"), "forint (Węgry) 0.012415 0.012665");
    assert.equal(quoted(66, "XDR"), "SDR (MFW) 5.7764 5.8930");
  });

  test("The demo puts its last table in force, however old, and says what it is", async () => {
    const events = ratesEvents();
    const rates = await openOver({ source: "demo", maxAgeDays: 1, onEvent: events.onEvent });
    assert.equal(await quoted(rates), "069/C/NBP/2022");
    const { source, recorded, problem } = rates.status();
    assert.deepEqual({ source, recorded, problem }, { source: "demo", recorded: true, problem: undefined });
    assert.deepEqual(
      events.all.map(({ kind }) => kind),
      ["in-force"],
    );
    await rates.close();
  });

  test("The demo has its tables as the history", async () => {
    const rates = await openOver({ source: "demo" });
    assert.equal((await rates.tables(365)).length, 67);
    await rates.close();
  });
});

describe("a file of tables", () => {
  test("A file puts its newest effective table in force, wherever it stands", async () => {
    const source = recording(
      JSON.stringify([JSON.parse(first), ahead, publishedOf("107/C/NBP/2026", "2026-06-05")]),
    );
    const rates = await openOver({ source, now: () => now });
    assert.equal(await quoted(rates), "108/C/NBP/2026");
    await rates.close();
  });

  test("A file is named by its path as it was configured, made absolute, with no link resolved", async () => {
    const source = recording(`[${first}]`);
    const link = `${source}.link`;
    symlinkSync(source, link);
    for (const [path, name] of [
      [source, source],
      [link, link],
      [relative(process.cwd(), link), link],
    ] as const) {
      const rates = await openOver({ source: path });
      assert.equal(rates.status().source, name);
      await rates.close();
    }
  });

  test("A file is read again at each refresh, history and all, and a malformed one changes nothing", async () => {
    const source = recording(`[${first}]`);
    const ledger = openSqlite(":memory:");
    const rates = await openOver({ source, ledger, now: () => new Date("2026-06-10T10:00:00Z") });
    await putInForce(ledger, await rates.forQuote());
    const rules = { maxAgeDays: 7, acceptTable: undefined };
    await rates.refresh(rules);
    writeFileSync(source, "{");
    await rates.refresh(rules);
    assert.equal(await quoted(rates), "108/C/NBP/2026");
    assert.match(rates.status().problem ?? "", /not JSON/);
    const between = publishedOf("109/C/NBP/2026", "2026-06-09");
    writeFileSync(source, `[${first},${JSON.stringify(between)},${JSON.stringify(ahead)}]`);
    await rates.refresh(rules);
    const history = await rates.tables(10);
    assert.deepEqual(
      history.map(({ number }) => number),
      ["108/C/NBP/2026", "109/C/NBP/2026", "110/C/NBP/2026"],
    );
    await rates.close();
  });

  test("A file may begin with a byte order mark", async () => {
    const source = recording(`\uFEFF[${publishedTable}]\r\n`);
    const rates = await openOver({ source });
    assert.equal(await quoted(rates), "108/C/NBP/2026");
    await rates.close();
  });

  test("A missing file is refused with what the source can be", async () => {
    const source = join(folder, "missing.json");
    await assert.rejects(openRecorded(source), {
      code: "rates-unavailable",
      message:
        `No rates from ${source}. It cannot be read: there is no such file. The source of rates is nbp, ` +
        "the http(s) address of an API like the bank's, a JSON file of tables as the bank publishes them, or demo.",
    });
  });

  test("A file that does not end is refused", async () => {
    assert.equal(
      await refusal("/dev/zero"),
      "No rates from FILE. It does not hold rate tables: it is longer than 16777216 bytes.",
    );
  });

  test("A folder is refused as a file of tables", async () => {
    assert.match(await refusal(folder), /^No rates from FILE\. It cannot be read: EISDIR/);
  });

  test("A file whose newest table is wrong is refused", async () => {
    assert.equal(
      await refusal(recording(`[${publishedTable},{"table":"A"}]`)),
      'No rates from FILE. It does not hold rate tables: table 2 of 2 is wrong: not a table C but "A".',
    );
  });
});

test("an address that is none is refused", async () => {
  await assert.rejects(openOver({ source: "http://" }), {
    message: "No rates from http://: it is not an http(s) address.",
  });
});
