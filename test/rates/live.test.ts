import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { openSqlite } from "../../src/ledger/sqlite.ts";
import type { RatesOptions } from "../../src/rates/current.ts";
import {
  closeAll,
  faultyArchive,
  impatient,
  json,
  leaped,
  minute,
  newer,
  noon,
  older,
  openLive,
  optionsFor,
  standIn,
  unavailable,
} from "../support/live-rates.ts";
import type { Mode } from "../support/nbp-stand-in.ts";
import { publishedOf, tableOf } from "../support/rates.ts";

afterEach(closeAll);

describe("at the start", () => {
  test("a healthy bank's table is in force when the rates are open", async () => {
    const rates = await openLive(await standIn(older), { refreshMs: minute });
    assert.equal(rates.inForce().number, "108/C/NBP/2026");
    assert.equal(rates.status().problem, undefined);
    assert.deepEqual(rates.events.all[0], { kind: "in-force", table: rates.inForce(), from: "bank" });
  });

  for (const mode of ["refuses", "hangs", "hangsUp", "html", "nonsense", "empty", "500"] as Mode[]) {
    test(`rates open, and are there as soon as the bank recovers, when it first ${mode}`, async () => {
      const bank = await standIn(older);
      await bank.mode(mode);
      const rates = await openLive(bank, optionsFor(mode));
      assert.ok(unavailable(rates).retryAfterSeconds);
      await rates.events.next("failed");
      await bank.mode("answers");
      await rates.events.next("in-force");
      assert.equal(rates.inForce().number, "108/C/NBP/2026");
    });
  }

  test("a bank that hangs is waited for only so long", async () => {
    const bank = await standIn(older);
    await bank.mode("hangs");
    const began = performance.now();
    const rates = await openLive(bank, { firstWaitMs: 50, limits: {} });
    assert.ok(performance.now() - began < 1000);
    const { message, retryAfterSeconds } = unavailable(rates);
    assert.equal(
      message,
      `There is no rate table yet. The first is being fetched from ${bank.url}/. ` +
        "Try again in 1 s, when it is looked for again.",
    );
    assert.equal(retryAfterSeconds, 1);
  });

  test("the archive's newest table is in force when the bank is away", async () => {
    const bank = await standIn();
    await bank.mode("refuses");
    const archive = openSqlite(":memory:");
    await archive.saveTables([
      tableOf("107/C/NBP/2026", "2026-06-05"),
      tableOf("108/C/NBP/2026", "2026-06-08"),
    ]);
    const rates = await openLive(bank, { archive });
    assert.equal(rates.inForce().number, "108/C/NBP/2026");
    assert.match(rates.status().problem ?? "", /ECONNREFUSED/);
  });

  test("an archive that fails does not keep the rates from opening", async () => {
    const { archive, works } = faultyArchive();
    works({ read: false, write: false });
    const rates = await openLive(await standIn(older), { archive });
    assert.match(unavailable(rates).message, /the disk is full/);
    works({ read: true, write: true });
    await rates.events.next("in-force");
    assert.equal(rates.inForce().number, "108/C/NBP/2026");
  });

  test("a table far in the future, left in the archive by a recording, is passed over", async () => {
    const archive = openSqlite(":memory:");
    await archive.saveTables([
      tableOf("107/C/NBP/2026", "2026-06-05"),
      tableOf("001/C/NBP/2030", "2030-01-02"),
    ]);
    const bank = await standIn(older);
    await bank.mode("404");
    const rates = await openLive(bank, { archive });
    assert.equal(rates.inForce().number, "107/C/NBP/2026");
    await bank.mode("answers");
    await rates.events.next("in-force");
    assert.equal((await rates.events.next("in-force")).table.number, "108/C/NBP/2026");
  });
});

