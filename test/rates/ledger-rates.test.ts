import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { FxError } from "../../src/core/errors.ts";
import type { RateTable, TableLedger } from "../../src/core/rates.ts";
import { openRates } from "../../src/rates/open.ts";
import { demoTables } from "../../src/rates/recorded.ts";
import { type RateSource, tablesOf } from "../../src/rates/source.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { adapters } from "../support/adapters.ts";
import { identified, putInForce } from "../support/fixture.ts";
import {
  closeAll,
  faultyLedger,
  impatient,
  json,
  minute,
  newer,
  noon,
  older,
  openLive,
  quoted,
  standIn,
  traded,
  unavailable,
} from "../support/live-rates.ts";
import { type Mode, tablesUpTo } from "../support/nbp-stand-in.ts";
import { publishedOf } from "../support/rates.ts";

// The choice of a table, and the words for it, are in cases.txt. Here are the pauses, overlaps and ends of a process.
const rules = { maxAgeDays: 7, acceptTable: undefined };
/** Limits so long that a test ends before a fetch that hangs does. */
const patient = { responseTimeoutMs: 3_600_000, requestTimeoutMs: 3_600_000 };
/** Only `refresh` asks the source again. */
const rarely = { refreshMs: 60 * minute, retryMs: 60 * minute };
/** A bank that answers when a test lets it. */
function slowBank(name: string, published: object) {
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const source: RateSource = {
    name,
    recorded: false,
    async tables() {
      await answered;
      return { tables: [identified(published, name)] };
    },
  };
  return { source, answer };
}

afterEach(closeAll);

async function ledgerAt(table: RateTable) {
  const ledger = openSqlite(":memory:");
  await putInForce(ledger, table);
  return ledger;
}

describe("a start", () => {
  for (const mode of ["refuses", "hangs"] as Mode[]) {
    test(`A start ends when the bank ${mode}, and its table comes into force as soon as it recovers`, async () => {
      const bank = await standIn(older);
      await bank.mode(mode);
      const rates = await openLive(bank, impatient);
      const { message, retryAfterSeconds } = await unavailable(rates);
      assert.ok(message.startsWith("There is no rate table yet. "), message);
      assert.ok(message.includes(bank.url), message);
      assert.equal(retryAfterSeconds, 1);
      await bank.mode("answers");
      await rates.events.next("in-force");
      assert.equal(await quoted(rates), older.no);
    });
  }

  test("A start waits for a slow bank where no order would settle without it", async () => {
    const bank = "http://bank.test";
    for (const inForce of [undefined, bank]) {
      const { source, answer } = slowBank("other", newer);
      const ledger =
        inForce === undefined ? openSqlite(":memory:") : await ledgerAt(identified(older, inForce));
      const opened = openLive(await standIn(), { source, ledger, changeSource: bank, newerTableMs: 1 });
      setTimeout(answer, 50);
      assert.equal(await traded(await opened), newer.no);
    }
  });

  test("A start does not wait for a slow bank where orders settle without it", {
    timeout: 120_000,
  }, async () => {
    const { source, answer } = slowBank("bank", newer);
    const ledger = await ledgerAt(identified(older, "bank"));
    const rates = await openLive(await standIn(), { source, ledger, newerTableMs: 1 });
    assert.equal(await traded(rates), older.no);
    await rates.events.next("in-force");
    answer();
    await rates.events.next("in-force");
    assert.equal(await traded(rates), newer.no);
  });
});

describe("a refresh", () => {
  test("A refresh puts a new table in force, and each table is told once", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank);
    while (bank.requests.length < 4) await bank.asked();
    bank.tables = json(newer);
    while ((await quoted(rates)) !== newer.no) await bank.asked();
    const { length } = bank.requests;
    while (bank.requests.length < length + 3) await bank.asked();
    const told = rates.events.all.map((event) => event.kind === "in-force" && event.table.number);
    assert.deepEqual(told, [older.no, newer.no]);
  });

  test("While the bank fails, refreshes back off with jitter; an answer resets the pause", async () => {
    const bank = await standIn();
    const rates = await openLive(bank, { retryMs: 8, refreshMs: 32 });
    for (const longest of [8, 16, 32, 32]) {
      const { retryInMs } = await rates.events.next("failed");
      assert.ok(retryInMs >= longest / 2 && retryInMs <= longest, `${retryInMs} for ${longest}`);
    }
    bank.tables = json(older);
    await rates.events.next("in-force");
    const failures = rates.events.all.filter(({ kind }) => kind === "failed").length;
    await bank.mode("500");
    for (let left = failures - 4; left > 0; left -= 1) await rates.events.next("failed");
    const { retryInMs } = await rates.events.next("failed");
    assert.ok(retryInMs <= 8, String(retryInMs));
  });

  test("Refreshes never overlap, be they due or asked for", async () => {
    const bank = await standIn(older);
    await bank.mode("hangs");
    const rates = await openLive(bank, { refreshMs: 1, retryMs: 1, ...impatient });
    await Promise.all([rates.refresh(rules), rates.refresh(rules)]);
    for (let failures = 0; failures < 5; failures += 1) await rates.events.next("failed");
    assert.equal(bank.mostAtOnce, 1);
  });

  test("A quote does not wait for a refresh", { timeout: 120_000 }, async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank, { limits: patient });
    await bank.mode("hangs");
    await bank.asked();
    assert.equal(await quoted(rates), older.no);
  });
});

