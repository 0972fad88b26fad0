import assert from "node:assert/strict";
import { afterEach, describe, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { CurrentRates } from "../../src/core/rates.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { openRates } from "../../src/rates/open.ts";
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
const midnight = new Date("2026-06-09T22:00:00Z");
const ahead = publishedOf("110/C/NBP/2026", "2026-06-10", { USD: [4.02, 4.1] });
const later = publishedOf("111/C/NBP/2026", "2026-06-11", { USD: [4.03, 4.11] });
const rules = { maxAgeDays: 7, acceptTable: undefined };
const of = ({ url }: { readonly url: string }, published: object) => identified(published, url);
const after = (ms: number) => () => new Date(noon.getTime() + ms);

/** Waits until an order settles at the table of this number. */
async function untilTraded(rates: CurrentRates, ledger: Parameters<typeof traded>[1], number: string) {
  const end = performance.now() + 30_000;
  while ((await traded(rates, ledger).catch(() => "")) !== number) {
    assert.ok(
      performance.now() < end,
      `${number} does not come into force: ${JSON.stringify(rates.status())}`,
    );
    await pause(5);
  }
}

for (const adapter of adapters) {
  describe(`a ledger over ${adapter.name} that fails`, () => {
    for (const call of ["inForce", "acceptedTables", "acceptTable"] as const) {
      test(`in ${call} at midnight has the table of the day as soon as it works, without the bank`, async (t: TestContext) => {
        let time = noon;
        const bank = await standIn(newer, ahead);
        const { ledger, works } = faultyLedger(await adapter.open(t));
        const rates = await openLive(bank, { ledger, now: () => time, refreshMs: hour, retryMs: hour });
        assert.equal(await traded(rates, ledger), newer.no);
        await bank.mode("refuses");
        const whole = ledger[call].bind(ledger) as never;
        ledger[call] = async () => {
          works(false);
          return (ledger.inForce as () => Promise<never>)();
        };
        time = midnight;
        await rates.events.next("failed");
        if (call !== "inForce") assert.match(rates.status().problem ?? "", /disk is full|No answer/);
        await pause(50);
        ledger[call] = whole;
        works(true);
        await untilTraded(rates, ledger, ahead.no);
      });
    }
  });
}

describe("two tables that wait for their dates", () => {
  test("come into force each on its day, without the bank", async () => {
    let time = noon;
    const ledger = openSqlite(":memory:");
    const bank = await standIn(newer, ahead, later);
    const rates = await openLive(bank, { ledger, now: () => time, refreshMs: hour, retryMs: hour });
    await bank.mode("refuses");
    for (const [date, number] of [
      ["2026-06-09T21:59:59Z", newer.no],
      ["2026-06-09T22:00:00Z", ahead.no],
      ["2026-06-10T21:59:59Z", ahead.no],
      ["2026-06-10T22:00:00Z", later.no],
    ] as const) {
      time = new Date(date);
      await untilTraded(rates, ledger, number);
    }
  });

  test("do not come into force where the bank has withdrawn them", async () => {
    let time = noon;
    const ledger = openSqlite(":memory:");
    const bank = await standIn(newer, ahead, later);
    const rates = await openLive(bank, { ledger, now: () => time, refreshMs: hour });
    bank.clock = () => time;
    bank.tables = json(newer, later);
    await rates.refresh(rules);
    time = midnight;
    await rates.refresh(rules);
    assert.equal(await traded(rates, ledger), newer.no);
  });

  test("are both kept while the bank's answers make no sense", async () => {
    let time = noon;
    const ledger = openSqlite(":memory:");
    const bank = await standIn(newer, ahead, later);
    const rates = await openLive(bank, { ledger, now: () => time, refreshMs: hour, retryMs: hour });
    bank.tables = json(newer, later, "{}");
    await rates.refresh(rules);
    assert.match(rates.status().problem ?? "", /table 3 of 3 is wrong/);
    time = midnight;
    await untilTraded(rates, ledger, ahead.no);
  });
});

describe("a clock", () => {
  for (const [what, ms, side] of [
    ["a day ahead", dayMs, "24 hours ahead of"],
    ["a day behind", -dayMs, "24 hours behind"],
    ["six minutes ahead", 6 * minute, "6 minutes ahead of"],
    ["six minutes behind", -6 * minute, "6 minutes behind"],
  ] as const) {
    test(`that is ${what} is told in the log and in the status`, async () => {
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

  test("that differs by four minutes is right, and so is an answer that a cache has had for an hour", async () => {
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

  test("that is ahead puts no table in force before its day by the source's clock", async () => {
    const ledger = openSqlite(":memory:");
    const bank = await standIn(newer, ahead);
    await openLive(bank, { ledger });
    const fast = await openRates({
      source: bank.url,
      ledger,
      role: "serve",
      now: after(dayMs),
      followMs: 5,
      refreshMs: 20,
    });
    await pause(100);
    assert.equal((await ledger.inForce())?.table.number, newer.no);
    assert.equal(await traded(fast, ledger), newer.no);
    await fast.close();
  });

  test("that jumps ahead between two answers has the source asked before a table is put in force", async () => {
    let time = noon;
    const ledger = openSqlite(":memory:");
    const bank = await standIn(newer, ahead);
    const rates = await openLive(bank, { ledger, now: () => time, refreshMs: hour });
    bank.clock = () => noon;
    time = new Date(noon.getTime() + dayMs);
    await rates.events.next("clock");
    await pause(50);
    assert.equal((await ledger.inForce())?.table.number, newer.no);
  });

  for (const [what, ms] of [
    ["right", 0],
    ["behind", -hour],
  ] as const) {
    test(`that is ${what} settles nothing at a table of tomorrow that another process put in force`, async () => {
      const ledger = openSqlite(":memory:");
      const bank = await standIn(newer);
      const rates = await openLive(bank, { ledger, now: after(ms) });
      await putInForce(ledger, of(bank, ahead));
      await assert.rejects(traded(rates, ledger), {
        code: "rates-unavailable",
        message:
          /^The rate table in force, 110\S+, takes effect on 2026-06-10, and by this machine's clock it is 2026-06-09\. /,
      });
      assert.match((await rates.latest()).notTraded ?? "", /takes effect on 2026-06-10/);
      await unavailable(rates);
      assert.notEqual(rates.status().notTraded, undefined);
    });
  }
});

describe("whether orders are settled, and why not, is said alike by orders, the status and the shown table", () => {
  const cases = {
    "too old": async () => {
      const ledger = openSqlite(":memory:");
      const bank = await standIn(older);
      await putInForce(ledger, of(bank, older));
      return {
        ledger,
        rates: await openLive(bank, { ledger, now: after(7 * dayMs) }),
        reason: /for at most 7 days/,
      };
    },
    "too old, because the newer one is held back": async () => {
      const ledger = openSqlite(":memory:");
      const bank = await standIn(older);
      await putInForce(ledger, of(bank, older));
      bank.tables = json({ ...leaped, effectiveDate: "2026-06-16" });
      const rates = await openLive(bank, { ledger, now: after(7 * dayMs) });
      return {
        ledger,
        rates,
        reason: /held back: .* let it through with fx serve --accept-table 109\/C\/NBP\/2026/,
      };
    },
    "not effective": async () => {
      const ledger = openSqlite(":memory:");
      const bank = await standIn(newer);
      await putInForce(ledger, of(bank, ahead));
      return { ledger, rates: await openLive(bank, { ledger }), reason: /takes effect on 2026-06-10/ };
    },
    "none yet": async () => {
      const ledger = openSqlite(":memory:");
      const bank = await standIn(older);
      await bank.mode("500");
      return {
        ledger,
        rates: await openLive(bank, { ledger }),
        reason: /^There is no rate table yet\. .* answered 500/,
      };
    },
    "of another source": async () => {
      const ledger = openSqlite(":memory:");
      await putInForce(ledger, of({ url: "nbp" }, older));
      const rates = await openLive(await standIn(older), { ledger });
      return { ledger, rates, reason: /--change-source nbp/ };
    },
  };
  for (const [what, open] of Object.entries(cases)) {
    test(`a table that is ${what}`, async () => {
      const { ledger, rates, reason } = await open();
      const { notTraded = "" } = rates.status();
      assert.match(notTraded, reason);
      const refusal = await traded(rates, ledger).catch(({ message }) => message as string);
      assert.ok(refusal.startsWith(notTraded), refusal);
      const shown = await rates.latest().catch(({ message }) => ({ notTraded: message as string }));
      assert.ok(shown.notTraded?.startsWith(notTraded), shown.notTraded);
      assert.match((await rates.events.next("not-trading")).problem, reason);
      assert.equal(
        rates.events.all.some(({ kind }) => kind === "in-force"),
        false,
      );
    });
  }

  test("a table that becomes too old while the process runs, and the one that comes then", async () => {
    let time = noon;
    const ledger = openSqlite(":memory:");
    const bank = await standIn(older);
    const rates = await openLive(bank, { ledger, now: () => time });
    assert.equal(rates.status().notTraded, undefined);
    time = new Date("2026-06-15T22:00:00Z");
    await rates.events.next("not-trading");
    assert.notEqual(rates.status().notTraded, undefined);
    bank.tables = json(publishedOf("114/C/NBP/2026", "2026-06-16", { USD: [4, 4.08] }));
    await rates.events.next("in-force");
    await untilTraded(rates, ledger, "114/C/NBP/2026");
    assert.equal(rates.status().notTraded, undefined);
  });

  test("another reason is told again", async () => {
    const bank = await standIn(ahead);
    await bank.mode("500");
    const rates = await openLive(bank);
    assert.match((await rates.events.next("not-trading")).problem, /answered 500/);
    await bank.mode("answers");
    assert.match((await rates.events.next("not-trading")).problem, /takes effect on 2026-06-10/);
  });

  test("the right table after a wrong one under its number is held back with the command that lets it through", async () => {
    const ledger = openSqlite(":memory:");
    const bank = await standIn(older);
    const rates = await openLive(bank, { ledger });
    bank.tables = json(leaped);
    await rates.refresh({ ...rules, acceptTable: leaped.no });
    assert.equal(await traded(rates, ledger), leaped.no);
    bank.tables = json(newer);
    await rates.refresh(rules);
    const { problem = "" } = rates.status();
    const [, id = ""] = /fx serve --accept-table (\S+)\.$/.exec(problem) ?? assert.fail(problem);
    await rates.refresh({ ...rules, acceptTable: id });
    assert.deepEqual((await ledger.inForce())?.table, of(bank, newer));
  });
});

describe("a table after a gap", () => {
  const usual = { USD: [4, 4.08], EUR: [4.3, 4.39], CHF: [4.5, 4.6], GBP: [5, 5.1] } as const;
  const hundredfold = { ...usual, USD: [400, 408] } as const;

  for (const days of [7, 8, 400]) {
    test(`of ${days} days is held back where a rate is a hundred times as high`, async () => {
      const effectiveDate = new Date(Date.parse("2026-06-08") + days * dayMs).toISOString().slice(0, 10);
      const ledger = openSqlite(":memory:");
      const bank = await standIn(publishedOf("109/C/NBP/2026", effectiveDate, hundredfold));
      await putInForce(ledger, of(bank, publishedOf("108/C/NBP/2026", "2026-06-08", usual)));
      const rates = await openLive(bank, { ledger, now: after(days * dayMs) });
      assert.match((await rates.events.next("refused")).problem, /USD bid 4 to 400/);
      assert.equal((await ledger.inForce())?.epoch, 1);
    });
  }

  test("in which a currency was missing is compared with the currency's last rate, across tables and sources", async () => {
    const ledger = openSqlite(":memory:");
    const { USD: _, ...others } = usual;
    await putInForce(ledger, of({ url: "demo" }, publishedOf("100/C/NBP/2026", "2026-05-27", usual)));
    const bank = await standIn(publishedOf("107/C/NBP/2026", "2026-06-05", others));
    const rates = await openLive(bank, { ledger, changeSource: "demo" });
    assert.equal(await traded(rates, ledger), "107/C/NBP/2026");
    bank.tables = json(publishedOf("108/C/NBP/2026", "2026-06-08", hundredfold));
    assert.match((await rates.events.next("refused")).problem, /USD bid 4 to 400/);
    bank.tables = json(publishedOf("109/C/NBP/2026", "2026-06-09", usual));
    await untilTraded(rates, ledger, "109/C/NBP/2026");
  });

  test("puts the newest one that passes in force, where the newest is held back", async () => {
    const ledger = openSqlite(":memory:");
    const bank = await standIn(older, newer, { ...leaped, no: "110/C/NBP/2026" });
    await putInForce(ledger, of(bank, older));
    const rates = await openLive(bank, { ledger });
    assert.equal(await traded(rates, ledger), newer.no);
    assert.match(rates.status().problem ?? "", /^Table 110\/C\/NBP\/2026 is held back/);
  });
});

describe("a server of the old source, after a change of source", () => {
  async function changed() {
    const ledger = openSqlite(":memory:");
    const bank = await standIn(older);
    const before = await openLive(bank, { ledger });
    const other = await standIn(newer);
    await openLive(other, { ledger, changeSource: bank.url });
    assert.equal((await ledger.inForce())?.table.source, other.url);
    return { before };
  }

  test("goes on quoting at its own table, at once", async () => {
    const { before } = await changed();
    assert.equal(await quoted(before), older.no);
    assert.match((await before.latest()).notTraded ?? "", /^The ledger trades at the rates of/);
  });
});

test("a history has the tables of its days, whether or not the table in force has the currency, for every reader", async () => {
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
    await assert.rejects(service.rateHistory("USD" as never, 1), { code: "unsupported-currency" });
    await assert.rejects(service.rateHistory("PLN" as never, 9), { code: "unsupported-currency" });
  }
});
