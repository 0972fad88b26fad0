import assert from "node:assert/strict";
import { test } from "node:test";
import { Histogram } from "../../src/core/histogram.ts";

test("a histogram counts each value under the first bound that it is not above", () => {
  const histogram = new Histogram([1, 10]);
  for (const value of [0, 1, 1.5, 10, 11]) histogram.observe(value);
  const { counts, count, sum } = histogram;
  assert.deepEqual({ counts, count, sum }, { counts: [2, 2], count: 5, sum: 23.5 });
});
