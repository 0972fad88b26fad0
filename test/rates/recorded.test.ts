import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { FxError } from "../../src/core/errors.ts";
import { formatDecimal } from "../../src/core/money.ts";
import { openSqlite } from "../../src/ledger/sqlite.ts";
import { openRates } from "../../src/rates/current.ts";
import { demoTables } from "../../src/rates/recorded.ts";
import { publishedTable } from "../support/nbp-stand-in.ts";
import { publishedOf, ratesEvents, tableOf } from "../support/rates.ts";

const folder = mkdtempSync(join(tmpdir(), "fx-recorded-"));
after(() => rmSync(folder, { recursive: true }));

function recording(text: string): string {
  const path = join(folder, `${Math.random()}.json`);
  writeFileSync(path, text);
  return path;
}

/** The message of a recording that cannot be opened, without its path. */
async function refusal(source: string, archive = openSqlite(":memory:")): Promise<string> {
  const error = await openRates({ source, archive }).catch((error: unknown) => error);
  assert.ok(error instanceof FxError, String(error));
  assert.equal(error.code, "rates-unavailable");
  return error.message.replaceAll(source, "FILE").replace(/ The source of rates is .*$/, "");
}

describe("demo", () => {
  test("is 67 consecutive tables of 13 currencies", () => {
    const tables = demoTables();
    assert.deepEqual(
      tables.map(({ number }) => number),
      Array.from({ length: 67 }, (_, index) => `${String(index + 3).padStart(3, "0")}/C/NBP/2022`),
    );
    assert.ok(tables.every(({ rates }) => rates.size === 13));
  });

  test("has the figures that the bank published", () => {
    const quoted = (table: number, code: string) => {
      const rate = [...(demoTables()[table]?.rates.values() ?? [])].find(({ currency }) => currency === code);
      return rate && `${rate.name} ${formatDecimal(rate.bid, 4)} ${formatDecimal(rate.ask, 4)}`;
    };
    assert.equal(quoted(0, "USD"), "dolar amerykański 4.0045 4.0853");
    assert.equal(quoted(0, "AUD"), "dolar australijski 2.8896 2.9480");
    assert.equal(quoted(0, "HUF"), "forint (Węgry) 0.012415 0.012665");
    assert.equal(quoted(66, "XDR"), "SDR (MFW) 5.7764 5.8930");
  });

  test("has in every table one mid rate between bid and ask, as the bank makes them", () => {
    for (const { number, rates } of demoTables()) {
      for (const { currency, bid, ask } of rates.values()) {
        const spread = Number(formatDecimal(ask)) / Number(formatDecimal(bid));
        assert.ok(Math.abs(spread - 1.01 / 0.99) < 0.0008, `${number} ${currency} ${spread}`);
      }
    }
  });

  test("puts its last table in force, however old, and says what it is", async () => {
    const events = ratesEvents();
    const archive = openSqlite(":memory:");
    const rates = await openRates({ source: "demo", archive, maxAgeDays: 0, onEvent: events.onEvent });
    assert.equal(rates.inForce().number, "069/C/NBP/2022");
    const { source, recorded, problem } = rates.status();
    assert.deepEqual({ source, recorded, problem }, { source: "demo", recorded: true, problem: undefined });
    assert.deepEqual(
      events.all.map(({ kind }) => kind),
      ["in-force"],
    );
    await rates.close();
  });

  test("is kept in the archive, as the history", async () => {
    const archive = openSqlite(":memory:");
    await openRates({ source: "demo", archive });
    assert.equal((await archive.tables({})).length, 67);
  });

  test("is in force also over an archive that holds a newer table", async () => {
    const archive = openSqlite(":memory:");
    await archive.saveTables([tableOf("108/C/NBP/2026", "2026-06-08")]);
    assert.equal((await openRates({ source: "demo", archive })).inForce().number, "069/C/NBP/2022");
  });

  test("opens again over the archive that it filled", async () => {
    const archive = openSqlite(":memory:");
    await openRates({ source: "demo", archive });
    assert.equal((await openRates({ source: "demo", archive })).inForce().number, "069/C/NBP/2022");
  });
});

describe("a file of tables", () => {
  test("puts its last table in force", async () => {
    const source = recording(
      `[${JSON.stringify(publishedOf("107/C/NBP/2026", "2026-06-05"))},${publishedTable}]`,
    );
    const rates = await openRates({ source, archive: openSqlite(":memory:") });
    assert.equal(rates.inForce().number, "108/C/NBP/2026");
    assert.equal(rates.status().source, source);
  });

  test("may begin with a byte order mark", async () => {
    const source = recording(`\uFEFF[${publishedTable}]\r\n`);
    const rates = await openRates({ source, archive: openSqlite(":memory:") });
    assert.equal(rates.inForce().number, "108/C/NBP/2026");
  });

  test("that is missing is refused, telling what the source can be", async () => {
    const source = join(folder, "missing.json");
    await assert.rejects(openRates({ source, archive: openSqlite(":memory:") }), {
      code: "rates-unavailable",
      message:
        `No rates from ${source}. It cannot be read: there is no such file. The source of rates is nbp, ` +
        "the http(s) address of an API like the bank's, a JSON file of tables as the bank publishes them, or demo.",
    });
  });

  test("that is a folder is refused", async () => {
    assert.match(await refusal(folder), /^No rates from FILE\. It cannot be read: EISDIR/);
  });

  for (const [what, text, message] of [
    ["that is not JSON", "rates,of,today", 'not JSON but "rates,of,today".'],
    ["that is empty", "", "not JSON but nothing."],
    ["without a table", "[]", "an empty array."],
    ["with one table and no array", "{}", 'not an array of tables but "{}".'],
    [
      "with a wrong table among good ones",
      `[${publishedTable},{"table":"A"}]`,
      'table 2 of 2 is wrong: not a table C but "A".',
    ],
    [
      "of a day that does not exist",
      JSON.stringify([publishedOf("040/C/NBP/2026", "2026-02-30")]),
      'table 1 of 1 is wrong: its trading date is "2026-02-30".',
    ],
  ] as const) {
    test(`${what} is refused`, async () => {
      assert.equal(
        await refusal(recording(text)),
        `No rates from FILE. It does not hold rate tables: ${message}`,
      );
    });
  }

  test("that contradicts the archive under its last number is refused", async () => {
    const archive = openSqlite(":memory:");
    await archive.saveTables([tableOf("108/C/NBP/2026", "2026-06-08")]);
    assert.equal(
      await refusal(recording(`[${publishedTable}]`), archive),
      "Table 108/C/NBP/2026 is not the one that the database holds under that number. " +
        "Only one can be the bank's. Use another database for FILE.",
    );
  });
});

test("an address that is none is refused", async () => {
  assert.equal(await refusal("http://"), "No rates from FILE: it is not an http(s) address.");
});
