import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { parse } from "csv-parse/sync";
import { requireDecimal } from "../../src/core/decimal.ts";
import { minorUnitsOf } from "../../src/core/money.ts";
import type { ExchangeService, ExportRequest } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { engines } from "../support/adapters.ts";
import { exported } from "../support/bookkeeping.ts";
import { seedEveryKind, seededPesels } from "../support/every-kind.ts";
import { adult, decimal, identified, opening, table, terms, tradedRates } from "../support/fixture.ts";

/** The cells of a register, read as Excel in Poland does. */
async function registerOf(
  service: ExchangeService,
  request: Partial<ExportRequest> = {},
): Promise<{ head: string[]; rows: Record<string, string>[]; end: string[] }> {
  const text = await exported(service, { format: "register", ...request });
  const lines = parse(text, { bom: true, delimiter: ";" }) as string[][];
  const [head = [], end = []] = [lines[0], lines.at(-1)];
  const rows = lines
    .slice(1, -1)
    .map((cells) => Object.fromEntries(cells.map((cell, nth) => [head[nth] ?? "", cell])));
  return { head, rows, end };
}

function minorOf(cell = "", digits = 2): bigint {
  return minorUnitsOf(requireDecimal(cell.replace(",", ".")), digits) ?? assert.fail(cell);
}

/** A ledger with one rich customer, whose clock a test sets. */
async function openLedger(start: string, rates = table) {
  const store: Store = openSqlite(":memory:");
  let clock = new Date(start);
  const service = new LedgerService(store, await tradedRates(store, rates), () => clock);
  await service.createAccount(opening({ pln: "100000" }));
  return {
    service,
    at: (time: string) => {
      clock = new Date(time);
    },
    exchange: async (order: string, pesel = adult()) =>
      (await service.exchange({ ...terms(order), pesel, key: order })).receiptId,
    reverse: async (reverses: string) =>
      (await service.change({ kind: "reversal", pesel: adult(), reverses, reason: "=pomyłka; kasa" }))
        .receiptId,
  };
}

for (const { name, open } of engines) {
  test(`The register over ${name} adds up to the position of the house in each currency`, async (t) => {
    const service = await seedEveryKind(await open(t));
    const sums = new Map<string, bigint>();
    const add = (currency: string, minor: bigint) => sums.set(currency, (sums.get(currency) ?? 0n) + minor);
    for (const row of (await registerOf(service)).rows) {
      const sign = /kup/.test(row.Rodzaj ?? "") ? 1n : -1n;
      const currency = row.Waluta ?? "";
      add(currency, sign * minorOf(row.Ilość, currency === "JPY" ? 0 : 2));
      add("PLN", -sign * minorOf(row["Wartość w PLN"]));
    }
    const { currencies } = await service.position();
    assert.deepEqual(sums, new Map(currencies.map(({ currency, house }) => [currency, house])));
  });
}

describe("a register", () => {
  let ledger: Awaited<ReturnType<typeof openLedger>>;
  const ids: string[] = [];
  before(async () => {
    ledger = await openLedger("2026-06-08T10:00:00Z");
    ids.push(await ledger.exchange("buy 1000 USD for PLN"));
    ids.push(await ledger.exchange("sell 100.50 USD for PLN"));
    ids.push(await ledger.exchange("sell 250 USD for EUR"));
    ids.push(await ledger.reverse(ids[2] ?? ""));
    const cash = { kind: "deposit", pesel: adult(), amount: decimal("5"), note: undefined } as const;
    const { currency } = (await ledger.service.account(adult())).balances[0] ?? assert.fail();
    await ledger.service.change({ ...cash, currency });
  });

  test("A register has purchases and sales as the bureau sees them, through PLN, and reversals as lines of their own", async () => {
    const [sale, purchase, both, undone] = ids;
    const text = await exported(ledger.service, { format: "register" });
    assert.equal(
      text,
      "\ufeffLp.;Data;Godzina;Rodzaj;Waluta;Ilość;Kurs;Wartość w PLN;Tabela kursów;Dowód;Storno dowodu\r\n" +
        `1;2026-06-08;12:00:00;sprzedaż;USD;1000,00;3,7000;3700,00;108/C/NBP/2026;${sale};\r\n` +
        `2;2026-06-08;12:00:00;kupno;USD;100,50;3,6268;364,49;108/C/NBP/2026;${purchase};\r\n` +
        `3;2026-06-08;12:00:00;kupno;USD;250,00;3,6268;906,70;108/C/NBP/2026;${both};\r\n` +
        `4;2026-06-08;12:00:00;sprzedaż;EUR;211,77;4,2815;906,70;108/C/NBP/2026;${both};\r\n` +
        `5;2026-06-08;12:00:00;storno kupna;USD;-250,00;3,6268;-906,70;108/C/NBP/2026;${undone};${both}\r\n` +
        `6;2026-06-08;12:00:00;storno sprzedaży;EUR;-211,77;4,2815;-906,70;108/C/NBP/2026;${undone};${both}\r\n` +
        "koniec ewidencji: 6;;;;;;;;;;\r\n",
    );
  });

  test("A register has personal data only if it is full, and no text in it that a spreadsheet runs", async () => {
    const bare = await exported(ledger.service, { format: "register" });
    assert.doesNotMatch(bare, new RegExp(`${adult()}|Kowalski|pomyłka|buy`));
    const { head, rows } = await registerOf(ledger.service, { full: true });
    assert.deepEqual(head.slice(-6), ["PESEL", "Imię", "Nazwisko", "Wykonał", "Klucz", "Uwagi"]);
    const cells = (nth: number) => head.slice(-6).map((heading) => rows[nth]?.[heading]);
    assert.deepEqual(cells(0), [adult(), "Jan", "Kowalski", "", "buy 1000 USD for PLN", ""]);
    assert.deepEqual(cells(5), [adult(), "Jan", "Kowalski", "", "", "'=pomyłka; kasa"]);
  });
});

