import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addDays } from "../../src/core/date.ts";
import type { RateTable } from "../../src/core/rates.ts";
import { candidates, choose, type Precedents } from "../../src/rates/judge.ts";
import { demoTables } from "../../src/rates/recorded.ts";
import { tablesOf } from "../../src/rates/source.ts";
import { identified } from "../support/fixture.ts";
import { publishedOf, tableOf } from "../support/rates.ts";

type Quotations = Record<string, readonly [number, number]>;
const usual: Quotations = { USD: [4, 4.08], HUF: [0.01, 0.0102], EUR: [4.3, 4.39], CHF: [4.5, 4.6] };
const inForce = tableOf("108/C/NBP/2026", "2026-06-08", usual);
const next = (rates: Quotations, effectiveDate = "2026-06-09") =>
  tableOf("109/C/NBP/2026", effectiveDate, { ...usual, ...rates });
const only = (...codes: string[]) =>
  tableOf(
    "109/C/NBP/2026",
    "2026-06-09",
    Object.fromEntries(codes.map((code) => [code, usual[code] ?? [1, 1.02]])),
  );
const leap = next({ USD: [8, 8.16] });
const corrected = next({ USD: [8, 8.17] });

const precedents: Precedents = {
  inForce,
  accepted: [inForce],
  past: [inForce],
};

function verdict(table: RateTable, override?: string, past: Partial<Precedents> = {}) {
  const { accept } = choose([table], { ...precedents, ...past }, override);
  return accept === undefined ? "held back" : accept.overridden ? "overridden" : "accept";
}

function refusal(table: RateTable, override?: string, past: Partial<Precedents> = {}): string {
  const { heldBack } = choose([table], { ...precedents, ...past }, override);
  return heldBack?.reason ?? assert.fail("not held back");
}

describe("a table may come into force", () => {
  test("Every table of early 2022, with its swings, may follow the one before it", () => {
    const tables = tablesOf("demo", demoTables());
    for (const [index, table] of tables.entries()) {
      const before = tables[index - 1];
      if (before === undefined) continue;
      assert.equal(
        verdict(table, undefined, { inForce: before, accepted: [before], past: [before] }),
        "accept",
      );
    }
  });

  test("A ledger's first table may come into force, whatever it says", () => {
    assert.equal(verdict(leap, undefined, { inForce: undefined, accepted: [], past: [] }), "accept");
  });

  test("A table whose rates moved by exactly 30 %, up or down, may come into force", () => {
    assert.equal(verdict(next({ USD: [5.2, 5.304], HUF: [0.007, 0.00714] })), "accept");
  });

  test("A table with new currencies, or without a quarter of the old ones, may come into force", () => {
    assert.equal(verdict(next({ GBP: [5, 5.1], JPY: [0.03, 0.031] })), "accept");
    assert.equal(verdict(only("USD", "HUF", "EUR")), "accept");
  });
});

describe("a table is held back", () => {
  test("A table that differs under the number in force is held back with its rates that differ, and let through by its id", () => {
    const changed = tableOf("108/C/NBP/2026", "2026-06-08", { ...usual, USD: [4, 4.09] });
    assert.equal(
      refusal(changed),
      "it differs from the one in force under the same number (USD bid 4 to 4, ask 4.08 to 4.09). " +
        `If the bank confirms it, let it through with fx serve --accept-table ${changed.id}`,
    );
  });

  test("A table that is doubtful in several ways is held back with all of them", () => {
    assert.match(
      refusal(tableOf("108/C/NBP/2026", "2026-06-08", { USD: [40, 40.8], CHF: [4.5, 4.6] })),
      /^it differs .*; it lacks 2 of the 4 .*\(EUR, HUF\); a rate moved .*\(USD bid 4 to 40, ask 4.08 to 40.8\)\. If/,
    );
    assert.match(
      refusal(tableOf("107/C/NBP/2026", "2026-06-05", { ...usual, USD: [40, 40.8] })),
      /^it is of 2026-06-05, older .*; a rate moved .*USD bid 4 to 40/,
    );
  });

  test("A table older than the one in force is held back", () => {
    assert.match(
      refusal(tableOf("107/C/NBP/2026", "2026-06-05", usual)),
      /^it is of 2026-06-05, older than 108\/C\/NBP\/2026 of 2026-06-08 in force\. If/,
    );
  });

  test("A table with a rate that moved by more than 30 % is held back, and the rate is named", () => {
    assert.match(
      refusal(next({ USD: [5.2001, 5.304] })),
      /^a rate moved by more than 30 % against its last one \(USD bid 4 to 5.2001, ask 4.08 to 5.304\)\. If/,
    );
    assert.match(refusal(next({ HUF: [0.006999, 0.0102] })), /HUF bid 0.01 to 0.006999/);
    assert.match(refusal(next({ USD: [4, 5.305] })), /USD .* ask 4.08 to 5.305/);
  });

  for (const days of [1, 3650]) {
    test(`A table with rates a hundred times as high is held back after ${days} days`, () => {
      const hundredfold = Object.fromEntries(
        Object.entries(usual).map(([code, [bid, ask]]) => [
          code,
          [100 * bid, Number((100 * ask).toFixed(4))] as const,
        ]),
      );
      assert.match(
        refusal(next(hundredfold, addDays("2026-06-08", days))),
        /^a rate moved by more than 30 %/,
      );
    });
  }

  test("A table without more than a quarter of the currencies is held back, and they are named", () => {
    assert.equal(
      refusal(only("USD", "GBP", "JPY", "NOK")).split(". ")[0],
      "it lacks 3 of the 4 currencies of 108/C/NBP/2026 (CHF, EUR, HUF)",
    );
    assert.match(refusal(only("USD", "HUF")), /^it lacks 2 of the 4/);
  });

  test("A table is held back if a returned currency is far from its last rate", () => {
    const gbp = (number: string, day: string, bid: number) =>
      tableOf(`${number}/C/NBP/2026`, `2026-05-${day}`, { GBP: [bid, bid + 0.1] });
    const past = [gbp("099", "26", 50), gbp("100", "27", 5), inForce];
    assert.match(refusal(next({ GBP: [500, 510] }), undefined, { past }), /GBP bid 5 to 500/);
    assert.equal(verdict(next({ GBP: [5.5, 5.6] }), undefined, { past }), "accept");
  });

  test("The first table of a new source is held back for its prices, and not for its number or date", () => {
    const elsewhere = (published: object) => identified(published, "elsewhere");
    const sameDay = publishedOf("108/C/NBP/2026", "2026-06-01", usual);
    assert.equal(verdict(elsewhere(sameDay)), "accept");
    const dear = elsewhere(publishedOf("108/C/NBP/2026", "2026-06-01", { ...usual, USD: [400, 408] }));
    assert.match(refusal(dear), /USD bid 4 to 400/);
    assert.equal(verdict(dear, dear.number), "overridden");
  });
});

