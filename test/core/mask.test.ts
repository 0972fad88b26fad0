import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parseCurrencyCode, pln } from "../../src/core/currency.ts";
import { describeError, maskPesels } from "../../src/core/mask.ts";
import { formatMoney } from "../../src/core/money.ts";
import { adult } from "../support/fixture.ts";

const digits = (min: number, max: number) =>
  fc.stringMatching(new RegExp(`^\\d{${min},${max}}$`), { maxLength: max });

test("Masking hides the last five digits of every PESEL in a text", () => {
  assert.equal(maskPesels("from 44051401359 to 02070803628."), "from 440514***** to 020708*****.");
});

test("Masking leaves six digits of a run of 11 or more, and none of those after them", () => {
  fc.assert(
    fc.property(digits(11, 40), (run) => assert.equal(maskPesels(`x${run}y`), `x${run.slice(0, 6)}*****y`)),
  );
});

test("Masking leaves a shorter run of digits as it is", () => {
  fc.assert(fc.property(digits(1, 10), (run) => assert.equal(maskPesels(run), run)));
});

test("Masking hides a PESEL whatever stands beside it", () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 0, max: 63_000_000 }), fc.string(), (before, index, after) => {
      assert.equal(maskPesels(`${before}${adult(index)}${after}`).includes(adult(index)), false);
    }),
  );
  for (const text of ["44051401359 PLN", "44051401359.00", "1.44051401359", "id-44051401359a"]) {
    assert.doesNotMatch(maskPesels(text), /4405140/);
  }
});

test("Masking leaves every amount as it is", () => {
  const minor = fc.oneof(fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }), fc.bigInt());
  fc.assert(
    fc.property(minor, fc.constantFrom(pln, parseCurrencyCode("JPY")), (minor, currency) => {
      const amount = formatMoney({ currency, minor });
      assert.equal(maskPesels(amount), amount);
    }),
  );
});

test("Masking leaves an id of 32 hexadecimal digits as it is, but not 32 digits", () => {
  const id = "e59b49442f2a95322549366e5824b365";
  assert.equal(maskPesels(`run it with --id ${id}.`), `run it with --id ${id}.`);
  assert.equal(maskPesels("1".repeat(32)), "111111*****");
});

test("Masking leaves the id of a receipt as it is", () => {
  const told = "This was reversed before: receipt 01a2031d-6efe-776e-aa78-b50000000003.";
  assert.equal(maskPesels(told), told);
  assert.equal(
    maskPesels("receipts/01a2031d-6efe-776e-aa78-44051401359"),
    "receipts/01a2031d-6efe-776e-aa78-440514*****",
  );
});

test("A token is hidden, wherever it stands", () => {
  assert.equal(maskPesels("Bearer fxt_0aZ9Qq12345678901x, and"), "Bearer fxt_*****, and");
});

describe("an unexpected error is described", () => {
  const described = (error: Error) => JSON.stringify(describeError(error));

  test("An unexpected error is described by its kind, its message, where it was thrown, and its causes", () => {
    const { type, message, stack } = describeError(
      new TypeError("x is not a function", { cause: new RangeError("too deep") }),
    );
    assert.deepEqual([type, message], ["TypeError", "x is not a function"]);
    assert.match(
      stack,
      /^TypeError: x is not a function\n {4}at [\s\S]*\ncaused by: RangeError: too deep\n {4}at /,
    );
  });

  test("An unexpected error is described without what could not be parsed", () => {
    for (const parse of [() => JSON.parse('{"name":"Anna" "x"}'), () => BigInt("Anna 12.50")]) {
      try {
        parse();
        assert.fail("not thrown");
      } catch (error) {
        assert.doesNotMatch(described(error as Error), /Anna|12\.50/);
        assert.match(described(error as Error), /SyntaxError.*mask\.test\.ts/);
      }
    }
  });

  test("An unexpected error is described without what its message quotes, but a column's name", () => {
    const quoted = new Error('column "pesel" is not "Anna "Maria" Nowak" in "name"');
    assert.equal(describeError(quoted).message, 'column "pesel" is not "…"');
    assert.doesNotMatch(described(quoted), /Anna/);
  });

  test("An unexpected error is described without its other properties and without PESELs", () => {
    const error = Object.assign(new Error(`of ${adult()}`), { detail: "Anna", parameters: ["Nowak"] });
    const text = described(new Error("outer", { cause: error }));
    assert.doesNotMatch(text, new RegExp(`Anna|Nowak|${adult()}`));
  });
});
