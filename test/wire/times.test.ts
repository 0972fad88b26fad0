import assert from "node:assert/strict";
import { test } from "node:test";
import { isDate } from "../../src/core/date.ts";
import { parseTime } from "../../src/wire/times.ts";

test("a time is read with its offset, to the millisecond", () => {
  for (const [text, time] of [
    ["2026-06-08T14:00:00+02:00", "2026-06-08T12:00:00.000Z"],
    ["2026-06-08T12:00:00Z", "2026-06-08T12:00:00.000Z"],
    ["2026-06-08t12:00:00z", "2026-06-08T12:00:00.000Z"],
    ["2026-06-08T12:00:00.1239Z", "2026-06-08T12:00:00.123Z"],
    ["2026-06-08T00:30:00-03:30", "2026-06-08T04:00:00.000Z"],
  ] as const) {
    assert.equal(parseTime(text)?.toISOString(), time);
  }
  for (const text of [
    "2026-06-08",
    "2026-06-08T12:00:00",
    "2026-06-08T12:00Z",
    "2026-02-29T12:00:00Z",
    "2026-06-08T24:00:00Z",
    "2026-06-08T12:00:60Z",
    "2026-06-08T12:00:00+24:00",
    "26-06-08T12:00:00Z",
    " 2026-06-08T12:00:00Z",
  ]) {
    assert.equal(parseTime(text), undefined, text);
  }
});

test("a date is read if it exists, of the years 1 to 9999", () => {
  for (const text of ["0001-01-01", "2028-02-29", "9999-12-31"]) assert.ok(isDate(text), text);
  for (const text of ["2026-02-29", "0000-12-31", "10000-01-01", "2026-6-8", "2026-06-08T"]) {
    assert.ok(!isDate(text), text);
  }
});
