import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addDays } from "../../src/core/date.ts";
import type { AcceptedTable, RateTable } from "../../src/core/rates.ts";
import {
  candidates,
  choose,
  effectiveOn,
  isNewer,
  judge,
  newest,
  type Precedents,
} from "../../src/rates/judge.ts";
import { demoTables } from "../../src/rates/recorded.ts";
import { tablesOf } from "../../src/rates/source.ts";
import { identified, now } from "../support/fixture.ts";
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

/** What has been in force, oldest first; those that an operator let through are marked. */
function accepted(...tables: (RateTable | { overridden: RateTable })[]): AcceptedTable[] {
  return tables.map((one, index) => {
    const { id, source, number } = "overridden" in one ? one.overridden : one;
    const overriddenBy = "overridden" in one ? "anna@desk" : undefined;
    return { epoch: index + 1, id, source, number, at: now, overriddenBy };
  });
}

const precedents: Precedents = {
  inForce,
  accepted: accepted(inForce),
  earlier: new Map(),
};

function verdict(table: RateTable, override?: string, past: Partial<Precedents> = {}) {
  const given = judge(table, { ...precedents, ...past }, override);
  return typeof given === "string" ? "held back" : given.overridden ? "overridden" : "accept";
}

function refusal(table: RateTable, override?: string, past: Partial<Precedents> = {}): string {
  const given = judge(table, { ...precedents, ...past }, override);
  return typeof given === "string" ? given : assert.fail("not held back");
}

describe("a table may come into force", () => {
  test("in all of three months, with the swings of early 2022, after the one before", () => {
    const tables = tablesOf("demo", demoTables());
    for (const [index, table] of tables.entries()) {
      const before = tables[index - 1];
      if (before === undefined) continue;
      assert.equal(verdict(table, undefined, { inForce: before, accepted: accepted(before) }), "accept");
    }
  });

  test("as the first of a ledger, whatever it says", () => {
    assert.equal(verdict(leap, undefined, { inForce: undefined, accepted: [] }), "accept");
  });

  test("when a rate moved by exactly 30 %, up or down", () => {
    assert.equal(verdict(next({ USD: [5.2, 5.304], HUF: [0.007, 0.00714] })), "accept");
  });

  test("when currencies come, and when a quarter of them goes", () => {
    assert.equal(verdict(next({ GBP: [5, 5.1], JPY: [0.03, 0.031] })), "accept");
    assert.equal(verdict(only("USD", "HUF", "EUR")), "accept");
  });
});

