import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readFile } from "../../src/batch/file.ts";
import { separators } from "../../src/core/csv.ts";
import { adult } from "../support/fixture.ts";

/** Invisible characters that programs leave at the ends of cells. */
const unseen = {
  ...{ space: " ", "no-break space": "\u00a0", "narrow no-break space": "\u202f", "figure space": "\u2007" },
  ...{ "thin space": "\u2009", "em space": "\u2003", "ideographic space": "\u3000", "ogham space": "\u1680" },
  ...{ "next line": "\u0085", "line separator": "\u2028", "paragraph separator": "\u2029", tab: "\t" },
  ...{ "byte-order mark": "\ufeff", "zero-width space": "\u200b", "zero-width joiner": "\u200d" },
  ...{ "zero-width non-joiner": "\u200c", "word joiner": "\u2060", "soft hyphen": "\u00ad" },
  ...{
    "left-to-right mark": "\u200e",
    "right-to-left embedding": "\u202b",
    "Mongolian vowel separator": "\u180e",
  },
};

function bodyOf(text: string): unknown {
  const [read] = readFile(new TextEncoder().encode(`${text}\n`)).lines();
  return read?.fault?.message ?? { ...(read?.body as object), key: read?.key, ...read?.extra };
}

describe("what cannot be seen at the ends of a cell", () => {
  const cells = [adult(), "PLN", "USD", "12.50", "k1", "uwaga"];
  const asked = { pesel: cells[0], from: "PLN", to: "USD", toBuy: 12.5, key: "k1", uwagi: "uwaga" };
  const columns = ["pesel", "from", "to", "toBuy", "key", "uwagi"];

  for (const [name, mark] of Object.entries(unseen)) {
    test(`An invisible character at the ends of a cell is no part of it: ${name}, in quotes, around quotes and without any, between all separators`, () => {
      for (const separator of separators.filter((each) => each !== mark)) {
        for (const way of [
          (cell: string) => `${mark}${cell}${mark}`,
          (cell: string) => `"${mark}${cell}${mark}${mark}"`,
          (cell: string) => `${mark}"${cell}"${mark}`,
          (cell: string) => `${mark}"${mark} ${cell} ${mark}"${mark}`,
        ]) {
          const text = [columns, cells.map(way)].map((row) => row.join(separator)).join("\n");
          assert.deepEqual(bodyOf(text), asked, JSON.stringify(text));
        }
      }
    });

    test(`An invisible character at the ends of a cell is no part of a value in JSON: ${name}`, () => {
      const line = JSON.stringify({
        ...asked,
        pesel: `${mark}${asked.pesel}${mark}`,
        from: `PLN${mark}`,
        key: `${mark}k1`,
      });
      assert.deepEqual(bodyOf(`${mark}${line}${mark}`), asked);
    });

    test(`An invisible character at the ends of a cell is no row and no line by itself: ${name}`, () => {
      for (const separator of separators) {
        const row = [...cells, ""].join(separator);
        const text = [columns.join(separator), mark, `"${mark}"${separator}${mark}`, row].join("\n");
        assert.deepEqual(bodyOf(text), asked);
      }
    });
  }

  test("An invisible character at the ends of a cell is no part of a column's name", () => {
    for (const mark of Object.values(unseen).filter((each) => each !== "\t")) {
      const header = columns.map((column) => `${mark}${column}${mark}`).join(";");
      assert.deepEqual(bodyOf(`${header}\n${cells.join(";")}`), asked);
    }
  });

  test("An invisible character at the ends of a cell counts within a cell, and a PESEL that has it is refused in every form", () => {
    for (const mark of Object.values(unseen).filter((each) => each !== "\t")) {
      for (const cell of [`44051${mark}401359`, `"44051${mark}401359"`]) {
        const read = bodyOf(`pesel;from;to;toBuy\n${cell};PLN;USD;1`) as { pesel: string };
        assert.equal(read.pesel, `44051${mark}401359`);
      }
    }
  });
});
