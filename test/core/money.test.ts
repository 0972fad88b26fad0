import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { pln } from "../../src/core/currency.ts";
import {
  balanceLimit,
  decimalOfMoney,
  exactNumber,
  formatMoney,
  knownDigits,
  minorUnitsOf,
  requestedMinor,
} from "../../src/core/money.ts";
import { money } from "../support/entries.ts";
import { decimal, table } from "../support/fixture.ts";

describe("gap: amounts", () => {
  test("Every balance up to the limit is exact as a JSON number, whatever its currency's digits", () => {
    const minor = fc.bigInt({ min: 0n, max: balanceLimit });
    fc.assert(
      fc.property(minor, fc.constantFrom(0, 2), (amount, digits) => {
        const json = JSON.stringify(Number(amount) / 10 ** digits);
        assert.equal(minorUnitsOf(decimal(String(JSON.parse(json))), digits), amount);
      }),
      { numRuns: 5000, examples: [[balanceLimit, 2]] },
    );
  });

  test("2^53 − 1 minor units would not be: two amounts of PLN share a double", () => {
    assert.equal(JSON.parse("90071992547409.90"), JSON.parse("90071992547409.91"));
  });

  test("An amount finer than the minor unit has no minor units", () => {
    assert.equal(minorUnitsOf(decimal("0.001"), 2), undefined);
    assert.equal(minorUnitsOf(decimal("0.5"), 0), undefined);
    assert.equal(minorUnitsOf(decimal("0.100"), 2), 10n);
    assert.equal(minorUnitsOf(decimal("7.0"), 0), 7n);
  });

  test("Money is written with all places of its currency", () => {
    assert.deepEqual(
      [999_999_999_999n, 1_000_000_000_000n, -(10n ** 15n)].map((minor) => formatMoney(money(minor))),
      ["9999999999.99 PLN", "10,000,000,000.00 PLN", "-10,000,000,000,000.00 PLN"],
    );
    assert.equal(formatMoney(money(12_345_678_901n, "JPY")), "12,345,678,901 JPY");
    const written = [money(1230n), money(0n), money(-5n), money(7n, "JPY")].map(formatMoney);
    assert.deepEqual(written, ["12.30 PLN", "0.00 PLN", "-0.05 PLN", "7 JPY"]);
  });

  test("Money as a decimal and back is the same, in every currency", () => {
    const anyMoney = fc.record({
      currency: fc.constantFrom(pln, ...table.rates.keys()),
      minor: fc.bigInt({ min: -balanceLimit, max: balanceLimit }),
    });
    fc.assert(
      fc.property(anyMoney, ({ currency, minor }) => {
        assert.equal(minorUnitsOf(decimalOfMoney({ currency, minor }), knownDigits(currency)), minor);
      }),
    );
  });

  test("An amount in a currency without a pinned minor unit is a RangeError that names it", () => {
    assert.throws(() => formatMoney(money(1n, "XAU")), {
      name: "RangeError",
      message: "XAU has no pinned minor unit",
    });
  });
});

describe("the amount of a request", () => {
  const yen = money(0n, "JPY").currency;

  test("The amount of a request is read in minor units", () => {
    assert.equal(requestedMinor(decimal("12.3"), pln), 1230n);
    assert.equal(requestedMinor(decimal("7.00"), yen), 7n);
  });

  for (const [text, currency, message] of [
    ["0", pln, "The amount must be greater than 0."],
    ["-0.01", pln, "The amount must be greater than 0."],
    ["0.001", pln, "An amount in PLN must be given with at most 2 decimals."],
    ["0.5", yen, "An amount in JPY must be given with no decimals."],
  ] as const) {
    test(`The amount of a request cannot be ${text} ${currency}`, () =>
      assert.throws(() => requestedMinor(decimal(text), currency), { code: "invalid-amount", message }));
  }

  test("An amount is the JSON number that says exactly it", () => {
    for (const text of ["0", "-12.30", "999999999999999", "9999999999999.99", "1000000000000000000000"]) {
      assert.equal(exactNumber(decimal(text)), Number(text));
    }
  });

  test("An amount that no JSON number says exactly is refused", () => {
    for (const text of [
      "90071992547409.91",
      "9007199254740993",
      "0.1234567890123456789",
      `1${"0".repeat(310)}`,
    ]) {
      assert.throws(() => exactNumber(decimal(text)), {
        code: "invalid-request",
        message: "The amount has more digits than a JSON number keeps. Give no more than 15.",
      });
    }
  });
});