describe("an operator who names a number", () => {
  test("An operator's number lets through what any check holds back", () => {
    for (const table of [leap, only("USD"), tableOf("107/C/NBP/2026", "2026-06-05", usual)]) {
      assert.equal(verdict(table, table.number), "overridden");
      assert.equal(verdict(table, "110/C/NBP/2026"), "held back");
    }
  });

  for (const [what, before] of [
    ["was let through", leap],
    ["was in force without a word", leap],
  ] as const) {
    test(`The correction of a table that ${what} is held back, and its id is asked for`, () => {
      const past = { inForce: leap, accepted: [inForce, before], past: [inForce, leap] };
      assert.match(refusal(corrected, leap.number, past), new RegExp(`--accept-table ${corrected.id}$`));
      assert.equal(verdict(corrected, corrected.id, past), "overridden");
    });
  }

  test("An operator's number for a table that no check holds back overrides nothing", () => {
    assert.equal(verdict(next({}), "109/C/NBP/2026"), "accept");
  });
});

describe("a table that was in force and was replaced", () => {
  test("A table that was replaced never comes back, even for an operator who names it", () => {
    const past = { inForce: corrected, accepted: [leap, corrected] };
    for (const override of [undefined, leap.number, leap.id]) {
      assert.match(refusal(leap, override, past), /was in force before .* and no table comes back$/);
    }
  });

  test("A replaced table may come back after the ledger's source was changed and changed back", () => {
    const elsewhere = identified(publishedOf("001/C/NBP/2022", "2022-01-05"), "demo");
    const past = { accepted: [leap, elsewhere, inForce] };
    assert.equal(verdict(next({}), undefined, past), "accept");
    assert.equal(verdict(leap, leap.number, past), "overridden");
  });
});

describe("the choice among several tables", () => {
  const chosen = (tables: readonly RateTable[], override?: string) => {
    const { accept, heldBack } = choose(candidates(tables, inForce), precedents, override);
    return [accept?.table.number, heldBack?.table.number];
  };
  const day = tableOf("109/C/NBP/2026", "2026-06-09", usual);
  const dear = tableOf("110/C/NBP/2026", "2026-06-10", { ...usual, USD: [8, 8.16] });

  test("Of several tables, the newest that passes is chosen, and the newest that is held back is told", () => {
    assert.deepEqual(chosen([day, dear]), [day.number, dear.number]);
    assert.deepEqual(chosen([inForce, day, dear], dear.number), [dear.number, undefined]);
    assert.deepEqual(chosen([inForce]), [undefined, undefined]);
  });

  test("Of several tables, one older than the one in force is told where it is the newest, and ignored elsewhere", () => {
    const old = tableOf("107/C/NBP/2026", "2026-06-05", usual);
    assert.deepEqual(chosen([old]), [undefined, old.number]);
    assert.deepEqual(chosen([old, inForce]), [undefined, undefined]);
    assert.deepEqual(chosen([old, inForce], old.number), [undefined, undefined]);
  });
});
