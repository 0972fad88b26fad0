import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AcceptedTable, RateTable } from "../../src/core/rates.ts";
import { isNewer, judge, newestEffective } from "../../src/rates/acceptance.ts";
import { demoTables } from "../../src/rates/recorded.ts";
import { tablesOf } from "../../src/rates/source.ts";
import { identified, now } from "../support/fixture.ts";
import { publishedOf, tableOf } from "../support/rates.ts";

const inForce = tableOf("108/C/NBP/2026", "2026-06-08", { USD: [4, 4.08], HUF: [0.01, 0.0102] });
const next = (rates: Record<string, readonly [number, number]>, effectiveDate = "2026-06-09") =>
  tableOf("109/C/NBP/2026", effectiveDate, rates);
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

/** The verdict after `past`, of which the last is in force. */
function verdict(table: RateTable, override?: string, past = accepted(inForce), current = inForce) {
  return judge(table, { inForce: current, accepted: past }, override);
}

function refusal(...args: Parameters<typeof verdict>): string {
  const given = verdict(...args);
  return typeof given === "string" ? assert.fail(`not refused but ${given}`) : given.refusal;
}

describe("a table may come into force", () => {
  test("in all of three months, with the swings of early 2022, after the one before", () => {
    const tables = tablesOf("demo", demoTables());
    for (const [index, table] of tables.entries()) {
      const before = tables[index - 1];
      if (before !== undefined) assert.equal(verdict(table, undefined, accepted(before), before), "accept");
    }
  });

  test("unless it is the one already", () => {
    assert.equal(verdict(inForce), "in force");
  });

  test("when a rate moved by exactly 30 %, up or down", () => {
    assert.equal(verdict(next({ USD: [5.2, 5.304], HUF: [0.007, 0.00714] })), "accept");
  });

  test("when a rate moved further in more than a week", () => {
    assert.notEqual(verdict(next({ USD: [8, 8.16] }, "2026-06-15")), "accept");
    assert.equal(verdict(next({ USD: [8, 8.16] }, "2026-06-16")), "accept");
  });

  test("when a currency comes or goes", () => {
    assert.equal(verdict(next({ USD: [4, 4.08], EUR: [4.2, 4.3] })), "accept");
  });
});

describe("a table is held back", () => {
  test("when it says something else under the number in force", () => {
    const changed = tableOf("108/C/NBP/2026", "2026-06-08", { USD: [4, 4.09], HUF: [0.01, 0.0102] });
    assert.equal(
      refusal(changed),
      "it differs from the one in force under the same number. " +
        "If the bank confirms it, start fx serve with --accept-table 108/C/NBP/2026",
    );
  });

  test("when it is older than the one in force", () => {
    assert.match(
      refusal(tableOf("107/C/NBP/2026", "2026-06-05")),
      /^it is of 2026-06-05, older than 108\/C\/NBP\/2026 of 2026-06-08 in force\. If/,
    );
  });

  test("when a rate moved by more than 30 %, which is named", () => {
    assert.match(
      refusal(next({ USD: [5.2001, 5.304], HUF: [0.01, 0.0102] })),
      /^against 108\/C\/NBP\/2026 a rate moved by more than 30 % \(USD bid 4 to 5.2001, ask 4.08 to 5.304\)\. If/,
    );
    assert.match(refusal(next({ HUF: [0.006999, 0.0102] })), /HUF bid 0.01 to 0.006999/);
    assert.match(refusal(next({ USD: [4, 5.305] })), /USD .* ask 4.08 to 5.305/);
  });
});

describe("an operator who names a number", () => {
  test("lets through what any check holds back", () => {
    for (const table of [
      leap,
      tableOf("107/C/NBP/2026", "2026-06-05"),
      tableOf("108/C/NBP/2026", "2026-06-08", { USD: [9, 9.1] }),
    ]) {
      assert.equal(verdict(table, table.number), "overridden");
      assert.notEqual(verdict(table, "110/C/NBP/2026"), "overridden");
    }
  });

  test("lets one table through: a correction of it is held back, and its id is asked for", () => {
    const past = accepted(inForce, { overridden: leap });
    assert.match(refusal(corrected, leap.number, past, leap), new RegExp(`--accept-table ${corrected.id}$`));
    assert.equal(verdict(corrected, corrected.id, past, leap), "overridden");
  });

  test("is not needed for a table that no check holds back", () => {
    assert.equal(verdict(next({ USD: [4, 4.08] }), "109/C/NBP/2026"), "accept");
  });
});

describe("a table that was in force and was replaced", () => {
  const past = accepted(leap, { overridden: corrected });

  test("never comes back, whoever names it", () => {
    for (const override of [undefined, leap.number, leap.id]) {
      assert.match(
        refusal(leap, override, past, corrected),
        /was in force before .* and no table comes back$/,
      );
    }
  });

  test("may come back after the ledger's source was changed and changed back", () => {
    const elsewhere = identified(publishedOf("001/C/NBP/2022", "2022-01-05"), "demo");
    const again = accepted(leap, elsewhere, inForce);
    assert.equal(verdict(next({ USD: [4, 4.08] }), undefined, again), "accept");
    assert.equal(verdict(leap, leap.number, again), "overridden");
  });
});

test("of two tables of one day the higher number is the newer", () => {
  const second = tableOf("109/C/NBP/2026", "2026-06-08");
  assert.equal(isNewer(second, inForce), true);
  assert.equal(isNewer(inForce, second), false);
  assert.equal(isNewer(inForce, inForce), false);
});

test("the newest effective table is the newest that takes effect today or took effect before", () => {
  const ahead = next({ USD: [4, 4.08] }, "2026-06-10");
  assert.equal(newestEffective([inForce, ahead], "2026-06-09"), inForce);
  assert.equal(newestEffective([inForce, ahead], "2026-06-10"), ahead);
  assert.equal(newestEffective([ahead], "2026-06-09"), undefined);
});
