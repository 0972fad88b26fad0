import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { birthDate, isAdult, type Pesel, parsePesel } from "../../src/core/pesel.ts";
import { peselOf, today } from "../support/fixture.ts";

function refuses(text: string, reason: RegExp, on = today) {
  assert.throws(() => parsePesel(text, on), { code: "invalid-pesel", message: reason });
}

describe("gap: PESEL", () => {
  for (const [digits, date] of [
    ["0081010000", "1800-01-01"],
    ["9992310000", "1899-12-31"],
    ["4405140135", "1944-05-14"],
    ["0021010000", "2000-01-01"],
    ["0041010000", "2100-01-01"],
    ["9972310000", "2299-12-31"],
  ] as const) {
    test(`A PESEL of month ${digits.slice(2, 4)} of year ${digits.slice(0, 2)} is a birth on ${date}`, () => {
      assert.equal(birthDate(parsePesel(peselOf(digits), "2300-01-01")), date);
    });
  }

  test("A PESEL with a check digit of 0 is accepted", () => {
    const digits = ["7001010000", "7001010001", "7001010002", "7001010003", "7001010004"].concat([
      "7001010005",
      "7001010006",
      "7001010007",
      "7001010008",
      "7001010009",
    ]);
    const zero = digits.map(peselOf).find((pesel) => pesel.endsWith("0"));
    assert.equal(parsePesel(zero ?? "", today), zero);
  });

  test("A PESEL with another check digit than the right one is refused", () => {
    for (let digit = 0; digit <= 9; digit += 1) {
      if (digit !== 9) refuses(`4405140135${digit}`, /check digit/);
    }
    assert.equal(parsePesel("44051401359", today), "44051401359");
  });

  test("One mistyped digit of a PESEL is always found", () => {
    fc.assert(
      fc.property(fc.nat(10), fc.integer({ min: 1, max: 9 }), (place, step) => {
        const digits = [..."44051401359"].map(Number);
        digits[place] = ((digits[place] ?? 0) + step) % 10;
        assert.throws(() => parsePesel(digits.join(""), today), { code: "invalid-pesel" });
      }),
    );
  });

  for (const [written, reason] of [
    ["4405140135", /a leading zero is missing/],
    ["210100000", /has 9; if a spreadsheet took it for a number, a leading zero is missing/],
    ["4,40514E+10", /a spreadsheet turned it into a number; format the column as text/],
    ["4.40514e10", /a spreadsheet turned it into a number/],
  ] as const) {
    test(`The PESEL ${written}, as a spreadsheet writes it, is refused for that`, () =>
      refuses(written, reason));
  }

  test("A PESEL of 31 April is refused", () => refuses(peselOf("7004310000"), /does not exist/));
  test("A PESEL of 29 February of a common year is refused", () =>
    refuses(peselOf("7102290000"), /does not exist/));
  test("A PESEL of 29 February 1900 is refused, for 1900 was no leap year", () =>
    refuses(peselOf("0002290000"), /does not exist/));
  test("A PESEL of 29 February 2000 is accepted", () => {
    assert.equal(birthDate(parsePesel(peselOf("0022290000"), today)), "2000-02-29");
  });
  test("A PESEL of month 13 is refused", () => refuses(peselOf("7013010000"), /does not exist/));
  test("A PESEL of month 0 is refused", () => refuses(peselOf("7000010000"), /does not exist/));
  test("A PESEL of day 0 is refused", () => refuses(peselOf("7001000000"), /does not exist/));
  test("A PESEL of a birth tomorrow is refused", () => refuses(peselOf("2626090000"), /future/));
  test("A PESEL of a birth today is accepted", () => {
    assert.equal(birthDate(parsePesel(peselOf("2626080000"), today)), today);
  });

  for (const [what, text] of [
    ["a letter", "4405140135a"],
    ["full-width digits", "４４０５１４０１３５９"],
    ["Arabic-Indic digits", "٤٤٠٥١٤٠١٣٥٩"],
    ["ten digits", "4405140135"],
    ["twelve digits", "440514013599"],
    ["no digits", ""],
    ["a trailing newline", "44051401359\n"],
    ["a leading space", " 44051401359"],
    ["a sign", "-4405140135"],
  ] as const) {
    test(`A PESEL with ${what} is refused`, () => refuses(text, /11 digits/));
  }

  test("The refusal of a PESEL never repeats it", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\d{11}$/), (text) => {
        try {
          parsePesel(text, today);
        } catch (error) {
          assert.doesNotMatch(String(error), /\d{3}/);
        }
      }),
    );
  });
});

describe("gap: adult", () => {
  const born = (digits: string) => peselOf(digits) as Pesel;

  test("Whoever turns 18 today is an adult, from the start of the day", () => {
    assert.equal(isAdult(born("0826080000"), "2026-06-08"), true);
  });
  test("Whoever turns 18 tomorrow is no adult", () => {
    assert.equal(isAdult(born("0826090000"), "2026-06-08"), false);
  });
  test("Whoever was born on 29 February is an adult from 28 February of the 18th year", () => {
    assert.equal(isAdult(born("0822290000"), "2026-02-27"), false);
    assert.equal(isAdult(born("0822290000"), "2026-02-28"), true);
  });
  test("Whoever was born on 28 February is an adult on that day, too", () => {
    assert.equal(isAdult(born("0822280000"), "2026-02-27"), false);
    assert.equal(isAdult(born("0822280000"), "2026-02-28"), true);
  });
  test("Whoever was born in 1800 is an adult", () => assert.equal(isAdult(born("0081010000"), today), true));
});
