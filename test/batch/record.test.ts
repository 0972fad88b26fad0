import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CsvError, parse } from "csv-parse/sync";
import fc from "fast-check";
import { recordIn } from "../../src/batch/record.ts";
import { separators } from "../../src/core/csv.ts";

/** The cells of the text as csv-parse reads them. */
function elsewhere(text: string, delimiter: string): readonly string[] | "open" | "stray" {
  try {
    const records = parse(text, { delimiter, record_delimiter: "\n", relax_column_count: true, trim: true });
    return records.length === 1 ? (records[0] as string[]) : "stray";
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return error.code === "CSV_QUOTE_NOT_CLOSED" ? "open" : "stray";
  }
}

describe("a record of CSV", () => {
  for (const separator of separators) {
    test(`A record between ${JSON.stringify(separator)} is read as csv-parse reads it`, () => {
      const piece = fc.constantFrom(
        '"',
        '"',
        '""',
        separator,
        ";",
        ",",
        " ",
        "\t",
        "a",
        "1,5",
        "zażółć",
        "'=",
      );
      // An empty text is no record.
      const text = fc
        .array(piece, { minLength: 1, maxLength: 12 })
        .map((pieces) => pieces.join(""))
        .filter((all) => all.trim() !== "")
        // csv-parse forgets a cell of nothing but quotes when another quote comes.
        .filter((all) => !/""[ \t]+"/.test(all));
      fc.assert(
        fc.property(text, (all) => assert.deepEqual(recordIn(all, separator), elsewhere(all, separator))),
        { numRuns: 5000 },
      );
    });
  }

  test("A record keeps the spaces in its quotes", () => {
    assert.deepEqual(recordIn('a,"b  c ", d ', ","), ["a", "b  c ", "d"]);
  });

  test("A record of 16 KiB of quotes is read at once", () => {
    assert.equal(recordIn(`"${'"'.repeat(16_384)}`, ","), "open");
    assert.equal(recordIn('"a"b,'.repeat(3000), ","), "stray");
  });
});
