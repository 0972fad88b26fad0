import assert from "node:assert/strict";
import { afterEach, describe, type TestContext, test } from "node:test";
import { FxError } from "../../src/core/errors.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { adapters } from "../support/adapters.ts";
import { identified, putInForce } from "../support/fixture.ts";
import {
  closeAll,
  faultyLedger,
  json,
  leaped,
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
import { publishedOf } from "../support/rates.ts";

afterEach(closeAll);

const hour = 60 * minute;
const dayMs = 24 * hour;
/** In Warsaw. */
const midnight = new Date("2026-06-09T22:00:00Z");
const ahead = publishedOf("110/C/NBP/2026", "2026-06-10", { USD: [4.02, 4.1] });
const later = publishedOf("111/C/NBP/2026", "2026-06-11", { USD: [4.03, 4.11] });
const rules = { maxAgeDays: 7, acceptTable: undefined };
/** Only `refresh` asks the source again. */
const rarely = { refreshMs: hour, retryMs: hour };
const of = ({ url }: { readonly url: string }, published: object) => identified(published, url);
const after = (ms: number) => () => new Date(noon.getTime() + ms);

for (const adapter of adapters) {
  describe(`a ledger over ${adapter.name} that fails`, () => {
    for (const call of ["inForce", "acceptedTables", "acceptTable"] as const) {
      test(`A ledger that fails in ${call} at midnight has the day's table as soon as it works, without the bank`, async (t: TestContext) => {
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

describe("two tables that wait for their dates", () => {
  test("Waiting tables come into force each at midnight in Warsaw, without the bank", async () => {
    let time = noon;
    const bank = await standIn(newer, ahead, later);
    const rates = await openLive(bank, { now: () => time, ...rarely });
    await bank.mode("refuses");
    for (const [date, number] of [
      ["2026-06-09T21:59:59Z", newer.no],
      ["2026-06-09T22:00:00Z", ahead.no],
      ["2026-06-10T21:59:59Z", ahead.no],
      ["2026-06-10T22:00:00Z", later.no],
    ] as const) {
      time = new Date(date);
      await rates.refresh(rules);
      assert.equal(await traded(rates), number);
    }
  });

  test("A waiting table that the bank withdraws does not come into force", async () => {
    let time = noon;
    const bank = await standIn(newer, ahead, later);
    const rates = await openLive(bank, { now: () => time, ...rarely });
    bank.clock = () => time;
    bank.tables = json(newer, later);
    await rates.refresh(rules);
    time = midnight;
    await rates.refresh(rules);
    assert.equal(await traded(rates), newer.no);
  });

  test("Waiting tables are kept while the bank's answers make no sense", async () => {
    let time = noon;
    const bank = await standIn(newer, ahead, later);
    const rates = await openLive(bank, { now: () => time, ...rarely });
    bank.tables = json(newer, later, "{}");
    await rates.refresh(rules);
    assert.match(rates.status().problem ?? "", /table 3 of 3 is wrong/);
    time = midnight;
    await rates.refresh(rules);
    assert.equal(await traded(rates), ahead.no);
  });
});

describe("a clock", () => {
  for (const [what, ms, side] of [
    ["a day ahead", dayMs, "24 hours ahead of"],
    ["a day behind", -dayMs, "24 hours behind"],
    ["six minutes ahead", 6 * minute, "6 minutes ahead of"],
    ["six minutes behind", -6 * minute, "6 minutes behind"],
  ] as const) {
    test(`A clock ${what} is told in the log and in the status`, async () => {
      const bank = await standIn(older);
      const rates = await openLive(bank, { now: after(ms) });
      bank.clock = () => noon;
      await rates.refresh(rules);
      const text = `This machine's clock is ${side} the time that ${bank.url} tells. Synchronize it.`;
      assert.equal(rates.status().clock, text);
      assert.equal((await rates.events.next("clock")).problem, text);
      bank.clock = after(ms);
      await rates.refresh(rules);
      assert.equal(rates.status().clock, undefined);
    });
  }

  test("A clock told as wrong is so until an answer says otherwise: one without a time says nothing of it", async () => {
    let date: Date | undefined = after(-dayMs)();
    const tables = [identified(older, "bank")];
    const source = { name: "bank", recorded: false, tables: async () => ({ tables, date }) };
    const rates = await openLive(await standIn(), { source, ...rarely });
    assert.match(rates.status().clock ?? "", /24 hours ahead/);
    date = undefined;
    await rates.refresh(rules);
    assert.match(rates.status().clock ?? "", /24 hours ahead/);
  });

  test("A clock four minutes off is right, and so is an answer that a cache has had for an hour", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank, { now: after(4 * minute) });
    bank.clock = () => noon;
    await rates.refresh(rules);
    assert.equal(rates.status().clock, undefined);
    bank.clock = after(-hour);
    bank.ageSeconds = 3600;
    await rates.refresh(rules);
    assert.equal(rates.status().clock, undefined);
  });

  test("A clock that is ahead puts no table in force before its day by the source's clock", async () => {
    let time = noon;
    const bank = await standIn(newer, ahead);
    const rates = await openLive(bank, { now: () => time, ...rarely });
    bank.clock = () => noon;
    time = new Date(noon.getTime() + dayMs);
    await rates.refresh(rules);
    assert.equal(await traded(rates), newer.no);
  });

  test("A clock that jumps ahead while the source does not answer puts no table in force before its day", async () => {
    let time = noon;
    const bank = await standIn(newer, ahead);
    const rates = await openLive(bank, { now: () => time, elapsedMs: () => 0, ...rarely });
    await bank.mode("refuses");
    time = new Date(noon.getTime() + dayMs);
    await rates.refresh(rules);
    assert.equal(await traded(rates), newer.no);
    assert.match(rates.status().clock ?? "", /24 hours ahead of/);
  });

  for (const [what, ms] of [
    ["right", 0],
    ["behind", -hour],
  ] as const) {
    test(`A clock that is ${what} settles nothing at a table of tomorrow that another process put in force`, async () => {
      const ledger = openSqlite(":memory:");
      const bank = await standIn(newer);
      const rates = await openLive(bank, { ledger, now: after(ms) });
      await putInForce(ledger, of(bank, ahead));
      await assert.rejects(traded(rates), {
        code: "rates-unavailable",
        message:
          /^The rate table in force, 110\S+, takes effect on 2026-06-10, and by this machine's clock it is 2026-06-09\. /,
      });
      assert.match((await rates.latest()).notTraded?.reason ?? "", /takes effect on 2026-06-10/);
      await unavailable(rates);
      assert.notEqual(rates.status().notTraded, undefined);
    });
  }
});

describe("the age of a table", () => {
  async function aged(now: string, maxAgeDays = 7) {
    let time = noon;
    const rates = await openLive(await standIn(older), { now: () => time, maxAgeDays, ...rarely });
    time = new Date(now);
    return rates;
  }

  for (const [now, maxAgeDays] of [
    ["2026-06-15T21:59:59Z", 7],
    ["2026-06-16T21:59:59Z", 8],
  ] as const) {
    test(`A table is young enough until ${now}, where ${maxAgeDays} days are allowed`, async () => {
      const rates = await aged(now, maxAgeDays);
      assert.equal(await quoted(rates), older.no);
      assert.equal(await traded(rates), older.no);
    });
  }

  for (const [now, maxAgeDays, limit] of [
    ["2026-06-15T22:00:00Z", 7, "7 days"],
    ["2026-06-16T22:00:00Z", 8, "8 days"],
    ["2026-06-16T22:00:00Z", 1, "1 day"],
  ] as const) {
    test(`A table is too old at ${now}, where ${limit} are allowed`, async () => {
      const rates = await aged(now, maxAgeDays);
      const { message, retryAfterSeconds = 0 } = await unavailable(rates);
      assert.equal(
        message,
        `The newest rate table, 108/C/NBP/2026, is of 2026-06-08, and fx trades at a table for at most ${limit}. ` +
          `${rates.status().source} has no newer one.`,
      );
      assert.ok(retryAfterSeconds > 3500 && retryAfterSeconds <= 3600, String(retryAfterSeconds));
      await assert.rejects(traded(rates), { code: "rates-unavailable", message });
      assert.equal(rates.status().table?.number, older.no);
    });
  }

  test("A command with too old a table says how its own fetch failed, and not to wait", async () => {
    const bank = await standIn(older);
    await bank.mode("500");
    const late = { role: "settle", now: after(60 * dayMs), newerTableMs: 1 } as const;
    const rates = await openLive(bank, { inForce: older, ...late });
    const { message, retryAfterSeconds } = await unavailable(rates);
    assert.match(message, /for at most 7 days\. \S+ answered 500: "Internal Server Error"\.$/);
    assert.equal(retryAfterSeconds, undefined);
  });
});

describe("whether orders are settled, and why not, is said alike by orders, the status and the shown table", () => {
  const late = { inForce: older, now: after(7 * dayMs) };
  const cases = [
    ["too old", "too-old", /for at most 7 days/, async () => openLive(await standIn(older), late)],
    [
      "too old, because the newer one is held back",
      "too-old",
      /held back: .* let it through with fx serve --accept-table [0-9a-f]{32}/,
      async () => openLive(await standIn({ ...leaped, effectiveDate: "2026-06-16" }), late),
    ],
    [
      "not effective",
      "not-effective",
      /takes effect on 2026-06-10/,
      async () => openLive(await standIn(newer), { inForce: ahead }),
    ],
    [
      "none yet",
      "no-table",
      /^There is no rate table yet\. .* answered 500/,
      async () => {
        const bank = await standIn(older);
        await bank.mode("500");
        return openLive(bank);
      },
    ],
    [
      "of another source",
      "other-source",
      /--change-source nbp/,
      async () => {
        const ledger = openSqlite(":memory:");
        await putInForce(ledger, of({ url: "nbp" }, older));
        return openLive(await standIn(older), { ledger });
      },
    ],
  ] as const;
  for (const [what, code, reason, open] of cases) {
    test(`Orders, the status and the shown table give one reason for a table that is ${what}`, async () => {
      const rates = await open();
      const told = rates.status().notTraded;
      assert.equal(told?.code, code);
      assert.match(told.reason, reason);
      const refusal = await traded(rates).catch(({ message }) => message as string);
      assert.ok(refusal.startsWith(told.reason), refusal);
      const shown = await rates.latest().then(
        ({ notTraded }) => notTraded?.reason,
        ({ message }) => message as string,
      );
      assert.ok(shown?.startsWith(told.reason), shown);
      assert.match((await rates.events.next("not-trading")).problem, reason);
      assert.equal(
        rates.events.all.some(({ kind }) => kind === "in-force"),
        false,
      );
    });
  }

  test("A table that becomes too old while the process runs is told, and so is the next one", async () => {
    let time = noon;
    const bank = await standIn(older);
    const rates = await openLive(bank, { now: () => time });
    await rates.events.next("in-force");
    assert.equal(rates.status().notTraded, undefined);
    time = new Date("2026-06-15T22:00:00Z");
    await rates.events.next("not-trading");
    assert.notEqual(rates.status().notTraded, undefined);
    bank.tables = json(publishedOf("114/C/NBP/2026", "2026-06-16", { USD: [4, 4.08] }));
    await rates.events.next("in-force");
    assert.equal(await traded(rates), "114/C/NBP/2026");
    assert.equal(rates.status().notTraded, undefined);
  });

  test("Another reason for not trading is told again", async () => {
    const bank = await standIn(ahead);
    await bank.mode("500");
    const rates = await openLive(bank);
    assert.match((await rates.events.next("not-trading")).problem, /answered 500/);
    await bank.mode("answers");
    assert.match((await rates.events.next("not-trading")).problem, /takes effect on 2026-06-10/);
  });
});

describe("a currency that was missing", () => {
  const usual = { USD: [4, 4.08], EUR: [4.3, 4.39], CHF: [4.5, 4.6], GBP: [5, 5.1] } as const;
  const hundredfold = { ...usual, USD: [400, 408] } as const;

  test("A returned currency is compared with its last rate, across tables and sources", async () => {
    const ledger = openSqlite(":memory:");
    const { USD: _, ...others } = usual;
    await putInForce(ledger, of({ url: "demo" }, publishedOf("100/C/NBP/2026", "2026-05-27", usual)));
    const bank = await standIn(publishedOf("107/C/NBP/2026", "2026-06-05", others));
    const rates = await openLive(bank, { ledger, changeSource: "demo" });
    assert.equal(await traded(rates), "107/C/NBP/2026");
    bank.tables = json(publishedOf("108/C/NBP/2026", "2026-06-08", hundredfold));
    assert.match((await rates.events.next("refused")).problem, /USD bid 4 to 400/);
    bank.tables = json(publishedOf("109/C/NBP/2026", "2026-06-09", usual));
    await rates.refresh(rules);
    assert.equal(await traded(rates), "109/C/NBP/2026");
  });
});

test("A history has the tables of its days, whether or not the table in force has the currency, for every reader", async () => {
  const usual = { USD: [4, 4.08], EUR: [4.3, 4.39], CHF: [4.5, 4.6], GBP: [5, 5.1] } as const;
  const { USD: _, ...others } = usual;
  const tables = ["02", "03", "05", "08"].map((day, index) =>
    publishedOf(`10${index}/C/NBP/2026`, `2026-06-${day}`, usual),
  );
  const bank = await standIn(...tables, publishedOf("109/C/NBP/2026", "2026-06-09", others));
  const ledger = openSqlite(":memory:");
  const serving = new LedgerService(ledger, await openLive(bank, { ledger }), () => noon);
  const reading = await openLive(bank, { ledger, role: "read" });
  for (const service of [serving, new LedgerService(ledger, reading, () => noon)]) {
    const days = (await service.rateHistory("USD" as never, 9)).map(({ effectiveDate }) => effectiveDate);
    assert.deepEqual(days, ["2026-06-02", "2026-06-03", "2026-06-05", "2026-06-08"]);
    assert.equal((await service.rateHistory("EUR" as never, 9)).length, 5);
    const dated = (await service.rateTables(7)).map(({ effectiveDate, rates }) => [
      effectiveDate,
      rates.size,
    ]);
    assert.deepEqual(dated, [
      ["2026-06-03", 4],
      ["2026-06-05", 4],
      ["2026-06-08", 4],
      ["2026-06-09", 3],
    ]);
    await assert.rejects(service.rateHistory("USD" as never, 1), { code: "unsupported-currency" });
    await assert.rejects(service.rateHistory("PLN" as never, 9), { code: "unsupported-currency" });
  }
});
