import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { parseCurrencyCode } from "../../src/core/currency.ts";
import { formatDecimal } from "../../src/core/decimal.ts";
import type { Rate, RateTable, TableLedger } from "../../src/core/rates.ts";
import { openRates, type RatesOptions } from "../../src/rates/open.ts";
import { demoTables } from "../../src/rates/recorded.ts";
import { type RateSource, tablesOf } from "../../src/rates/source.ts";
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
  older,
  openLive,
  quoted,
  standIn,
  traded,
  unavailable,
} from "../support/live-rates.ts";
import { type Mode, type NbpStandIn, tablesUpTo } from "../support/nbp-stand-in.ts";
import { publishedOf } from "../support/rates.ts";

const usd = parseCurrencyCode("USD");
const rules = { maxAgeDays: 7, acceptTable: undefined };
/** Limits so long that a test ends before a fetch that hangs does. */
const patient = { responseTimeoutMs: 3_600_000, requestTimeoutMs: 3_600_000 };
/** Only `refresh` asks the source again. */
const rarely = { refreshMs: 60 * minute, retryMs: 60 * minute };
/** A published table as one of a bank's. */
const of = ({ url }: { readonly url: string }, published: object) => identified(published, url);

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
  test("A start puts the bank's table in force in an empty ledger, and tells so", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank);
    const table = of(bank, older);
    assert.deepEqual(await rates.ledger.inForce(), { epoch: 1, table });
    assert.deepEqual(rates.forOrder(await rates.ledger.inForce()), table);
    assert.equal(rates.status().problem, undefined);
    assert.deepEqual(rates.events.all[0], { kind: "in-force", table });
  });

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

  test("Orders settle at the ledger's table while the bank is away", async () => {
    const bank = await standIn();
    await bank.mode("refuses");
    const rates = await openLive(bank, { inForce: older });
    assert.equal(await traded(rates), older.no);
    assert.match(rates.status().problem ?? "", /ECONNREFUSED/);
  });

  test("A start ends over a ledger that fails, and the table comes into force as soon as that works", async () => {
    const { ledger, works } = faultyLedger();
    works(false);
    const rates = await openLive(await standIn(older), { ledger });
    assert.match((await rates.events.next("failed")).problem, /disk is full/);
    assert.match(rates.status().notTraded?.reason ?? "", /disk is full/);
    works(true);
    await rates.events.next("in-force");
    assert.equal(await quoted(rates), older.no);
  });
});

