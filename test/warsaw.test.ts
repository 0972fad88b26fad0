import assert from "node:assert/strict";
import { test } from "node:test";
import { addDays, warsawDate } from "../src/warsaw.ts";

test("the day changes at Warsaw's midnight, in summer and in winter", () => {
  assert.equal(warsawDate(new Date("2026-06-08T21:59:59.999Z")), "2026-06-08");
  assert.equal(warsawDate(new Date("2026-06-08T22:00:00Z")), "2026-06-09");
  assert.equal(warsawDate(new Date("2026-12-31T22:59:59.999Z")), "2026-12-31");
  assert.equal(warsawDate(new Date("2026-12-31T23:00:00Z")), "2027-01-01");
});

test("days are added on the calendar, over changes of the clock and leap days", () => {
  assert.equal(addDays("2026-03-28", 2), "2026-03-30");
  assert.equal(addDays("2026-10-26", -2), "2026-10-24");
  assert.equal(addDays("2028-02-28", 1), "2028-02-29");
  assert.equal(addDays("2026-12-31", 1), "2027-01-01");
});
