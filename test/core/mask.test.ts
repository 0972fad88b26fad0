import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { maskPesels } from "../../src/core/mask.ts";

const digits = (min: number, max: number) =>
  fc.stringMatching(new RegExp(`^\\d{${min},${max}}$`), { maxLength: max });

describe("masking", () => {
  test("hides the last five digits of every PESEL in a text", () => {
    assert.equal(maskPesels("from 44051401359 to 02070803628."), "from 440514***** to 020708*****.");
  });

  test("leaves six digits of a run of 11 or more, and none of those after them", () => {
    fc.assert(
      fc.property(digits(11, 40), (run) => assert.equal(maskPesels(`a${run}b`), `a${run.slice(0, 6)}*****b`)),
    );
  });

  test("leaves a shorter run of digits as it is", () => {
    fc.assert(fc.property(digits(1, 10), (run) => assert.equal(maskPesels(run), run)));
  });

  for (const amount of ["9999999999999.99 PLN", "44051401359.5", "999999999999999 JPY", "44051401359 PLN."]) {
    test(`leaves the amount in "up to ${amount}" as it is`, () => {
      assert.equal(maskPesels(`up to ${amount}`), `up to ${amount}`);
    });
  }

  for (const rest of [
    ".",
    ". Then",
    ".x",
    ",5",
    "PLN",
    " PLNX",
    " PL",
    " pln",
    " Jan",
    "-PLN",
    " 1PLN",
    "  PLN",
  ]) {
    test(`takes 44051401359 for no amount with ${JSON.stringify(rest)} after it`, () => {
      assert.equal(maskPesels(`44051401359${rest}`), `440514*****${rest}`);
    });
  }
});
