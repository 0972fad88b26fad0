import assert from "node:assert/strict";
import { test } from "node:test";
import { isNewer, refusalOf } from "../../src/rates/acceptance.ts";
import { demoTables } from "../../src/rates/recorded.ts";
import { tableOf } from "../support/rates.ts";

const today = "2026-06-09";
const inForce = tableOf("108/C/NBP/2026", "2026-06-08", { USD: [4, 4.08], HUF: [0.01, 0.0102] });
const next = (rates: Record<string, readonly [number, number]>, effectiveDate = "2026-06-09") =>
  tableOf("109/C/NBP/2026", effectiveDate, rates);

test("the first table is believed", () => {
  assert.equal(refusalOf(inForce, undefined, today), undefined);
});

test("no table of three months, with the swings of early 2022, is refused after the one before", () => {
  const tables = demoTables();
  for (const [index, table] of tables.entries()) {
    assert.equal(refusalOf(table, tables[index - 1], table.effectiveDate), undefined, table.number);
  }
});

test("the table in force is believed again", () => {
  assert.equal(refusalOf(inForce, inForce, today), undefined);
});

test("another content under the number in force is refused", () => {
  const changed = tableOf("108/C/NBP/2026", "2026-06-08", { USD: [4, 4.09], HUF: [0.01, 0.0102] });
  assert.match(String(refusalOf(changed, inForce, today)), /differs from the one in force/);
});

test("a table older than the one in force is refused", () => {
  const older = tableOf("107/C/NBP/2026", "2026-06-05");
  assert.equal(
    refusalOf(older, inForce, today),
    "it is of 2026-06-05, older than 108/C/NBP/2026 of 2026-06-08 in force",
  );
});

test("of two tables of one day the higher number is the newer", () => {
  const second = tableOf("109/C/NBP/2026", "2026-06-08");
  assert.equal(isNewer(second, inForce), true);
  assert.equal(isNewer(inForce, second), false);
  assert.equal(isNewer(inForce, inForce), false);
});

test("a table dated a week ahead is let pass, and one day more is refused", () => {
  assert.equal(refusalOf(next({ USD: [4, 4.08] }, "2026-06-16"), undefined, today), undefined);
  assert.match(
    String(refusalOf(next({ USD: [4, 4.08] }, "2026-06-17"), undefined, today)),
    /2026-06-17 is more than 7 days ahead; today is 2026-06-09/,
  );
});

test("a rate may move by exactly 30 %, up or down", () => {
  assert.equal(refusalOf(next({ USD: [5.2, 5.304], HUF: [0.007, 0.00714] }), inForce, today), undefined);
});

test("a rate that moved by more than 30 % is refused, naming it and the way to accept the table", () => {
  assert.equal(
    refusalOf(next({ USD: [5.2001, 5.304], HUF: [0.01, 0.0102] }), inForce, today),
    "against 108/C/NBP/2026 a rate moved by more than 30 % (USD bid 4 to 5.2001, ask 4.08 to 5.304). " +
      "If the bank confirms it, start fx with --accept-table 109/C/NBP/2026",
  );
  assert.match(
    String(refusalOf(next({ HUF: [0.006999, 0.0102] }), inForce, today)),
    /HUF bid 0.01 to 0.006999/,
  );
  assert.match(String(refusalOf(next({ USD: [4, 5.305] }), inForce, today)), /USD .* ask 4.08 to 5.305/);
});

test("a rate that moved by more than 30 % is believed in the table that the operator accepts", () => {
  const leap = next({ USD: [8, 8.16] });
  assert.equal(refusalOf(leap, inForce, today, "109/C/NBP/2026"), undefined);
  assert.notEqual(refusalOf(leap, inForce, today, "110/C/NBP/2026"), undefined);
});

test("accepting a table does not excuse that it is old or far ahead", () => {
  const older = tableOf("107/C/NBP/2026", "2026-06-05");
  assert.notEqual(refusalOf(older, inForce, today, older.number), undefined);
  const ahead = next({ USD: [4, 4.08] }, "2026-07-01");
  assert.notEqual(refusalOf(ahead, inForce, today, ahead.number), undefined);
});

test("rates are compared with a table at most a week older", () => {
  const leap = { USD: [8, 8.16] } as const;
  assert.notEqual(refusalOf(next(leap, "2026-06-15"), inForce, "2026-06-16"), undefined);
  assert.equal(refusalOf(next(leap, "2026-06-16"), inForce, "2026-06-16"), undefined);
});

test("a currency that comes or goes is no reason to refuse", () => {
  assert.equal(refusalOf(next({ USD: [4, 4.08], EUR: [4.2, 4.3] }), inForce, today), undefined);
});
