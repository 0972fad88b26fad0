import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { parseCurrencyCode } from "../../src/core/currency.ts";
import { formatDecimal } from "../../src/core/decimal.ts";
import type { CurrentRates, RateTable } from "../../src/core/rates.ts";
import { openRates, type RatesOptions } from "../../src/rates/open.ts";
import { demoTables } from "../../src/rates/recorded.ts";
import { tablesOf } from "../../src/rates/source.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { acceptance, identified, putInForce } from "../support/fixture.ts";
import {
  closeAll,
  faultyLedger,
  impatient,
  json,
  leaped,
  minute,
  newer,
  noon,
  older,
  openLive,
  optionsFor,
  quoted,
  standIn,
  traded,
  unavailable,
} from "../support/live-rates.ts";
import { type Mode, type NbpStandIn, tablesUpTo } from "../support/nbp-stand-in.ts";
import { publishedOf } from "../support/rates.ts";

const usd = parseCurrencyCode("USD");
/** A published table as one of a bank's. */
const of = ({ url }: { readonly url: string }, published: object) => identified(published, url);

afterEach(closeAll);

/** With these a test ends before a fetch that hangs does. */
const patient = { responseTimeoutMs: 3_600_000, requestTimeoutMs: 3_600_000 };

describe("at the start", () => {
  test("a healthy bank's table is in force when the rates are open", async () => {
    const rates = await openLive(await standIn(older), { refreshMs: minute });
    assert.equal(await quoted(rates), "108/C/NBP/2026");
    assert.equal(rates.status().problem, undefined);
    assert.deepEqual(rates.events.all[0], { kind: "in-force", table: await rates.forQuote(), from: "bank" });
  });

  for (const mode of ["refuses", "hangs", "hangsUp", "html", "nonsense", "empty", "500"] as Mode[]) {
    test(`rates open, and are there as soon as the bank recovers, when it first ${mode}`, async () => {
      const bank = await standIn(older);
      await bank.mode(mode);
      const rates = await openLive(bank, optionsFor(mode));
      assert.ok((await unavailable(rates)).retryAfterSeconds);
      await rates.events.next("failed");
      await bank.mode("answers");
      await rates.events.next("in-force");
      assert.equal(await quoted(rates), "108/C/NBP/2026");
    });
  }

  test("a bank that hangs is waited for only so long", async () => {
    const bank = await standIn(older);
    await bank.mode("hangs");
    const rates = await openLive(bank, { waits: { newestMs: 50, anyMs: 50 }, limits: patient });
    const { message, retryAfterSeconds } = await unavailable(rates);
    assert.equal(
      message,
      `There is no rate table yet. The first is being fetched from ${bank.url}. ` +
        "Try again in 1 s, when fx asks the source again.",
    );
    assert.equal(retryAfterSeconds, 1);
  });

  /** A bank that takes its time. */
  const slow = (name: string, published: object) => ({
    name,
    recorded: false,
    tables: async () => {
      await pause(100);
      return { tables: [identified(published, name)] };
    },
  });

  test("a server has its first table when it opens, also of a bank that is slow", async () => {
    const waits = { newestMs: 1, anyMs: 60_000 };
    const rates = await openLive(await standIn(), { source: slow("bank", older), waits });
    assert.equal(rates.status().notTraded, undefined);
    assert.equal(await quoted(rates), "108/C/NBP/2026");
  });

  test("a server has another source's first table when it opens", async () => {
    const bank = await standIn(older);
    const ledger = openSqlite(":memory:");
    await putInForce(ledger, of(bank, older));
    const options = {
      source: slow("other", newer),
      changeSource: bank.url,
      waits: { newestMs: 1, anyMs: 60_000 },
    };
    assert.equal(await traded(await openLive(bank, { ledger, ...options }), ledger), "109/C/NBP/2026");
  });

  test("the ledger's table is in force when the bank is away", async () => {
    const bank = await standIn();
    await bank.mode("refuses");
    const ledger = openSqlite(":memory:");
    await putInForce(ledger, of(bank, older));
    const rates = await openLive(bank, { ledger });
    assert.equal(await quoted(rates), "108/C/NBP/2026");
    assert.match(rates.status().problem ?? "", /ECONNREFUSED/);
  });

  test("a ledger that fails does not keep the rates from opening", async () => {
    const { ledger, works } = faultyLedger();
    works(false);
    const rates = await openLive(await standIn(older), { ledger });
    await rates.events.next("failed");
    works(true);
    await rates.events.next("in-force");
    assert.equal(await quoted(rates), "108/C/NBP/2026");
  });

  test("the same checks are run as later: a leap against the ledger's table is refused", async () => {
    const bank = await standIn(leaped);
    const ledger = openSqlite(":memory:");
    await putInForce(ledger, of(bank, older));
    const rates = await openLive(bank, { ledger });
    assert.match((await rates.events.next("refused")).problem, /USD bid 4 to 8/);
    assert.equal(await traded(rates, ledger), "108/C/NBP/2026");
  });
});