describe("a table is held back", () => {
  test("when it says something else under the number in force", () => {
    const changed = tableOf("108/C/NBP/2026", "2026-06-08", { ...usual, USD: [4, 4.09] });
    assert.equal(
      refusal(changed),
      "it differs from the one in force under the same number. " +
        "If the bank confirms it, let it through with fx serve --accept-table 108/C/NBP/2026",
    );
  });

  test("when it is older than the one in force", () => {
    assert.match(
      refusal(tableOf("107/C/NBP/2026", "2026-06-05", usual)),
      /^it is of 2026-06-05, older than 108\/C\/NBP\/2026 of 2026-06-08 in force\. If/,
    );
  });

  test("when a rate moved by more than 30 %, which is named", () => {
    assert.match(
      refusal(next({ USD: [5.2001, 5.304] })),
      /^a rate moved by more than 30 % against its last one \(USD bid 4 to 5.2001, ask 4.08 to 5.304\)\. If/,
    );
    assert.match(refusal(next({ HUF: [0.006999, 0.0102] })), /HUF bid 0.01 to 0.006999/);
    assert.match(refusal(next({ USD: [4, 5.305] })), /USD .* ask 4.08 to 5.305/);
  });

  for (const days of [1, 7, 8, 30, 365, 3650]) {
    test(`when a rate moved by more than 30 % in ${days} days: no age of the last table lets it through`, () => {
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

  test("when more than a quarter of the currencies is missing, which are named", () => {
    assert.equal(
      refusal(only("USD", "GBP", "JPY", "NOK")).split(". ")[0],
      "it lacks 3 of the 4 currencies of 108/C/NBP/2026 (CHF, EUR, HUF)",
    );
    assert.match(refusal(only("USD", "HUF")), /^it lacks 2 of the 4/);
  });

  test("when a currency that the table in force lacks comes back far from its last rate", () => {
    const [gbp] = tableOf("100/C/NBP/2026", "2026-05-27", { GBP: [5, 5.1] }).rates.values();
    assert.ok(gbp !== undefined);
    const earlier = new Map([[gbp.currency, gbp]]);
    assert.match(refusal(next({ GBP: [500, 510] }), undefined, { earlier }), /GBP bid 5 to 500/);
    assert.equal(verdict(next({ GBP: [5.5, 5.6] }), undefined, { earlier }), "accept");
  });

  test("when a change of source brings another price, and not for its number or date", () => {
    const elsewhere = (published: object) => identified(published, "elsewhere");
    const sameDay = publishedOf("108/C/NBP/2026", "2026-06-01", usual);
    assert.equal(verdict(elsewhere(sameDay)), "accept");
    const dear = elsewhere(publishedOf("108/C/NBP/2026", "2026-06-01", { ...usual, USD: [400, 408] }));
    assert.match(refusal(dear), /USD bid 4 to 400/);
    assert.equal(verdict(dear, dear.number), "overridden");
  });
});

describe("an operator who names a number", () => {
  test("lets through what any check holds back", () => {
    for (const table of [
      leap,
      only("USD"),
      tableOf("107/C/NBP/2026", "2026-06-05", usual),
      tableOf("108/C/NBP/2026", "2026-06-08", { ...usual, USD: [9, 9.1] }),
    ]) {
      assert.equal(verdict(table, table.number), "overridden");
      assert.equal(verdict(table, "110/C/NBP/2026"), "held back");
    }
  });

  test("lets one table through: a correction of it is held back, and its id is asked for", () => {
    const past = { inForce: leap, accepted: accepted(inForce, { overridden: leap }) };
    assert.match(refusal(corrected, leap.number, past), new RegExp(`--accept-table ${corrected.id}$`));
    assert.equal(verdict(corrected, corrected.id, past), "overridden");
  });

  test("is not needed for a table that no check holds back", () => {
    assert.equal(verdict(next({}), "109/C/NBP/2026"), "accept");
  });
});

describe("a table that was in force and was replaced", () => {
  test("never comes back, whoever names it", () => {
    const past = { inForce: corrected, accepted: accepted(leap, { overridden: corrected }) };
    for (const override of [undefined, leap.number, leap.id]) {
      assert.match(refusal(leap, override, past), /was in force before .* and no table comes back$/);
    }
  });

  test("may come back after the ledger's source was changed and changed back", () => {
    const elsewhere = identified(publishedOf("001/C/NBP/2022", "2022-01-05"), "demo");
    const past = { accepted: accepted(leap, elsewhere, inForce) };
    assert.equal(verdict(next({}), undefined, past), "accept");
    assert.equal(verdict(leap, leap.number, past), "overridden");
  });
});

describe("of several tables", () => {
  const chosen = (tables: readonly RateTable[], override?: string) => {
    const { accept, heldBack } = choose(candidates(tables, inForce), precedents, override);
    return [accept?.table.number, heldBack?.table.number];
  };
  const day = tableOf("109/C/NBP/2026", "2026-06-09", usual);
  const dear = tableOf("110/C/NBP/2026", "2026-06-10", { ...usual, USD: [8, 8.16] });

  test("the newest that the rules allow is chosen, and the newest that is held back is told", () => {
    assert.deepEqual(chosen([day, dear]), [day.number, dear.number]);
    assert.deepEqual(chosen([inForce, day, dear], dear.number), [dear.number, undefined]);
    assert.deepEqual(chosen([inForce]), [undefined, undefined]);
  });

  test("one that is older than the one in force is told where it is the newest, and ignored elsewhere", () => {
    const old = tableOf("107/C/NBP/2026", "2026-06-05", usual);
    assert.deepEqual(chosen([old]), [undefined, old.number]);
    assert.deepEqual(chosen([old, inForce]), [undefined, undefined]);
    assert.deepEqual(chosen([old, inForce], old.number), [undefined, undefined]);
  });

  test("of one day the higher number is the newer", () => {
    const second = tableOf("109/C/NBP/2026", "2026-06-08");
    assert.equal(isNewer(second, inForce), true);
    assert.equal(isNewer(inForce, second), false);
    assert.equal(isNewer(inForce, inForce), false);
  });

  test("those that take effect today or took effect before are effective", () => {
    const ahead = next({}, "2026-06-10");
    assert.deepEqual(effectiveOn("2026-06-09", [inForce, ahead]), [inForce]);
    assert.equal(newest(effectiveOn("2026-06-10", [inForce, ahead])), ahead);
    assert.equal(newest(effectiveOn("2026-06-07", [ahead])), undefined);
  });
});
