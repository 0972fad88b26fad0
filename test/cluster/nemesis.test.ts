import assert from "node:assert/strict";
import { test } from "node:test";
import { faults } from "./faults.ts";
import { plan, type Step } from "./nemesis.ts";

/** As many as an hour or two have. */
const steps = 400;

function planned(seed: number): Step[] {
  const all = plan(seed, faults);
  return Array.from({ length: steps }, () => all.next().value as Step);
}

test("a seed repeats its faults, and another has others", () => {
  assert.deepEqual(planned(7), planned(7));
  assert.notDeepEqual(planned(7), planned(8));
});

test("every fault comes", () => {
  const done = new Set(planned(1).flatMap((step) => step.faults));
  assert.deepEqual([...done].sort(), Object.keys(faults).sort());
});

test("two faults at once never take from the same part of the cluster", () => {
  const pairs = planned(2).filter((step) => step.faults.length === 2);
  assert.ok(pairs.length > steps / 4);
  for (const { faults: pair } of pairs) {
    const taken = pair.flatMap((name) => faults[name]?.takes ?? []);
    assert.equal(new Set(taken).size, taken.length, pair.join(" and "));
  }
});

test("of 16 faults at least 10 change the primary, and 3 of them by a kill", () => {
  for (let seed = 1; seed <= 100; seed += 1) {
    const changes = planned(seed)
      .slice(0, 16)
      .map((step) => faults[step.faults[0] as string]?.changesPrimary)
      .filter((how) => how !== undefined);
    assert.ok(changes.length >= 10, `seed ${seed}: ${changes.length}`);
    assert.ok(changes.filter((how) => how === "by kill").length >= 3, `seed ${seed}: ${changes}`);
  }
});