describe("a fetch is counted", () => {
  test("as accepted when it puts a table in force, and as unchanged when it brings the same", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank);
    while (rates.status().fetches.unchanged < 2) await bank.asked();
    const { unchanged, ...others } = rates.status().fetches;
    assert.deepEqual(others, { accepted: 1, refused: 0, failed: 0 });
  });

  test("as refused when a check holds the table back", async () => {
    const bank = await standIn(leaped);
    const ledger = openSqlite(":memory:");
    await putInForce(ledger, of(bank, older));
    const rates = await openLive(bank, { ledger, refreshMs: minute, retryMs: minute });
    await rates.events.next("refused");
    assert.deepEqual(rates.status().fetches, { accepted: 0, unchanged: 0, refused: 1, failed: 0 });
    assert.equal(rates.status().heldBack, leaped.no);
    await rates.refresh({ maxAgeDays: 7, acceptTable: leaped.no });
    assert.equal(rates.status().heldBack, undefined);
  });

  test("as failed when the bank does not answer", async () => {
    const bank = await standIn(older);
    await bank.mode("refuses");
    const rates = await openLive(bank, { refreshMs: minute, retryMs: minute });
    await rates.events.next("failed");
    assert.deepEqual(rates.status().fetches, { accepted: 0, unchanged: 0, refused: 0, failed: 1 });
  });
});

describe("a refresh", () => {
  test("puts a new table in force", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank);
    await rates.events.next("in-force");
    bank.tables = json(older, newer);
    await rates.events.next("in-force");
    assert.equal(await quoted(rates), "109/C/NBP/2026");
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
      const ledger = openSqlite(":memory:");
      await putInForce(ledger, of(bank, older));
      await bank.mode(mode);
      const rates = await openLive(bank, { ledger, ...optionsFor(mode) });
      const { problem } = await rates.events.next("failed");
      assert.ok(problem.includes(bank.url), problem);
      assert.equal(rates.status().problem, problem);
      assert.equal(await quoted(rates), "108/C/NBP/2026");
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
    assert.equal(await quoted(rates), "109/C/NBP/2026");
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
    assert.equal(await quoted(rates), "108/C/NBP/2026");
  });
});

