import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { parseCurrencyCode } from "../../src/core/currency.ts";
import { formatDecimal } from "../../src/core/decimal.ts";
import { FxError } from "../../src/core/errors.ts";
import { openRates, type RatesOptions } from "../../src/rates/open.ts";
import { demoTables, openRecorded } from "../../src/rates/recorded.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { now, putInForce, table } from "../support/fixture.ts";
import { quoted, traded } from "../support/live-rates.ts";
import { publishedTable } from "../support/nbp-stand-in.ts";
import { publishedOf, ratesEvents } from "../support/rates.ts";

const folder = mkdtempSync(join(tmpdir(), "fx-recorded-"));
after(() => rmSync(folder, { recursive: true }));

const usd = parseCurrencyCode("USD");
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

  test("has its tables as the history", async () => {
    const rates = await openOver({ source: "demo" });
    assert.equal((await rates.history(usd, 365)).length, 67);
    await rates.close();
  });

  test("is quoted over a ledger of another source, which it does not change", async () => {
    const ledger = openSqlite(":memory:");
    await putInForce(ledger, table);
    const rates = await openOver({ source: "demo", ledger });
    assert.equal(await quoted(rates), "069/C/NBP/2022");
    assert.deepEqual(await ledger.inForce(), { epoch: 1, table });
    assert.deepEqual(await ledger.tables({ source: "demo", since: "" }), []);
    await rates.close();
  });

  test("opens again over the ledger that traded at it", async () => {
    const ledger = openSqlite(":memory:");
    await putInForce(ledger, await (await openOver({ source: "demo", ledger })).forQuote());
    const rates = await openOver({ source: "demo", ledger });
    assert.equal(await traded(rates, ledger), "069/C/NBP/2022");
    assert.equal(rates.status().problem, undefined);
    await rates.close();
  });
});

describe("a file of tables", () => {
  test("puts its newest effective table in force, wherever it stands", async () => {
    const source = recording(
      JSON.stringify([JSON.parse(first), ahead, publishedOf("107/C/NBP/2026", "2026-06-05")]),
    );
    const rates = await openOver({ source, now: () => now });
    assert.equal(await quoted(rates), "108/C/NBP/2026");
    await rates.close();
  });

  test("is named by its path as it was configured, made absolute, with no link resolved", async () => {
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

  /** A folder as a ConfigMap is mounted: `current` leads to the last version. */
  function mounted(...versions: (readonly object[])[]) {
    const root = mkdtempSync(join(folder, "mounted-"));
    const paths = versions.map((tables, index) => {
      const version = join(root, `version-${index + 1}`);
      mkdirSync(version);
      writeFileSync(join(version, "rates.json"), JSON.stringify(tables));
      return join(version, "rates.json");
    });
    const show = (index: number) => {
      symlinkSync(`version-${index + 1}`, join(root, "next"));
      renameSync(join(root, "next"), join(root, "current"));
    };
    show(0);
    return { path: join(root, "current", "rates.json"), paths, show };
  }
  const second = publishedOf("109/C/NBP/2026", "2026-06-09", { USD: [3.63, 3.71] });
  const third = publishedOf("110/C/NBP/2026", "2026-06-10", { USD: [3.64, 3.72] });
  const tenth = () => new Date("2026-06-10T10:00:00Z");

  test("goes on trading when a link in its path is set to another folder, and after a restart", async () => {
    const { path, show } = mounted([JSON.parse(first)], [second], [third]);
    const ledger = openSqlite(":memory:");
    for (const [index, number] of ["108", "109", "110"].entries()) {
      show(index);
      const rates = await openOver({ source: path, ledger, now: tenth });
      assert.equal(await traded(rates, ledger), `${number}/C/NBP/2026`);
      if (index < 2) {
        show(index + 1);
        await rates.refresh({ maxAgeDays: 7, acceptTable: undefined });
        assert.equal(await traded(rates, ledger), `${Number(number) + 1}/C/NBP/2026`);
      }
      await rates.close();
    }
  });

  test("is read again when it is asked for, history and all, and one that makes no sense changes nothing", async () => {
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
    const history = await rates.history(usd, 10);
    assert.deepEqual(
      history.map(({ number }) => number),
      ["108/C/NBP/2026", "109/C/NBP/2026", "110/C/NBP/2026"],
    );
    await rates.close();
  });

  test("brings the next of its tables into force on its day", async () => {
    let time = now;
    const source = recording(JSON.stringify([JSON.parse(first), ahead]));
    const rates = await openOver({ source, now: () => time, followMs: 10 });
    assert.equal(await quoted(rates), "108/C/NBP/2026");
    time = new Date("2026-06-09T22:00:00Z");
    while ((await quoted(rates)) !== ahead.no) await pause(10);
    await rates.close();
  });

  test("may begin with a byte order mark", async () => {
    const source = recording(`\uFEFF[${publishedTable}]\r\n`);
    const rates = await openOver({ source });
    assert.equal(await quoted(rates), "108/C/NBP/2026");
    await rates.close();
  });

  test("that is missing is refused, telling what the source can be", async () => {
    const source = join(folder, "missing.json");
    await assert.rejects(openRecorded(source), {
      code: "rates-unavailable",
      message:
        `No rates from ${source}. It cannot be read: there is no such file. The source of rates is nbp, ` +
        "the http(s) address of an API like the bank's, a JSON file of tables as the bank publishes them, or demo.",
    });
  });

  test("that does not end is refused", async () => {
    assert.equal(
      await refusal("/dev/zero"),
      "No rates from FILE. It does not hold rate tables: it is longer than 16777216 bytes.",
    );
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
});

test("an address that is none is refused", async () => {
  await assert.rejects(openOver({ source: "http://" }), {
    message: "No rates from http://: it is not an http(s) address.",
  });
});