test("A line of the register has the same number in every period, counted from 1 in each year in Warsaw", async () => {
  const ledger = await openLedger("2026-12-30T10:00:00Z");
  for (const time of [
    "2026-12-30T11:00:00Z",
    "2026-12-31T22:59:59Z",
    "2026-12-31T23:00:00Z",
    "2027-01-02T08:00:00Z",
  ]) {
    ledger.at(time);
    await ledger.exchange("sell 100 PLN for USD".replace("100", time.slice(8, 10) + time.slice(11, 13)));
  }
  const numbers = async (request: Partial<ExportRequest>) =>
    (await registerOf(ledger.service, request)).rows.map((row) => `${row.Data} ${row["Lp."]}`);
  const whole = ["2026-12-30 1", "2026-12-31 2", "2027-01-01 1", "2027-01-02 2"];
  assert.deepEqual(await numbers({}), whole);
  assert.deepEqual(await numbers({ from: "2026-12-31", to: "2027-01-01" }), whole.slice(1, 3));
  assert.deepEqual(await numbers({ from: "2027-01-02" }), whole.slice(3));
});

test("A line of the register has the same number where clocks differ, in every period and at every time", async () => {
  const ledger = await openLedger("2026-06-07T10:00:00Z");
  await ledger.service.createAccount(opening({ index: 1, pln: "100000" }));
  // Committed in this order: the second by a process whose clock is behind.
  const times = ["2026-06-08T22:00:01Z", "2026-06-08T21:59:59Z", "2026-06-09T08:00:00Z"];
  for (const [index, time] of times.entries()) {
    ledger.at(time);
    await ledger.exchange(`buy ${index + 1} USD for PLN`, adult(index % 2));
  }
  const numbers = async (request: Partial<ExportRequest>) =>
    (await registerOf(ledger.service, request)).rows.map((row) => `${row.Data} ${row["Lp."]}`);
  assert.deepEqual(await numbers({}), ["2026-06-09 1", "2026-06-08 2", "2026-06-09 3"]);
  assert.deepEqual(await numbers({ to: "2026-06-08" }), ["2026-06-08 2"]);
  assert.deepEqual(await numbers({ from: "2026-06-09" }), ["2026-06-09 1", "2026-06-09 3"]);
  assert.deepEqual(await numbers({ at: new Date("2026-06-08T22:00:00Z") }), ["2026-06-08 2"]);
});

test("A register has an exchange between foreign currencies at a rate of few places, of a currency without minor units", async () => {
  const rates = [
    { code: "USD", currency: "dolar", bid: 3, ask: 4 },
    { code: "JPY", currency: "jen", bid: 0.5, ask: 1 },
  ];
  const [no, date] = ["001/C/NBP/2026", "2026-06-05"];
  const published = { table: "C", no, tradingDate: date, effectiveDate: date, rates };
  const ledger = await openLedger("2026-06-08T10:00:00Z", identified(published));
  await ledger.exchange("buy 100 JPY for PLN");
  await ledger.exchange("sell 100 JPY for USD");
  const { rows } = await registerOf(ledger.service);
  assert.deepEqual(
    rows.map((row) => `${row.Rodzaj} ${row.Ilość} ${row.Waluta} ${row["Wartość w PLN"]}`),
    ["sprzedaż 100 JPY 100,00", "kupno 100 JPY 50,00", "sprzedaż 12,50 USD 50,00"],
  );
});

test("A register of a ledger without exchanges has its headings and its end", async () => {
  const ledger = await openLedger("2026-06-08T10:00:00Z");
  const { rows, end } = await registerOf(ledger.service);
  assert.deepEqual([rows, end[0]], [[], "koniec ewidencji: 0"]);
});

test("The customers of the seeded ledger are all in a full register", async () => {
  const { rows } = await registerOf(await seedEveryKind(openSqlite(":memory:")), { full: true });
  assert.deepEqual(new Set(rows.map(({ PESEL }) => PESEL)), new Set(seededPesels()));
});