describe("a fetched table is refused", () => {
  async function refused(table: object, options: Partial<RatesOptions> = {}) {
    const bank = await standIn(older);
    const rates = await openLive(bank, options);
    bank.tables = json(table);
    const { problem, table: number } = await rates.events.next("refused");
    assert.equal((await rates.forQuote()).rates.values().next().value?.bid.coefficient, 4n);
    assert.equal(rates.status().problem, problem);
    return { problem, number, rates };
  }

  test("when it is older than the one in force", async () => {
    const { problem } = await refused(publishedOf("107/C/NBP/2026", "2026-06-05"));
    assert.match(problem, /^Table 107\/C\/NBP\/2026 is held back: it is of 2026-06-05, older than/);
  });

  test("when it differs under the same number", async () => {
    const { problem } = await refused({ ...leaped, no: older.no, effectiveDate: older.effectiveDate });
    assert.match(problem, /differs from the one in force under the same number/);
  });

  test("when a rate leaped, and it is not kept in the ledger either", async () => {
    const ledger = openSqlite(":memory:");
    const { problem, number } = await refused(leaped, { ledger });
    assert.equal(number, "109/C/NBP/2026");
    assert.match(problem, /USD bid 4 to 8, ask 4.08 to 8.16.*--accept-table 109\/C\/NBP\/2026\.$/);
    assert.deepEqual((await ledger.acceptedTables()).length, 1);
  });

  test("unless the operator accepts it, which lets one table through and no correction of it", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank, { acceptTable: "109/C/NBP/2026" });
    await rates.events.next("in-force");
    bank.tables = json(leaped);
    await rates.events.next("in-force");
    assert.equal(await quoted(rates), "109/C/NBP/2026");
    bank.tables = json({ ...leaped, tradingDate: "2026-06-05" });
    assert.match((await rates.events.next("refused")).problem, /differs from the one in force/);
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
    assert.equal(await quoted(await aged("2026-06-15T21:59:59Z")), "108/C/NBP/2026");
  });

  test("is too high from the eighth day on, which is told with the way out", async () => {
    const { message } = await unavailable(await aged("2026-06-15T22:00:00Z"));
    assert.match(
      message,
      /^The newest rate table, 108\/C\/NBP\/2026, is of 2026-06-08, and fx trades at a table for at most 7 days\. \S+ has no newer one\. Try again in \d+ s, when fx asks the source again\.$/,
    );
  });

  test("has the limit that is set", async () => {
    assert.equal(await quoted(await aged("2026-06-15T21:59:59Z", 8)), "108/C/NBP/2026");
    assert.equal(await quoted(await aged("2026-06-16T21:59:59Z", 8)), "108/C/NBP/2026");
    const { message } = await unavailable(await aged("2026-06-16T22:00:00Z", 1));
    assert.match(message, /for at most 1 day\. /);
    await unavailable(await aged("2026-06-16T22:00:00Z", 8));
  });

  test("does not matter to the table in the status", async () => {
    assert.equal((await aged("2027-01-01T00:00:00Z")).status().table?.number, "108/C/NBP/2026");
  });

  test("says in how many seconds fx asks the source again", async () => {
    const { retryAfterSeconds } = await unavailable(await aged("2027-01-01T00:00:00Z"));
    assert.ok(retryAfterSeconds !== undefined && retryAfterSeconds > 290 && retryAfterSeconds <= 300);
  });

  test("stops orders, too", async () => {
    const rates = await aged("2027-01-01T00:00:00Z");
    assert.throws(() => rates.forOrder(undefined), { code: "rates-unavailable" });
    const inForce = { epoch: 1, table: of({ url: rates.status().source }, older) };
    assert.throws(() => rates.forOrder(inForce), { code: "rates-unavailable" });
  });
});