describe("a refresh", () => {
  test("puts a new table in force", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank);
    await rates.events.next("in-force");
    bank.tables = json(older, newer);
    await rates.events.next("in-force");
    assert.equal(rates.inForce().number, "109/C/NBP/2026");
  });

  test("tells of a table once, however often it is fetched", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank);
    while (bank.requests.length < 6) await bank.asked();
    assert.equal(rates.events.all.length, 1);
  });

  for (const mode of [
    "refuses",
    "hangs",
    "drips",
    "huge",
    "html",
    "nonsense",
    "object",
    "404",
    "redirect",
  ] as Mode[]) {
    test(`leaves the old table in force and says why when the bank ${mode}`, async () => {
      const bank = await standIn(older);
      const archive = openSqlite(":memory:");
      await archive.saveTables([tableOf("108/C/NBP/2026", "2026-06-08", { USD: [4, 4.08] })]);
      await bank.mode(mode);
      const rates = await openLive(bank, { archive, ...optionsFor(mode) });
      const { problem } = await rates.events.next("failed");
      assert.ok(problem.includes(bank.url), problem);
      assert.equal(rates.status().problem, problem);
      assert.equal(rates.inForce().number, "108/C/NBP/2026");
    });
  }

  test("forgets the problem when the bank is back", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank);
    await bank.mode("500");
    await rates.events.next("failed");
    await bank.mode("answers");
    bank.tables = json(newer);
    await rates.events.next("in-force");
    await rates.events.next("in-force");
    while (rates.status().problem !== undefined) await bank.asked();
    assert.equal(rates.inForce().number, "109/C/NBP/2026");
  });

  test("comes after growing, jittered pauses while the bank fails", async () => {
    const bank = await standIn();
    const rates = await openLive(bank, { retryMs: 8, refreshMs: 32 });
    for (const pause of [8, 16, 32, 32, 32]) {
      const { retryInMs } = await rates.events.next("failed");
      assert.ok(retryInMs >= pause / 2 && retryInMs <= pause, `${retryInMs} for ${pause}`);
    }
  });

  test("begins with short pauses again after a success", async () => {
    const bank = await standIn();
    const rates = await openLive(bank, { retryMs: 8, refreshMs: 32 });
    for (let failures = 0; failures < 4; failures += 1) await rates.events.next("failed");
    bank.tables = json(older);
    await rates.events.next("in-force");
    const failed = rates.events.all.filter(({ kind }) => kind === "failed").length;
    await bank.mode("500");
    while (rates.events.all.filter(({ kind }) => kind === "failed").length <= failed) {
      await rates.events.next("failed");
    }
    const next = rates.events.all.filter((event) => event.kind === "failed")[failed];
    assert.ok(next !== undefined && next.retryInMs <= 8, JSON.stringify(next));
  });

  test("never overlaps another, even when the bank is slower than the interval", async () => {
    const bank = await standIn(older);
    await bank.mode("hangs");
    const rates = await openLive(bank, { refreshMs: 1, retryMs: 1, ...impatient });
    for (let failures = 0; failures < 3; failures += 1) await rates.events.next("failed");
    assert.equal(bank.mostAtOnce, 1);
  });

  test("is not waited for by an order", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank);
    await bank.mode("hangs");
    await bank.asked();
    assert.equal(rates.inForce().number, "108/C/NBP/2026");
  });
});