describe("a fetch is counted", () => {
  test("A fetch counts as accepted when it puts a table in force, and as unchanged when it brings the same", async () => {
    const rates = await openLive(await standIn(older), rarely);
    assert.deepEqual(rates.status().fetches, { accepted: 1, unchanged: 0, refused: 0, failed: 0 });
    await rates.refresh(rules);
    assert.deepEqual(rates.status().fetches, { accepted: 1, unchanged: 1, refused: 0, failed: 0 });
  });

  test("A fetch counts as refused when a check holds its table back, until an operator accepts it", async () => {
    const bank = await standIn(leaped);
    const rates = await openLive(bank, { inForce: older, ...rarely });
    assert.deepEqual(rates.status().fetches, { accepted: 0, unchanged: 0, refused: 1, failed: 0 });
    assert.equal(rates.status().heldBack, leaped.no);
    await rates.refresh({ ...rules, acceptTable: leaped.no });
    assert.deepEqual(rates.status().fetches, { accepted: 1, unchanged: 0, refused: 1, failed: 0 });
    assert.equal(rates.status().heldBack, undefined);
  });

  test("A fetch counts as failed when the bank does not answer", async () => {
    const bank = await standIn(older);
    await bank.mode("refuses");
    const rates = await openLive(bank, rarely);
    assert.deepEqual(rates.status().fetches, { accepted: 0, unchanged: 0, refused: 0, failed: 1 });
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

  for (const mode of ["refuses", "nonsense"] as Mode[]) {
    test(`A refresh leaves the table in force when the bank ${mode}, and says why until the bank is back`, async () => {
      const bank = await standIn(older);
      const rates = await openLive(bank, { ...rarely, ...impatient });
      await bank.mode(mode);
      await rates.refresh(rules);
      const { problem } = await rates.events.next("failed");
      assert.ok(problem.includes(bank.url), problem);
      assert.ok(rates.status().problem?.includes(bank.url));
      assert.equal(await quoted(rates), older.no);
      await bank.mode("answers");
      await rates.refresh(rules);
      assert.equal(rates.status().problem, undefined);
    });
  }

  test("Refreshes come after growing, jittered pauses while the bank fails, and after short ones again when it has answered", async () => {
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

  test("A refresh goes by the rules that it is given", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank, { ...rarely, now: () => new Date("2026-06-20T10:00:00Z") });
    await unavailable(rates);
    await rates.refresh({ ...rules, maxAgeDays: 30 });
    assert.equal(await quoted(rates), older.no);
  });
});

describe("a table that is held back", () => {
  test("A table that is held back is told with the command that lets it through", async () => {
    const bank = await standIn(older);
    const rates = await openLive(bank);
    bank.tables = json(leaped);
    const { problem, table } = await rates.events.next("refused");
    assert.equal(table, leaped.no);
    assert.match(problem, /USD bid 4 to 8, ask 4.08 to 8.16.*--accept-table [0-9a-f]{32}\.$/);
    assert.equal(rates.status().problem, problem);
    assert.equal(await traded(rates), older.no);
    assert.deepEqual(await rates.ledger.tables({ source: bank.url, since: "" }), [of(bank, older)]);
  });

  test("An overridden table comes into force once, whichever processes have the operator's word, and its correction does not", async () => {
    const bank = await standIn(older);
    const ledger = await ledgerAt(of(bank, older));
    const accepting = { ledger, acceptTable: leaped.no };
    const all = [await openLive(bank, accepting), await openLive(bank, accepting)];
    bank.tables = json(leaped);
    for (const rates of all) {
      while ((await traded(rates)) !== leaped.no) await bank.asked();
    }
    bank.tables = json({ ...leaped, tradingDate: "2026-06-05" });
    for (const rates of all) {
      assert.match((await rates.events.next("refused")).problem, /differs from the one in force/);
    }
    const accepted = await ledger.rows("accepted_table", { limit: 9 });
    assert.deepEqual(
      accepted.map((row) => row.overridden_by),
      [null, "unknown"],
    );
  });

  for (const [by, price] of [
    ["an order", traded],
    ["a quote", quoted],
  ] as const) {
    test(`A table that another process lets through is not told as held back any more, once ${by} has its price`, async () => {
      const bank = await standIn(leaped);
      const rates = await openLive(bank, { inForce: older, ...rarely });
      assert.equal(rates.status().heldBack, leaped.no);
      await openLive(bank, { ledger: rates.ledger, ...rarely, acceptTable: leaped.no });
      assert.equal(await price(rates), leaped.no);
      const { table, heldBack, problem } = rates.status();
      assert.deepEqual([table?.number, heldBack, problem], [leaped.no, undefined, undefined]);
    });
  }
});

describe("a ledger's table in force", () => {
  async function openOver(...options: Partial<RatesOptions>[]) {
    const bank = await standIn(older);
    const ledger = await ledgerAt(of(bank, older));
    const all = await Promise.all(options.map((one) => openLive(bank, { ledger, ...rarely, ...one })));
    return { ledger, bank, all };
  }

  test("Orders, quotes and the status of every process follow the ledger's table, without the bank or a judgement of their own", async () => {
    const { ledger, bank, all } = await openOver({}, { role: "settle" }, { role: "read" });
    await ledger.acceptTable(of(bank, leaped), acceptance(1, "anna@desk"));
    await bank.mode("refuses");
    for (const rates of all) {
      assert.equal(await traded(rates), leaped.no);
      assert.equal(rates.status().table?.number, leaped.no);
      assert.equal(await quoted(rates), leaped.no);
      assert.equal((await rates.latest()).table.number, leaped.no);
    }
  });

  test("A process that only reads quotes the ledger's table, asks no bank and writes nothing", async () => {
    const { ledger, bank, all } = await openOver({ role: "read" });
    bank.tables = json(newer);
    assert.equal(await quoted(all[0] ?? assert.fail()), older.no);
    const august = () => new Date("2026-08-01T10:00:00Z");
    const late = await openLive(bank, { ledger, role: "read", now: august });
    const { message, retryAfterSeconds } = await unavailable(late);
    assert.match(
      message,
      /for at most 7 days\. fx serve, or a command that settles an order, fetches a newer one\.$/,
    );
    assert.equal(retryAfterSeconds, undefined);
    assert.deepEqual(bank.requests, []);
    assert.equal((await ledger.inForce())?.epoch, 1);
  });

  test("A process that only reads an empty ledger quotes its source's newest table and writes nothing", async () => {
    const ledger = openSqlite(":memory:");
    const bank = await standIn(older, newer);
    const rates = await openLive(bank, { ledger, role: "read" });
    assert.equal(await quoted(rates), newer.no);
    const { table, previous, notTraded } = await rates.latest();
    assert.deepEqual([table.number, previous?.number, notTraded], [newer.no, older.no, undefined]);
    assert.equal((await rates.tables(9)).length, 2);
    assert.equal(await ledger.inForce(), undefined);
    assert.deepEqual(await ledger.tables({ source: bank.url, since: "" }), []);
  });
});

describe("a ledger of another source", () => {
  const demo = of({ url: "demo" }, publishedOf("069/C/NBP/2022", "2022-04-08", { USD: [4.2, 4.3] }));
  async function openBeside(options: Partial<RatesOptions> = {}) {
    const ledger = await ledgerAt(demo);
    const bank = await standIn(older);
    return { ledger, bank, rates: await openLive(bank, { ledger, ...options }) };
  }

  test("A process with another source than the ledger quotes and does not trade, and tells it once with both names", async () => {
    const { ledger, bank, rates } = await openBeside();
    assert.equal((await rates.forQuote()).source, bank.url);
    const problem =
      `The ledger trades at the rates of demo, and this fx has those of ${bank.url}, so it only quotes. Use ` +
      `--rates demo, or change the ledger's source with fx serve --rates ${bank.url} --change-source demo.`;
    await assert.rejects(traded(rates), { code: "rates-unavailable", message: problem });
    await rates.refresh(rules);
    assert.deepEqual(rates.events.all, [{ kind: "not-trading", problem }]);
    assert.deepEqual(await ledger.inForce(), { epoch: 1, table: demo });
    assert.deepEqual(await ledger.tables({ source: bank.url, since: "" }), []);
  });

  test("A process with another source shows the ledger's table where its own source has not answered", async () => {
    const ledger = await ledgerAt(demo);
    const bank = await standIn(older);
    await bank.mode("refuses");
    const { table, recorded, notTraded } = await (await openLive(bank, { ledger })).latest();
    assert.deepEqual([table.number, recorded], [demo.number, true]);
    assert.match(
      notTraded?.reason ?? "",
      /^The ledger trades at the rates of demo, and this fx has those of http/,
    );
  });

  test("A change of source puts the new source's table in force, whatever its date and number", async () => {
    const { ledger, bank, rates } = await openBeside({ changeSource: "demo" });
    assert.deepEqual(await ledger.inForce(), { epoch: 2, table: of(bank, older) });
    assert.equal(await traded(rates), older.no);
  });

  test("A change of source waits for the new source's first table", async () => {
    const ledger = await ledgerAt(demo);
    const bank = await standIn(older);
    await bank.mode("500");
    const rates = await openLive(bank, { ledger, changeSource: "demo" });
    await rates.events.next("failed");
    assert.equal((await ledger.inForce())?.table.source, "demo");
    await bank.mode("answers");
    await rates.events.next("in-force");
    assert.equal((await ledger.inForce())?.table.source, bank.url);
  });

  test("A change of source from another source than the ledger's does nothing", async () => {
    const { ledger } = await openBeside({ changeSource: "nbp" });
    assert.equal((await ledger.inForce())?.table.source, "demo");
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
});

describe("a table that is not effective yet", () => {
  const ahead = publishedOf("110/C/NBP/2026", "2026-06-10", { USD: [4.02, 4.1] });

  test("A table of days to come waits, whatever the operator accepts, and the newest effective one is in force", async () => {
    const rates = await openLive(await standIn(older, newer, ahead), { acceptTable: ahead.no });
    assert.equal(await traded(rates), newer.no);
  });

  test("A table of days to come waits even where there is no other, and the error says so", async () => {
    const rates = await openLive(await standIn(ahead));
    const { message } = await unavailable(rates);
    assert.match(
      message,
      /^There is no rate table yet\. The first table of \S+, 110\/C\/NBP\/2026, takes effect on 2026-06-10\.$/,
    );
  });

  test("A table of days to come gives way to the bank's correction of its date", async () => {
    const wrong = publishedOf("109/C/NBP/2026", "2026-06-16", { USD: [4.5, 4.6] });
    const bank = await standIn(older, wrong);
    const rates = await openLive(bank, { inForce: older, ...rarely });
    assert.equal(await traded(rates), older.no);
    bank.tables = json(older, newer);
    await rates.refresh(rules);
    assert.deepEqual(await rates.ledger.inForce(), { epoch: 2, table: of(bank, newer) });
  });
});

describe("the history", () => {
  const all = (bank: NbpStandIn) => ({ source: bank.url, since: "" });

  test("A history is fetched with the newest table and kept in the ledger, without a gap after a pause", async () => {
    const tables = tablesUpTo("2026-06-09");
    const bank = await standIn(...tables.slice(0, 40));
    const rates = await openLive(bank, { maxAgeDays: 365, ...rarely });
    assert.equal((await rates.ledger.tables(all(bank))).length, 40);
    bank.tables = tables;
    await rates.refresh(rules);
    assert.equal((await rates.tables(365)).length, 67);
    assert.equal((await rates.ledger.tables(all(bank))).length, 67);
  });

  test("A history lacks a malformed table, and has those before and after it", async () => {
    const bank = await standIn(older, "{}", newer);
    const rates = await openLive(bank);
    assert.equal(await quoted(rates), newer.no);
    assert.equal(rates.status().problem, undefined);
    assert.equal((await rates.tables(365)).length, 2);
  });

  test("A history ends with the table in force, and has, of one number, the table that was in force", async () => {
    const bank = await standIn(older, newer);
    const ledger = openSqlite(":memory:");
    const wrong = of(bank, { ...leaped, no: older.no, effectiveDate: older.effectiveDate });
    await ledger.saveTables([of(bank, publishedOf("107/C/NBP/2026", "2026-06-05")), wrong]);
    await putInForce(ledger, of(bank, older));
    await ledger.saveTables([of(bank, leaped)]);
    const rates = await openLive(bank, { ledger, role: "read" });
    const history = await rates.tables(4);
    assert.deepEqual(
      history.map((table) => [table.number, formatDecimal((table.rates.get(usd) as Rate).bid)]),
      [
        ["107/C/NBP/2026", "3.6268"],
        ["108/C/NBP/2026", "4"],
      ],
    );
  });
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
