import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { compareCurrencies, minorUnitDigits, parseCurrencyCode } from "../../src/core/currency.ts";
import { balanceLimit, formatDecimal, minorUnitsOf, parseDecimal } from "../../src/core/money.ts";
import { decimal } from "../support/fixture.ts";

describe("gap: minor units", () => {
  test("JPY has none", () => assert.equal(minorUnitDigits(parseCurrencyCode("JPY")), 0));
  test("HUF has two, whatever this Node's Intl says", () =>
    assert.equal(minorUnitDigits(parseCurrencyCode("HUF")), 2));
  test("XDR is kept to two", () => assert.equal(minorUnitDigits(parseCurrencyCode("XDR")), 2));
  test("a currency that is not pinned has none to guess", () =>
    assert.equal(minorUnitDigits(parseCurrencyCode("XAU")), undefined));
});

describe("gap: currency symbols", () => {
  test("any case is read as upper case", () => assert.equal(parseCurrencyCode("uSd"), "USD"));
  test("a letter that upper-cases into ASCII is not taken for one", () => {
    assert.notEqual(parseCurrencyCode("uſd"), "USD");
    assert.notEqual(parseCurrencyCode("ıdr"), "IDR");
  });
  test("PLN comes first, then the symbols in order", () => {
    const codes = ["USD", "AUD", "PLN", "JPY"].map(parseCurrencyCode);
    assert.deepEqual(codes.sort(compareCurrencies), ["PLN", "AUD", "JPY", "USD"]);
  });
});

describe("gap: amounts", () => {
  test("every balance up to the limit is exact as a JSON number, whatever its currency's digits", () => {
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

  test("decimal text is read exactly, in plain and in JavaScript's exponent form", () => {
    assert.deepEqual(parseDecimal("12.30"), { coefficient: 1230n, scale: 2 });
    assert.deepEqual(parseDecimal("1e+21"), { coefficient: 10n ** 21n, scale: 0 });
    assert.deepEqual(parseDecimal("1.5e-7"), { coefficient: 15n, scale: 8 });
    assert.deepEqual(parseDecimal("-0.5"), { coefficient: -5n, scale: 1 });
  });

  for (const text of [
    "",
    ".",
    "1.",
    ".5",
    "1,5",
    "0x10",
    "1e",
    "NaN",
    "Infinity",
    "１",
    " 1",
    "1_000",
    "1e9999",
  ]) {
    test(`${JSON.stringify(text)} is no decimal`, () => assert.equal(parseDecimal(text), undefined));
  }

  test("an amount finer than the minor unit has no minor units", () => {
    assert.equal(minorUnitsOf(decimal("0.001"), 2), undefined);
    assert.equal(minorUnitsOf(decimal("0.5"), 0), undefined);
    assert.equal(minorUnitsOf(decimal("0.100"), 2), 10n);
    assert.equal(minorUnitsOf(decimal("7.0"), 0), 7n);
  });

  test("text to decimal and back is the same number", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.nat(20), (coefficient, scale) => {
        const back = decimal(formatDecimal({ coefficient, scale }));
        assert.equal(back.coefficient * 10n ** BigInt(scale), coefficient * 10n ** BigInt(back.scale));
      }),
    );
  });

  test("formatting pads to the places asked for", () => {
    assert.equal(formatDecimal(decimal("3.7"), 4), "3.7000");
    assert.equal(formatDecimal(decimal("-0.05"), 2), "-0.05");
    assert.equal(formatDecimal(decimal("0.012031"), 4), "0.012031");
  });
});