describe("a fetched table is refused", () => {
  async function refused(table: object, options: Partial<RatesOptions> = {}) {
    const bank = await standIn(older);
    const rates = await openLive(bank, options);
    bank.tables = json(table);
    const { problem, table: number } = await rates.events.next("refused");
    assert.equal(rates.inForce().rates.values().next().value?.bid.coefficient, 4n);
    assert.equal(rates.status().problem, problem);
    return { problem, number, rates };
  }

  test("when it is older than the one in force", async () => {
    const { problem } = await refused(publishedOf("107/C/NBP/2026", "2026-06-05"));
    assert.match(problem, /^Table 107\/C\/NBP\/2026 is refused: it is of 2026-06-05, older than/);
  });

  test("when it differs under the same number", async () => {
    const { problem } = await refused({ ...leaped, no: older.no, effectiveDate: older.effectiveDate });
    assert.match(problem, /differs from the one in force under the same number/);
  });

  test("when it is far in the future", async () => {
    assert.match(
      (await refused({ ...newer, effectiveDate: "2026-07-09" })).problem,
      /more than 7 days ahead/,
    );
  });

  test("when a rate leaped, and it is not kept in the archive either", async () => {
    const archive = openSqlite(":memory:");
    const { problem, number } = await refused(leaped, { archive });
    assert.equal(number, "109/C/NBP/2026");
    assert.match(problem, /USD bid 4 to 8, ask 4.08 to 8.16.*--accept-table 109\/C\/NBP\/2026\.$/);
    assert.equal(await archive.table("109/C/NBP/2026"), undefined);
  });

  test("when it contradicts the archive under its number", async () => {
    const archive = openSqlite(":memory:");
    const bank = await standIn(older);
    const rates = await openLive(bank, { archive });
    const far = publishedOf("109/C/NBP/2026", "2030-01-02");
    await archive.saveTables([tableOf("109/C/NBP/2026", far.effectiveDate)]);
    bank.tables = json(newer);
    const { problem } = await rates.events.next("failed");
    assert.match(problem, /109\/C\/NBP\/2026 is not the one that the database holds under that number/);
    assert.equal(rates.inForce().number, "108/C/NBP/2026");
  });

  test("unless the operator accepts that a rate leaped", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank, { acceptTable: "109/C/NBP/2026" });
    await rates.events.next("in-force");
    bank.tables = json(leaped);
    await rates.events.next("in-force");
    assert.equal(rates.inForce().number, "109/C/NBP/2026");
  });
});

describe("the age of a table", () => {
  async function aged(now: string, maxAgeDays?: number) {
    let time = noon;
    const bank = await standIn(older);
    const rates = await openLive(bank, {
      now: () => time,
      refreshMs: 5 * minute,
      ...(maxAgeDays === undefined ? {} : { maxAgeDays }),
    });
    time = new Date(now);
    return rates;
  }

  test("is counted to the end of the seventh day in Warsaw", async () => {
    assert.equal((await aged("2026-06-15T21:59:59Z")).inForce().number, "108/C/NBP/2026");
  });

  test("is too high from the eighth day on, which is told with the way out", async () => {
    const { message } = unavailable(await aged("2026-06-15T22:00:00Z"));
    assert.match(
      message,
      /^The newest rate table, 108\/C\/NBP\/2026, is of 2026-06-08, and a table is not traded on for more than 7 days\. \S+ has no newer one\. Try again in 1 s, when it is looked for again\.$/,
    );
  });

  test("has the limit that is set", async () => {
    assert.equal((await aged("2026-06-08T21:59:59Z", 0)).inForce().number, "108/C/NBP/2026");
    unavailable(await aged("2026-06-08T22:00:00Z", 0));
  });

  test("does not matter to the table in the status", async () => {
    assert.equal((await aged("2027-01-01T00:00:00Z")).status().table?.number, "108/C/NBP/2026");
  });

  test("leaves trading until the time of the next attempt, which is told", async () => {
    let time = noon;
    const rates = await openLive(await standIn(older), {
      now: () => time,
      refreshMs: 5 * minute,
      maxAgeDays: 1,
    });
    time = new Date(noon.getTime() + 100_500);
    assert.equal(rates.inForce().number, "108/C/NBP/2026");
    const late = await openLive(await standIn(older), {
      now: () => time,
      refreshMs: 5 * minute,
      maxAgeDays: 0,
    });
    time = new Date(time.getTime() + 100_500);
    assert.equal(unavailable(late).retryAfterSeconds, 200);
  });
});