describe("without a table that is young enough", () => {
  const august = () => new Date("2026-08-01T10:00:00Z");
  async function openStale(mode: Mode, options: Parameters<typeof openLive>[1] = {}) {
    const bank = await standIn(older);
    const ledger = openSqlite(":memory:");
    await putInForce(ledger, of(bank, older));
    await bank.mode(mode);
    return { bank, rates: await openLive(bank, { ledger, now: august, ...options }) };
  }
  const stale =
    "The newest rate table, 108/C/NBP/2026, is of 2026-06-08, and fx trades at a table for at most 7 days. ";

  test("a bank that was not reached is not said to have no newer one", async () => {
    const { rates } = await openStale("refuses");
    const { message } = await unavailable(rates);
    assert.ok(message.startsWith(`${stale}No answer from http`), message);
    assert.match(message, /ECONNREFUSED/);
  });

  test("a bank that has not answered yet is said to be asked", async () => {
    const { bank, rates } = await openStale("hangs", { waits: { newestMs: 50, anyMs: 50 } });
    const { message } = await unavailable(rates);
    assert.ok(
      message.startsWith(`${stale}A newer one is being fetched from ${bank.url}. Try again in `),
      message,
    );
  });

  test("a command waits for the bank, and says how it failed and not to wait", async () => {
    const waits = { newestMs: 1, anyMs: 60_000 };
    const command = { role: "settle", waits, limits: { responseTimeoutMs: 100 } } as const;
    const { rates } = await openStale("hangs", command);
    const { message } = await unavailable(rates);
    assert.match(
      message.slice(stale.length),
      /^No answer from \S+: Timeout awaiting 'response' for 100ms\.$/,
    );
    const bank = await standIn(older);
    await bank.mode("500");
    const { message: first } = await unavailable(await openLive(bank, command));
    assert.match(first, /^There is no rate table yet\. \S+ answered 500: "Internal Server Error"\.$/);
  });

  test("a command waits for a slow bank only where it has no table without it", async () => {
    const began = performance.now();
    const waits = { newestMs: 1, anyMs: 60_000 };
    const { rates } = await openStale("hangs", { role: "settle", waits, now: () => noon });
    assert.equal(await quoted(rates), "108/C/NBP/2026");
    assert.ok(performance.now() - began < 2000);
  });

  test("the last one is shown, with the reason that a quote gives", async () => {
    const { rates } = await openStale("refuses", { role: "settle" });
    const { table, recorded, notTraded } = await rates.latest();
    assert.deepEqual([table.number, recorded], ["108/C/NBP/2026", false]);
    assert.equal(notTraded, (await unavailable(rates)).message);
  });

  test("nothing is shown where there never was one", async () => {
    const bank = await standIn(older);
    await bank.mode("refuses");
    const rates = await openLive(bank);
    await assert.rejects(rates.latest(), {
      code: "rates-unavailable",
      message: /^There is no rate table yet/,
    });
  });

  test("the ledger's is shown where it is of another source, and the reason names both", async () => {
    const ledger = openSqlite(":memory:");
    await putInForce(ledger, tablesOf("demo", demoTables()).at(-1) as RateTable);
    const bank = await standIn(older);
    await bank.mode("refuses");
    const { table, recorded, notTraded } = await (await openLive(bank, { ledger })).latest();
    assert.deepEqual([table.number, recorded], ["069/C/NBP/2022", true]);
    assert.match(notTraded ?? "", /^The ledger trades at the rates of demo, and this fx has those of http/);
  });

  test("one that is traded at is shown without a reason", async () => {
    const rates = await openLive(await standIn(older));
    assert.equal((await rates.latest()).notTraded, undefined);
  });
});

describe("a refresh that is asked for", () => {
  const rules = { maxAgeDays: 7, acceptTable: undefined };
  const rarely = { refreshMs: 5 * minute, followMs: minute };

  test("asks the bank at once, and goes on as before after it", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank, { refreshMs: 50 });
    await rates.refresh(rules);
    const { length } = bank.requests;
    bank.tables = json(newer);
    await rates.refresh(rules);
    assert.equal(await quoted(rates), "109/C/NBP/2026");
    while (bank.requests.length < length + 4) await bank.asked();
    assert.equal(bank.mostAtOnce, 1);
  });

  test("twice at once, and the refreshes after it, are one fetch after the other", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank, { retryMs: 1, ...impatient });
    await bank.mode("hangs");
    await Promise.all([rates.refresh(rules), rates.refresh(rules)]);
    for (let failures = 0; failures < 5; failures += 1) await rates.events.next("failed");
    assert.equal(bank.mostAtOnce, 1);
  });

  test("goes by the rules that it is given", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank, rarely);
    bank.tables = json(leaped);
    await rates.refresh(rules);
    assert.equal(await quoted(rates), "108/C/NBP/2026");
    await rates.refresh({ ...rules, acceptTable: leaped.no });
    assert.equal(await quoted(rates), "109/C/NBP/2026");
    const before = await openLive(await standIn(older), {
      ...rarely,
      now: () => new Date("2026-06-20T10:00:00Z"),
    });
    await unavailable(before);
    await before.refresh({ ...rules, maxAgeDays: 30 });
    assert.equal(await quoted(before), "108/C/NBP/2026");
  });
});

