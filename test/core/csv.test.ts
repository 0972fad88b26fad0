import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { csvCell, separators, textOfCell } from "../../src/core/csv.ts";

const anyText = fc.string({
  unit: fc.constantFrom("=", "+", "-", "@", "\uff1d", "'", '"', ";", ",", "\t", "\r", "\n", " ", "a", "1"),
});

for (const [text, cell] of [
  ["Jan", "Jan"],
  ["=cmd|'/C calc'!A0", "'=cmd|'/C calc'!A0"],
  ["+1", "'+1"],
  ["-1", "-1"],
  ["-2175.86", "-2175.86"],
  ["-2175,86", '"-2175,86"'],
  ["-1+1", "'-1+1"],
  ["@SUM(A1)", "'@SUM(A1)"],
  ["\t=1", "'\t'=1"],
  ["\rx", '"\'\rx"'],
  ["\uff1d1", "'\uff1d1"],
  ["a=1", "a=1"],
  ["O'Brien", "O'Brien"],
  ["'=1", "''=1"],
  ["a;=1", "a;'=1"],
  ["a,=1", '"a,=1"'],
  ['"=1', '"""=1"'],
] as const) {
  test(`The CSV cell of ${JSON.stringify(text)} is ${JSON.stringify(cell)}`, () =>
    assert.equal(csvCell(text), cell));
}

for (const own of separators) {
  const name = JSON.stringify(own);
  test(`A CSV cell is read back as it was, with the separator ${name}`, () => {
    fc.assert(
      fc.property(fc.array(anyText, { minLength: 2, maxLength: 4 }), (texts) => {
        const line = texts.map((text) => csvCell(text, own)).join(own);
        const [cells = []] = parse(line, { delimiter: own, record_delimiter: ["\u0000"] }) as string[][];
        assert.deepEqual(
          cells.map((cell) => textOfCell(cell, own)),
          texts,
        );
      }),
      { numRuns: 2000 },
    );
  });

  test(`A CSV cell is no formula for a spreadsheet that splits at any separator, written with ${name}`, () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const cell = csvCell(text, own);
        const quoted = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
        const others = separators.filter((separator) => separator !== own).join("");
        const seen = [quoted, ...quoted.split(new RegExp(`[${others}\\r\\n]`)).slice(1)];
        const parts = seen.filter((part) => !/^-\d+([.,]\d+)?$/.test(part));
        for (const part of parts) assert.doesNotMatch(part, /^[=+\-@\uff1d]/);
        assert.doesNotMatch(seen[0] ?? "", /^[\t\r\n]/);
      }),
      { numRuns: 2000 },
    );
  });
}
