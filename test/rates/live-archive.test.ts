import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { parseRateTable } from "../../src/core/rates.ts";
import { openSqlite } from "../../src/ledger/sqlite.ts";
import { LiveRates } from "../../src/rates/live.ts";
import {
  closeAll,
  faultyArchive,
  json,
  leaped,
  minute,
  newer,
  noon,
  older,
  openLive,
  standIn,
} from "../support/live-rates.ts";
import { type NbpStandIn, tablesUpTo } from "../support/nbp-stand-in.ts";
import { publishedOf, tableOf } from "../support/rates.ts";

afterEach(closeAll);

describe("the archive", () => {
  test("holds a table before it is in force", async () => {
    const { archive, works, store } = faultyArchive();
    const bank = await standIn(older);
    const rates = await openLive(bank, { archive });
    works({ read: true, write: false });
    bank.tables = json(newer);
    const { problem } = await rates.events.next("failed");
    assert.equal(problem, "The store failed: the disk is full.");
    assert.equal(rates.inForce().number, "108/C/NBP/2026");
    works({ read: true, write: true });
    await rates.events.next("in-force");
    await rates.events.next("in-force");
    assert.equal(rates.inForce().number, "109/C/NBP/2026");
    assert.notEqual(await store.table("109/C/NBP/2026"), undefined);
  });

  test("gives the newer table of a sister process, also while the bank is away", async () => {
    const archive = openSqlite(":memory:");
    const bank = await standIn(older);
    const rates = await openLive(bank, { archive });
    await rates.events.next("in-force");
    await bank.mode("refuses");
    await archive.saveTables([tableOf("109/C/NBP/2026", "2026-06-09", { USD: [4.01, 4.09] })]);
    assert.equal((await rates.events.next("in-force")).from, "archive");
    assert.equal(rates.inForce().number, "109/C/NBP/2026");
  });

  test("is believed no more than the bank", async () => {
    const archive = openSqlite(":memory:");
    const rates = await openLive(await standIn(older), { archive });
    await archive.saveTables([tableOf("109/C/NBP/2026", "2026-06-09", { USD: [8, 8.16] })]);
    assert.equal((await rates.events.next("refused")).table, "109/C/NBP/2026");
    assert.equal(rates.inForce().number, "108/C/NBP/2026");
  });

  test("does not take the rates back to an older table", async () => {
    const archive = openSqlite(":memory:");
    const bank = await standIn(older);
    const rates = await openLive(bank, { archive });
    await archive.saveTables([tableOf("107/C/NBP/2026", "2026-06-05")]);
    while (bank.requests.length < 4) await bank.asked();
    assert.equal(rates.inForce().number, "108/C/NBP/2026");
    assert.equal(rates.status().problem, undefined);
  });
});

describe("the history", () => {
  const asked = (bank: NbpStandIn) => bank.requests.filter((path) => path.includes("/last/67/")).length;

  test("is fetched once, after the first good fetch", async () => {
    const archive = openSqlite(":memory:");
    const bank = await standIn(...tablesUpTo("2026-06-09"));
    await openLive(bank, { archive });
    while (bank.requests.length < 5) await bank.asked();
    assert.equal((await archive.tables({})).length, 67);
    assert.equal(asked(bank), 1);
    assert.match(bank.requests[0] ?? "", /\/C\/\?/);
  });

  test("is tried again with the next refresh when it failed, and nothing else fails with it", async () => {
    const archive = openSqlite(":memory:");
    const bank = await standIn(older, "{}", newer);
    const rates = await openLive(bank, { archive });
    assert.match((await rates.events.next("history-failed")).problem, /table 2 of 3 is wrong/);
    assert.equal(rates.inForce().number, "109/C/NBP/2026");
    assert.equal(rates.status().problem, undefined);
    bank.tables = json(older, newer);
    while ((await archive.tables({})).length < 2) await bank.asked();
    assert.ok(asked(bank) >= 2);
  });

  test("does not bring a table that is newer than the one in force, which nobody has checked", async () => {
    const archive = openSqlite(":memory:");
    const tables = [publishedOf("107/C/NBP/2026", "2026-06-05"), older, leaped].map(parseRateTable);
    const rates = new LiveRates({
      source: "a bank that publishes in between",
      fetch: async (count) => (count === 1 ? tables.slice(1, 2) : tables),
      archive,
      now: () => noon,
      maxAgeDays: 7,
      acceptTable: undefined,
      onEvent: () => {},
      refreshMs: minute,
      retryMs: minute,
      historyTables: 67,
    });
    await rates.start();
    await rates.close();
    const kept = (await archive.tables({})).map(({ number }) => number);
    assert.deepEqual(kept, ["107/C/NBP/2026", "108/C/NBP/2026"]);
  });
});

describe("close", () => {
  test("ends the fetch in flight at once, and no other follows", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank, { limits: {} });
    await bank.mode("hangs");
    await bank.asked();
    const began = performance.now();
    await rates.close();
    assert.ok(performance.now() - began < 500);
    const { length } = bank.requests;
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(bank.requests.length, length);
    assert.equal(
      rates.events.all.some(({ kind }) => kind === "failed"),
      false,
    );
  });

  test("is not needed for the process to end", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
    const before = timers();
    await openLive(await standIn(older), { refreshMs: minute });
    assert.equal(timers(), before);
  });

  test("leaves the archive alone from then on", async () => {
    const { archive, reads } = faultyArchive();
    const rates = await openLive(await standIn(older), { archive });
    await rates.close();
    const before = reads();
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(reads(), before);
  });
});