describe("a ledger without a table", () => {
  test("gets its first one from the process that trades, at its start", async () => {
    const ledger = openSqlite(":memory:");
    const bank = await standIn(older);
    const rates = await openLive(bank, { ledger });
    assert.deepEqual(await ledger.inForce(), { epoch: 1, table: of(bank, older) });
    assert.equal(await traded(rates, ledger), "108/C/NBP/2026");
  });

  test("is quoted at the source's newest table by a process that only reads, which writes nothing", async () => {
    const ledger = openSqlite(":memory:");
    const bank = await standIn(older, newer);
    const rates = await openLive(bank, { ledger, role: "read" });
    assert.equal(await quoted(rates), "109/C/NBP/2026");
    assert.equal(await traded(rates, ledger), "109/C/NBP/2026");
    assert.equal((await rates.latest()).notTraded, undefined);
    assert.equal(await ledger.inForce(), undefined);
    assert.deepEqual(await ledger.tables({ source: bank.url, since: "" }), []);
  });

  test("has one source, whichever of two processes with different ones was first", async () => {
    const ledger = openSqlite(":memory:");
    const banks = [await standIn(older), await standIn(newer)];
    const all = await Promise.all(banks.map((bank) => openLive(bank, { ledger })));
    const trading = all.map((rates) => rates.status().notTraded === undefined);
    assert.deepEqual(trading.sort(), [false, true]);
    assert.equal((await ledger.acceptedTables()).length, 1);
  });

  test("the first that trades says what is in force, and the others follow it", async () => {
    const ledger = openSqlite(":memory:");
    const bank = await standIn(older);
    const rates = await openLive(bank, { ledger });
    await putInForce(ledger, of(bank, newer));
    assert.equal(await traded(rates, ledger), "109/C/NBP/2026");
    assert.equal(await quoted(rates), "109/C/NBP/2026");
  });
});

describe("a ledger that trades", () => {
  async function openTrading(...options: Partial<RatesOptions>[]) {
    const ledger = openSqlite(":memory:");
    const bank = await standIn(older);
    await putInForce(ledger, of(bank, older));
    const all = await Promise.all(options.map((one) => openLive(bank, { ledger, ...one })));
    return { ledger, bank, all };
  }

  test("has a new table from one process, and all follow it without the bank", async () => {
    const { ledger, bank, all } = await openTrading({}, { refreshMs: 5 * minute });
    bank.tables = json(newer);
    const [reaching, slow] = all;
    await reaching?.events.next("in-force");
    assert.equal((await reaching?.events.next("in-force"))?.from, "bank");
    await slow?.events.next("in-force");
    assert.equal((await slow?.events.next("in-force"))?.from, "ledger");
    for (const rates of all) assert.equal(await traded(rates, ledger), "109/C/NBP/2026");
  });

  test("is followed without a judgement of one's own", async () => {
    const { ledger, bank, all } = await openTrading({ refreshMs: 5 * minute });
    await ledger.acceptTable(of(bank, leaped), acceptance(1, "anna@desk"));
    assert.equal(await traded(all[0] as CurrentRates, ledger), "109/C/NBP/2026");
    assert.equal(await quoted(all[0] as CurrentRates), "109/C/NBP/2026");
  });

  test("gets an overridden table once, whichever process the operator started to accept it", async () => {
    const { ledger, bank, all } = await openTrading({ acceptTable: leaped.no }, { acceptTable: leaped.no });
    bank.tables = json(leaped);
    await Promise.all(all.map((rates) => rates.events.next("in-force")));
    await Promise.all(all.map((rates) => rates.events.next("in-force")));
    bank.tables = json({ ...leaped, tradingDate: "2026-06-05" });
    await Promise.all(all.map((rates) => rates.events.next("refused")));
    assert.equal((await ledger.inForce())?.epoch, 2);
    assert.equal(
      (await ledger.acceptedTables()).filter(({ overriddenBy }) => overriddenBy === "unknown").length,
      1,
    );
  });

  test("never goes back to a table that was replaced, even for a process started to accept it", async () => {
    const { ledger, bank } = await openTrading();
    await ledger.acceptTable(of(bank, newer), acceptance(1));
    const rates = await openLive(bank, { ledger, acceptTable: older.no });
    assert.match((await rates.events.next("refused")).problem, /no table comes back/);
    assert.equal((await ledger.inForce())?.epoch, 2);
  });

  test("is left alone by a process that only reads, which quotes the ledger's table without the bank", async () => {
    const { ledger, bank, all } = await openTrading({ role: "read" });
    bank.tables = json(newer);
    assert.equal(await quoted(all[0] as CurrentRates), "108/C/NBP/2026");
    assert.deepEqual(bank.requests, []);
    assert.equal((await ledger.inForce())?.epoch, 1);
  });

  test("is not quoted at by a process that only reads, where its table is too old", async () => {
    const { ledger, bank } = await openTrading();
    bank.tables = json(publishedOf("120/C/NBP/2026", "2026-06-25"));
    const rates = await openLive(bank, {
      ledger,
      role: "read",
      now: () => new Date("2026-06-26T10:00:00Z"),
    });
    const { message } = await unavailable(rates);
    assert.match(
      message,
      /for at most 7 days\. fx serve, or a command that settles an order, fetches a newer one\./,
    );
    assert.deepEqual(bank.requests, []);
    assert.equal((await ledger.inForce())?.epoch, 1);
  });
});

