import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import fc from "fast-check";
import { addDays, startOfDay } from "../../src/core/date.ts";
import { entryKinds } from "../../src/core/journal.ts";
import { formatMoney } from "../../src/core/money.ts";
import { bookFormats, type ExchangeService, exportFormats } from "../../src/core/service.ts";
import { customerId, identityKeyOf } from "../../src/ledger/ids.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { isWholeExport } from "../../src/wire/export-files.ts";
import { engines } from "../support/adapters.ts";
import { type Balances, bookkeepers, exported, shortest } from "../support/bookkeeping.ts";
import { chanceFrom } from "../support/chance.ts";
import { seedEveryKind, seededAccounts, seededPesels } from "../support/every-kind.ts";
import { adult, fixedRates, opening, table, terms, tradedRates } from "../support/fixture.ts";
import { instead } from "../support/instead.ts";
import { everyPage, refuses } from "../support/service.ts";

/** The balances that the books must have: of cash, the house, the spread and each customer, in each currency. */
async function balancesOf(service: ExchangeService, store: Store): Promise<Balances> {
  const balances: Record<string, string> = {};
  const add = (account: string, currency: string, amount: string) => {
    if (shortest(amount) !== "0") balances[`${account} ${currency}`] = shortest(amount);
  };
  const amountOf = (money: Parameters<typeof formatMoney>[0]) => formatMoney(money).replace(/,| .*/g, "");
  const { currencies, spreadEarned } = await service.position();
  for (const { currency, customers, house, cash, bank } of currencies) {
    add("Assets:Cash", currency, amountOf({ currency, minor: cash }));
    add("Assets:Bank", currency, amountOf({ currency, minor: bank }));
    add("Equity:Owner", currency, amountOf({ currency, minor: customers + house - cash - bank }));
    add("Equity:House", currency, amountOf({ currency, minor: -house }));
  }
  add("Income:Spread", "PLN", `-${amountOf(spreadEarned)}`);
  add("Equity:Spread", "PLN", amountOf(spreadEarned));
  const key = await identityKeyOf(store);
  for (const { pesel, balances } of await everyPage((page) => service.accounts(page), 100)) {
    for (const { currency, minor } of balances) {
      add(`Liabilities:Customers:${customerId(pesel, key)}`, currency, amountOf({ currency, minor: -minor }));
    }
  }
  return balances;
}

/** The spread earned in the books of an export, in 10^−21 PLN, from its text in any format. */
function spreadIn(text: string): bigint {
  const postings = text.matchAll(
    /Income:Spread(?:[ ,]+|","amount":")(-?\d+)(?:\.(\d+))?[ ,"]+(?:currency":")?PLN/g,
  );
  let sum = 0n;
  for (const [, whole = "", fraction = ""] of postings) sum -= BigInt(whole + fraction.padEnd(21, "0"));
  return sum;
}

/** Random days, each the first of a part. */
const cuts = fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 8 });

for (const { name, open } of engines) {
  describe(`an export over ${name}`, () => {
    test("An export by days adds up to the whole and to the position in every format, whatever the partition", async (t) => {
      const store = await open(t);
      const first = Date.parse("2026-05-29T10:00:00Z");
      let clock = first;
      const service = new LedgerService(store, await tradedRates(store), () => new Date(clock));
      const pesel = adult();
      await service.createAccount(opening({ pln: "100000" }));
      const chance = chanceFrom(7);
      const done: string[] = [];
      for (let nth = 0; nth < 120; nth += 1) {
        clock += Math.floor(chance() * 16 * 3_600_000);
        const undone = done.length > 0 && chance() < 0.25 ? done.pop() : undefined;
        if (undone !== undefined) {
          await service.change({ kind: "reversal", pesel, reverses: undone, reason: "a slip" });
          continue;
        }
        const amount = (1 + Math.floor(chance() * 9999)) / 100;
        const order = terms(`buy ${amount} ${chance() < 0.5 ? "USD" : "EUR"} for PLN`);
        done.push((await service.exchange({ ...order, pesel })).receiptId);
      }
      clock += 60_000;
      const grosz = 10n ** 19n;
      const earnedBy = async (day: string) => {
        const at = new Date(Math.min(startOfDay(day).getTime() - 1, clock - 30_000));
        return (await service.position(at)).spreadEarned.minor * grosz;
      };
      const whole = (await service.position()).spreadEarned.minor * grosz;
      await fc.assert(
        fc.asyncProperty(cuts, fc.constantFrom(...bookFormats), async (chosen, format) => {
          const starts = chosen.sort((a, b) => a - b).map((days) => addDays("2026-05-29", days));
          let sum = 0n;
          for (let nth = 0; nth <= starts.length; nth += 1) {
            const [from, next] = [starts[nth - 1], starts[nth]];
            const to = next && addDays(next, -1);
            const part = spreadIn(await exported(service, { format, from, to }));
            const before = from === undefined ? 0n : await earnedBy(from);
            assert.equal(part, (next === undefined ? whole : await earnedBy(next)) - before);
            sum += part;
          }
          assert.equal(sum, whole);
          assert.equal(spreadIn(await exported(service, { format })), whole);
        }),
        { numRuns: 20 },
      );
    });

    test("An export has every entry once, in the order in which they were made", async (t) => {
      const service = await seedEveryKind(await open(t), 2);
      const made = await Promise.all(
        seededAccounts(2).map(async (pesel) => everyPage((page) => service.statement(pesel, page))),
      );
      const lines = (await exported(service, { format: "ndjson" })).trim().split("\n");
      const entries = lines.map((line) => JSON.parse(line)).filter(({ id }) => id !== undefined);
      assert.deepEqual(
        entries.map(({ id }) => id),
        made
          .flat()
          .sort((a, b) => a.time.getTime() - b.time.getTime())
          .map(({ id }) => id),
      );
      assert.deepEqual(JSON.parse(lines.at(-1) ?? ""), { kind: "end", entries: entries.length });
    });
  });
}