test("Two processes told to change a source both ways change it once each", async () => {
  const ledger = await ledgerAt(tablesOf("demo", demoTables()).at(-1) as RateTable);
  const bank = await standIn(...tablesUpTo("2026-06-08").slice(-1));
  await openLive(bank, { ledger, changeSource: "demo" });
  const back = await openRates({
    source: "demo",
    ledger,
    role: "serve",
    changeSource: bank.url,
    refreshMs: 10,
  });
  assert.equal((await ledger.inForce())?.epoch, 3);
  const { length } = bank.requests;
  while (bank.requests.length < length + 3) await bank.asked();
  assert.equal((await ledger.inForce())?.epoch, 3);
  await back.close();
});

test("A history is fetched with the newest table and kept in the ledger, without a gap after a pause", async () => {
  const tables = tablesUpTo("2026-06-09");
  const bank = await standIn(...tables.slice(0, 40));
  const rates = await openLive(bank, { maxAgeDays: 365, ...rarely });
  assert.equal((await rates.ledger.tables({ source: bank.url, since: "" })).length, 40);
  bank.tables = tables;
  await rates.refresh(rules);
  assert.equal((await rates.tables(365)).length, 67);
  assert.equal((await rates.ledger.tables({ source: bank.url, since: "" })).length, 67);
});

describe("close", () => {
  test("Closing ends the fetch in flight, and nothing is asked of the bank or the ledger afterwards", async () => {
    const bank = await standIn(older);
    const { ledger, reads } = faultyLedger();
    const rates = await openLive(bank, { ledger, limits: patient });
    await bank.mode("hangs");
    await bank.asked();
    await rates.close();
    const before = [bank.requests.length, reads()];
    await pause(50);
    assert.deepEqual([bank.requests.length, reads()], before);
    assert.equal(
      rates.events.all.some(({ kind }) => kind === "failed"),
      false,
    );
  });

  test("Closing ends where the ledger does not answer", { timeout: 120_000 }, async () => {
    const { ledger, store } = faultyLedger();
    const rates = await openLive(await standIn(older), { ledger });
    const isAsked = new Promise<void>((asked) => {
      (ledger as { inForce: TableLedger["inForce"] }).inForce = () => {
        asked();
        return new Promise(() => {});
      };
    });
    await isAsked;
    await rates.close();
    assert.equal((await store.inForce())?.epoch, 1);
  });

  test("Rates that are not closed do not keep the process from ending", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
    const before = timers();
    await openLive(await standIn(older), rarely);
    assert.equal(timers(), before);
  });
});

const ahead = publishedOf("110/C/NBP/2026", "2026-06-10", { USD: [4.02, 4.1] });
/** Midnight in Warsaw, when the table `ahead` takes effect. */
const midnight = new Date("2026-06-09T22:00:00Z");

for (const adapter of adapters) {
  describe(`a ledger over ${adapter.name} that fails`, () => {
    for (const call of ["inForce", "acceptedTables", "acceptTable"] as const) {
      test(`A ledger that fails in ${call} at midnight has the day's table as soon as it works, without the bank`, async (t) => {
        let time = noon;
        const bank = await standIn(newer, ahead);
        const { ledger, works } = faultyLedger(await adapter.open(t));
        const rates = await openLive(bank, { ledger, now: () => time, ...rarely });
        assert.equal(await traded(rates), newer.no);
        await bank.mode("refuses");
        const whole = ledger[call].bind(ledger) as never;
        ledger[call] = async () => {
          works(false);
          throw new FxError("storage-unavailable", "The store failed: the disk is full.");
        };
        time = midnight;
        await rates.refresh(rules);
        assert.match(rates.status().problem ?? "", /disk is full/);
        ledger[call] = whole;
        works(true);
        await rates.refresh(rules);
        assert.equal(await traded(rates), ahead.no);
      });
    }
  });
}

test("A clock told as wrong is so until an answer says otherwise: one without a time says nothing of it", async () => {
  let date: Date | undefined = new Date(noon.getTime() - 24 * 60 * minute);
  const tables = [identified(older, "bank")];
  const source = { name: "bank", recorded: false, tables: async () => ({ tables, date }) };
  const rates = await openLive(await standIn(), { source, ...rarely });
  assert.match(rates.status().clock ?? "", /24 hours ahead/);
  date = undefined;
  await rates.refresh(rules);
  assert.match(rates.status().clock ?? "", /24 hours ahead/);
});
