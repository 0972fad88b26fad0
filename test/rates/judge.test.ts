import assert from "node:assert/strict";
import { test } from "node:test";
import { candidates, choose } from "../../src/rates/judge.ts";
import { demoTables } from "../../src/rates/recorded.ts";
import { tablesOf } from "../../src/rates/source.ts";

// The checks that hold a table back are in cases.txt.
test("Every table of early 2022, with its swings, may follow the one before it", () => {
  const tables = tablesOf("demo", demoTables());
  for (const [index, table] of tables.entries()) {
    const before = tables[index - 1];
    if (before === undefined) continue;
    const precedents = { inForce: before, accepted: [before], past: [before] };
    const { accept, heldBack } = choose(candidates([before, table], before), precedents, undefined);
    assert.deepEqual([accept?.table.id, accept?.overridden, heldBack], [table.id, false, undefined]);
  }
});