describe("an export", () => {
  let store: Store;
  let service: LedgerService;
  before(async () => {
    store = openSqlite(":memory:");
    service = await seedEveryKind(store);
  });

  test("An export has every kind of entry and every currency in the seeded ledger", async () => {
    const lines = (await exported(service, { format: "ndjson" })).trim().split("\n");
    const entries = lines.slice(0, -2).map((line) => JSON.parse(line));
    assert.deepEqual(new Set(entries.map(({ kind }) => kind)), new Set(entryKinds));
    const currencies = new Set(entries.flatMap(({ postings }) => postings).map(({ currency }) => currency));
    assert.deepEqual(currencies, new Set(["PLN", ...table.rates.keys()]));
  });

  for (const format of bookFormats) {
    test(`An export as ${format} tells nothing of a person unless it is full`, async () => {
      const isPersonal = new RegExp(
        [...seededPesels(), "Jan", "Kowalski", "Łęcka", "SUM", "cmd", "slip", "PLN-USD", "kasa"].join("|"),
      );
      assert.doesNotMatch(await exported(service, { format }), isPersonal);
      const full = await exported(service, { format, full: true });
      for (const told of [adult(1), "Kowalski", "Łęcka-Żółć", "slip", "PLN-USD-toBuy", "kasa-2"]) {
        assert.ok(full.includes(told), told);
      }
    });
  }

  for (const format of exportFormats) {
    test(`An export as ${format} is whole if it ends with its last line`, async () => {
      const text = await exported(service, { format });
      assert.ok(isWholeExport(text));
      const lines = text.split("\n");
      for (const part of [
        text.slice(0, -1),
        lines.slice(0, -2).join("\n"),
        `${lines.slice(0, -2).join("\n")}\n`,
        "",
      ]) {
        assert.ok(!isWholeExport(part), part.slice(-100));
      }
    });
  }

  test("An export tells customers apart by ids that another ledger gives to others", async () => {
    const ids = async (ledger: Store) => {
      const lines = (await exported(await seedEveryKind(ledger, 3), { format: "ndjson" })).split("\n");
      return new Set(lines.filter(Boolean).flatMap((line) => JSON.parse(line).customer ?? []));
    };
    const [here, there] = [await ids(openSqlite(":memory:")), await ids(openSqlite(":memory:"))];
    assert.equal(here.size, 3);
    assert.equal(there.size, 3);
    for (const id of here) {
      assert.match(String(id), /^[A-P]{20}$/);
      assert.ok(!there.has(id));
    }
  });

  test("An export does not have the customers in the order of their PESELs, which begin with their dates of birth", async () => {
    const ledger = openSqlite(":memory:");
    const own = new LedgerService(ledger, fixedRates());
    for (const index of [9, 0, 5]) await own.createAccount(opening({ index }));
    const key = await identityKeyOf(ledger);
    const opened = [
      ...(await exported(own, { format: "hledger" })).matchAll(/^account Liabilities.*:(\w+)$/gm),
    ];
    assert.deepEqual(
      opened.map(([, id]) => id),
      [9, 0, 5].map((index) => customerId(adult(index), key)),
    );
  });

  for (const { format, missing, check, balances } of bookkeepers) {
    test(`An export of every kind of entry in every currency is right for ${format}, with the balances of fx`, {
      skip: missing,
    }, async () => {
      const expected = await balancesOf(service, store);
      for (const full of [false, true]) {
        const text = await exported(service, { format, full });
        assert.equal(check(text), "");
        assert.deepEqual(balances(text), expected);
      }
      for (const days of [{ to: "2026-05-30" }, { from: "2026-05-31", to: "2026-06-01" }]) {
        assert.equal(check(await exported(service, { format, ...days })), "");
      }
    });
  }

  test("An export has what was there when it began, and orders go on meanwhile", async () => {
    const store = openSqlite(":memory:");
    const own = new LedgerService(store, await tradedRates(store));
    await own.createAccount(opening({ pln: "9000000" }));
    const order = () => own.exchange({ ...terms("buy 1 USD for PLN"), pesel: adult() });
    await Promise.all(Array.from({ length: 600 }, order));
    let text = "";
    for await (const part of own.export({ format: "ndjson", full: false })) {
      await order();
      text += part;
    }
    assert.match(text, /"entries":60[12]\}\n$/);
  });

  test("An export fails, as a position does, where a rate table is missing or lacks the rate of an exchanged currency", async () => {
    const whole = openSqlite(":memory:");
    const own = new LedgerService(whole, await tradedRates(whole));
    await own.createAccount(opening());
    await own.exchange({ ...terms("buy 1 USD for PLN"), pesel: adult() });
    const missing = new LedgerService(instead<Store>(whole, { table: async () => undefined }), fixedRates());
    const isMissing = /the rate table [\da-f]{32} is missing/;
    await refuses(exported(missing, { format: "csv" }), "storage-unavailable", isMissing);
    const without = new Map([...table.rates].filter(([currency]) => currency !== "USD"));
    const broken = new LedgerService(
      instead<Store>(whole, { table: async () => ({ ...table, rates: without }) }),
      fixedRates(),
    );
    const lacks = /the rate table 108\/C\/NBP\/2026, at which USD was exchanged, has no rate of it/;
    await refuses(exported(broken, { format: "csv" }), "storage-unavailable", lacks);
    await refuses(broken.position(), "storage-unavailable", lacks);
    assert.equal((await broken.audit()).findings[0]?.problem, "entry that fx refuses");
  });
});
