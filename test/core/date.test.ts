import assert from "node:assert/strict";
import { test } from "node:test";
import { addDays, dateExists, startOfDay, warsawDate } from "../../src/core/date.ts";

test("The day changes at Warsaw's midnight, in summer and in winter", () => {
  assert.equal(warsawDate(new Date("2026-06-08T21:59:59.999Z")), "2026-06-08");
  assert.equal(warsawDate(new Date("2026-06-08T22:00:00Z")), "2026-06-09");
  assert.equal(warsawDate(new Date("2026-12-31T22:59:59.999Z")), "2026-12-31");
  assert.equal(warsawDate(new Date("2026-12-31T23:00:00Z")), "2027-01-01");
});

test("A day begins at Warsaw's midnight, in summer, in winter, and when the clock changes", () => {
  const beginnings = {
    "2026-06-08": "2026-06-07T22:00",
    "2026-12-31": "2026-12-30T23:00",
    "2026-03-29": "2026-03-28T23:00",
    "2026-03-30": "2026-03-29T22:00",
    "2026-10-25": "2026-10-24T22:00",
    "2026-10-26": "2026-10-25T23:00",
  };
  for (const [date, beginning] of Object.entries(beginnings)) {
    assert.equal(startOfDay(date).toISOString(), `${beginning}:00.000Z`);
  }
});

test("Days are added on the calendar, over changes of the clock and leap days", () => {
  assert.equal(addDays("2026-03-28", 2), "2026-03-30");
  assert.equal(addDays("2026-10-26", -2), "2026-10-24");
  assert.equal(addDays("2028-02-28", 1), "2028-02-29");
  assert.equal(addDays("2026-12-31", 1), "2027-01-01");
});

test("Two times of one minute have the same day, and a time after midnight has the next", () => {
  const last = new Date("2026-06-08T21:59:30Z");
  assert.deepEqual([last, last, new Date("2026-06-08T22:00:30Z")].map(warsawDate), [
    "2026-06-08",
    "2026-06-08",
    "2026-06-09",
  ]);
});

for (const date of ["2026-01-31", "2026-12-31", "2028-02-29", "2000-02-29", "1800-01-01", "2299-12-31"]) {
  test(`The date ${date} exists`, () => assert.equal(dateExists(date), true));
}
for (const date of [
  "2026-02-29",
  "1900-02-29",
  "2026-04-31",
  "2026-00-10",
  "2026-13-01",
  "2026-01-00",
  "2026-01-32",
]) {
  test(`The date ${date} does not exist`, () => assert.equal(dateExists(date), false));
}
