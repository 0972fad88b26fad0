import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  compareDecimals,
  type Decimal,
  formatDecimal,
  parseDecimal,
  powerOfTen,
  requireDecimal,
} from "../../src/core/decimal.ts";
import { decimal } from "../support/fixture.ts";

const anyDecimal: fc.Arbitrary<Decimal> = fc.record({
  coefficient: fc.oneof(
    fc.bigInt({ min: -1000n, max: 1000n }),
    fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
  ),
  scale: fc.nat(12),
});

const forms: [text: string, plain: string][] = [
  ["+5", "5"],
  ["-0", "0"],
  ["007.50", "7.5"],
  ["1e2", "100"],
  ["1E2", "100"],
  ["1e+02", "100"],
  ["12.5e1", "125"],
  ["125e-1", "12.5"],
  ["-1.25e3", "-1250"],
];
for (const [text, plain] of forms) {
  test(`The decimal ${text} is read as ${plain}`, () => assert.equal(formatDecimal(decimal(text)), plain));
}

test("The text of any JavaScript number is read as the same value", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
      assert.equal(Number(formatDecimal(decimal(String(number)))), number === 0 ? 0 : number);
    }),
  );
});

test("A decimal has at most 400 digits before and after the point, and 3 in the exponent", () => {
  const digits = (count: number) => "7".repeat(count);
  assert.equal(parseDecimal(digits(400))?.coefficient, BigInt(digits(400)));
  assert.equal(parseDecimal(`1.${digits(400)}`)?.scale, 400);
  assert.equal(parseDecimal("1e-999")?.scale, 999);
  for (const text of [digits(401), `1.${digits(401)}`, "1e1000"]) assert.equal(parseDecimal(text), undefined);
});

for (const text of [
  ...["x1", "1x", "1.2.3", "--1", "1e+-2", "1ee2", "1e2x", "1\n"],
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
  test(`${JSON.stringify(text)} is not a decimal`, () => assert.equal(parseDecimal(text), undefined));
}

test("requireDecimal throws on other text, and quotes it", () => {
  assert.deepEqual(requireDecimal("1.5"), { coefficient: 15n, scale: 1 });
  assert.throws(() => requireDecimal('a"b'), { name: "RangeError", message: '"a\\"b" is not a decimal' });
});

test("A decimal is written as the shortest text with at least the given number of places", () => {
  fc.assert(
    fc.property(anyDecimal, fc.nat(14), (one, places) => {
      const text = formatDecimal(one, places);
      const [, fraction = ""] = text.split(".");
      assert.match(text, /^-?(0|[1-9]\d*)(\.\d+)?$/);
      assert.ok(fraction.length === places || (fraction.length > places && !fraction.endsWith("0")), text);
      assert.equal(compareDecimals(decimal(text), one), 0);
    }),
  );
});

test("A decimal written and read back is the same number", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.nat(20), (coefficient, scale) => {
      const back = decimal(formatDecimal({ coefficient, scale }));
      assert.equal(back.coefficient * 10n ** BigInt(scale), coefficient * 10n ** BigInt(back.scale));
    }),
  );
});

test("A number between -1 and 1 has a 0 before the point", () => {
  assert.equal(formatDecimal({ coefficient: 5n, scale: 3 }), "0.005");
  assert.equal(formatDecimal({ coefficient: -5n, scale: 1 }), "-0.5");
});

test("Decimals compare as their values, at any scales", () => {
  const small = fc.record({ coefficient: fc.bigInt({ min: -50n, max: 50n }), scale: fc.nat(2) });
  const inHundredths = ({ coefficient, scale }: Decimal) => Number(coefficient) * 10 ** (2 - scale);
  fc.assert(
    fc.property(small, small, (a, b) => {
      assert.equal(compareDecimals(a, b), Math.sign(inHundredths(a) - inHundredths(b)));
    }),
  );
});

test("A power of ten is a 1 and as many zeros", () => {
  for (const exponent of [0, 1, 2, 31, 32, 33, 999]) {
    assert.equal(powerOfTen(exponent), BigInt(`1${"0".repeat(exponent)}`));
  }
});