describe("a ledger of another source", () => {
  const demo = of({ url: "demo" }, publishedOf("069/C/NBP/2022", "2022-04-08", { USD: [4.2, 4.3] }));
  async function openBeside(options: Partial<RatesOptions> = {}) {
    const ledger = openSqlite(":memory:");
    await putInForce(ledger, demo);
    const bank = await standIn(older);
    return { ledger, bank, rates: await openLive(bank, { ledger, ...options }) };
  }

  test("is quoted at one's own table, and not traded on, which names both and the way out", async () => {
    const { ledger, bank, rates } = await openBeside();
    assert.equal((await rates.forQuote()).source, bank.url);
    const { problem } = await rates.events.next("not-trading");
    assert.equal(
      problem,
      `The ledger trades at the rates of demo, and this fx has those of ${bank.url}, at which it only quotes. Use ` +
        `--rates demo, or change the ledger's source with fx serve --rates ${bank.url} --change-source demo.`,
    );
    const inForce = await ledger.inForce();
    assert.throws(() => rates.forOrder(inForce), { code: "rates-unavailable", message: problem });
    assert.equal(rates.status().notTraded, problem);
    assert.deepEqual(await ledger.inForce(), { epoch: 1, table: demo });
  });

  test("is told once, and no table of one's own is called in force", async () => {
    const { rates } = await openBeside();
    await rates.forQuote();
    await rates.forQuote();
    assert.deepEqual(
      rates.events.all.map(({ kind }) => kind),
      ["not-trading"],
    );
  });

  test("is changed by a process that is told to, to the first table of the new one, whatever its date and number", async () => {
    const { ledger, bank, rates } = await openBeside({ changeSource: "demo" });
    assert.deepEqual(await ledger.inForce(), { epoch: 2, table: of(bank, older) });
    assert.equal(await traded(rates, ledger), "108/C/NBP/2026");
  });

  test("is changed when the new source has its first table, and not before", async () => {
    const ledger = openSqlite(":memory:");
    await putInForce(ledger, demo);
    const bank = await standIn(older);
    await bank.mode("500");
    const rates = await openLive(bank, { ledger, changeSource: "demo" });
    await rates.events.next("failed");
    assert.equal((await ledger.inForce())?.table.source, "demo");
    await bank.mode("answers");
    await rates.events.next("in-force");
    assert.equal((await ledger.inForce())?.table.source, bank.url);
  });

  test("is changed only from the source that is named", async () => {
    const { ledger } = await openBeside({ changeSource: "nbp" });
    assert.equal((await ledger.inForce())?.table.source, "demo");
  });

  test("is changed once by a process: two that are told to change it both ways do not go on for ever", async () => {
    const ledger = openSqlite(":memory:");
    await putInForce(ledger, tablesOf("demo", demoTables()).at(-1) as RateTable);
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
});

describe("a table that is not effective yet", () => {
  const ahead = publishedOf("110/C/NBP/2026", "2026-06-10", { USD: [4.02, 4.1] });

  test("waits, and the newest effective one is in force", async () => {
    const ledger = openSqlite(":memory:");
    const rates = await openLive(await standIn(older, newer, ahead), { ledger });
    assert.equal(await traded(rates, ledger), "109/C/NBP/2026");
  });

  test("waits even where nothing else is there, which is told", async () => {
    const rates = await openLive(await standIn(ahead));
    const { message } = await unavailable(rates);
    assert.match(
      message,
      /^There is no rate table yet\. The first table of \S+, 110\/C\/NBP\/2026, takes effect on 2026-06-10\./,
    );
  });

  test("waits, whatever the operator accepts", async () => {
    const rates = await openLive(await standIn(older, ahead), { acceptTable: ahead.no });
    assert.equal(await quoted(rates), "108/C/NBP/2026");
  });

  test("comes into force at midnight in Warsaw, without the bank", async () => {
    let time = noon;
    const ledger = openSqlite(":memory:");
    const bank = await standIn(newer, ahead);
    await putInForce(ledger, of(bank, newer));
    const rates = await openLive(bank, { ledger, now: () => time, refreshMs: 5 * minute });
    await rates.events.next("in-force");
    await bank.mode("refuses");
    time = new Date("2026-06-09T21:59:59Z");
    assert.equal(await traded(rates, ledger), "109/C/NBP/2026");
    time = new Date("2026-06-09T22:00:00Z");
    await rates.events.next("in-force");
    assert.equal(await traded(rates, ledger), "110/C/NBP/2026");
  });

  test("gives way to the bank's correction of its date", async () => {
    const wrong = publishedOf("109/C/NBP/2026", "2026-06-16", { USD: [4.5, 4.6] });
    const ledger = openSqlite(":memory:");
    const bank = await standIn(older, wrong);
    await putInForce(ledger, of(bank, older));
    const rates = await openLive(bank, { ledger });
    await rates.events.next("in-force");
    assert.equal(await traded(rates, ledger), "108/C/NBP/2026");
    bank.tables = json(older, newer);
    await rates.events.next("in-force");
    assert.deepEqual(await ledger.inForce(), { epoch: 2, table: of(bank, newer) });
  });
});

describe("the history", () => {
  const asked = (bank: NbpStandIn, count: number) =>
    bank.requests.filter((path) => path.includes(`/C/last/${count}/`)).length;
  const all = (bank: NbpStandIn) => ({ source: bank.url, since: "" });

  test("is fetched once, with the first table, and kept in the ledger", async () => {
    const ledger = openSqlite(":memory:");
    const bank = await standIn(...tablesUpTo("2026-06-09"));
    const rates = await openLive(bank, { ledger });
    while (bank.requests.length < 5) await bank.asked();
    assert.equal((await rates.history(usd, 365)).length, 67);
    assert.equal((await ledger.tables(all(bank))).length, 67);
    assert.equal(asked(bank, 67), 1);
    assert.equal(asked(bank, 10), bank.requests.length - 1);
  });

  test("has no gap after a bank that was away", async () => {
    const tables = tablesUpTo("2026-06-09");
    const bank = await standIn(...tables.slice(0, 40));
    const rates = await openLive(bank, { maxAgeDays: 365 });
    await bank.mode("500");
    await rates.events.next("failed");
    bank.tables = tables;
    await bank.mode("answers");
    await rates.events.next("in-force");
    await rates.events.next("in-force");
    while ((await rates.history(usd, 365)).length < 67) await bank.asked();
  });

  test("lacks a table that is wrong, which holds back neither those before it nor those after it", async () => {
    const bank = await standIn(older, "{}", newer);
    const rates = await openLive(bank);
    assert.equal(await quoted(rates), "109/C/NBP/2026");
    assert.equal(rates.status().problem, undefined);
    assert.equal((await rates.history(usd, 365)).length, 2);
  });

  test("has no table that comes after the one in force, and of one number the one that was in force", async () => {
    const ledger = openSqlite(":memory:");
    const bank = await standIn(older, newer);
    const wrong = of(bank, { ...leaped, no: older.no, effectiveDate: older.effectiveDate });
    await ledger.saveTables([of(bank, publishedOf("107/C/NBP/2026", "2026-06-05")), wrong]);
    await putInForce(ledger, of(bank, older));
    await ledger.saveTables([of(bank, leaped)]);
    const rates = await openLive(bank, { ledger, role: "read" });
    const history = await rates.history(usd, 4);
    assert.deepEqual(
      history.map(({ number, bid }) => [number, formatDecimal(bid)]),
      [
        ["107/C/NBP/2026", "3.6268"],
        ["108/C/NBP/2026", "4"],
      ],
    );
  });
});

describe("close", () => {
  test("ends the fetch in flight at once, and no other follows", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank, { limits: patient });
    await bank.mode("hangs");
    await bank.asked();
    await rates.close();
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

  test("leaves the ledger alone from then on", async () => {
    const { ledger, reads } = faultyLedger();
    const rates = await openLive(await standIn(older), { ledger });
    await rates.close();
    const before = reads();
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(reads(), before);
  });
});
