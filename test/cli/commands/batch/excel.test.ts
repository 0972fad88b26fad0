import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { readFile } from "../../../../src/batch/file.ts";
import type { BatchLine } from "../../../../src/batch/line.ts";
import { adult } from "../../../support/fixture.ts";
import { newFolder } from "../../../support/folder.ts";
import { runHere } from "../../../support/run-here.ts";

const header = "pesel;from;to;toBuy;toSell";

const linesOf = (content: string | Buffer): BatchLine[] => [...readFile(Buffer.from(content)).lines()];

const toSell = (line: BatchLine | undefined) => (Object(line?.body) as { toSell?: unknown }).toSell;

describe("an amount in a cell", () => {
  test("An amount written the Polish way is the same number", () => {
    const written = fc.record({
      units: fc.integer({ min: 0, max: 9_999_999_999 }),
      cents: fc.integer({ min: 0, max: 99 }),
      space: fc.constantFrom("", " ", "\u00a0", "\u202f"),
    });
    fc.assert(
      fc.property(fc.array(written, { minLength: 1, maxLength: 20 }), (amounts) => {
        const cents = (value: number) => String(value).padStart(2, "0");
        const rows = amounts.map(({ units, cents: part, space }) => {
          const grouped = String(units).replace(/\B(?=(\d{3})+$)/g, space);
          return `${adult()};PLN;USD;;${grouped},${cents(part)}`;
        });
        const lines = linesOf([header, ...rows, ""].join("\r\n"));
        assert.deepEqual(
          lines.map(toSell),
          amounts.map(({ units, cents: part }) => Number(`${units}.${cents(part)}`)),
        );
      }),
    );
  });

  for (const [cell, read] of [
    ["1234.50", 1234.5],
    ["12 345", 12345],
    ["1 000,500", 1000.5],
    ["0,500", 0.5],
    ["-5,00", -5],
    ["1.234", /may be in thousands or have three decimals/],
    ["1,230", /may be in thousands or have three decimals/],
    ["1.234,50", /must be written like 1234\.50, 1234,50 or 1 234,50/],
    ["10 00", /must be written like/],
    ["1 000,50 zł", /without a currency/],
    ["€ 5", /without a currency/],
    ["1,5E+12", /was shortened by a spreadsheet/],
    ["dużo", /must be a number/],
  ] as const) {
    test(`The cell "${cell}" as an amount is ${typeof read === "number" ? read : `refused: ${read.source}`}`, () => {
      const [line] = linesOf(`${header}\n${adult()};PLN;USD;;${cell}\n`);
      if (typeof read === "number")
        assert.deepEqual(line?.body, { pesel: adult(), from: "PLN", to: "USD", toSell: read });
      else assert.match(line?.fault?.message ?? "", read);
    });
  }

  test("An amount between commas is read with a decimal comma if it is quoted, and a point is decimal", () => {
    const rows = ['"1 000,50"', '"1,234"', "1.234"].map((cell) => `${adult()},PLN,USD,,${cell}`);
    const [grouped, unsure, pointed] = linesOf(["pesel,from,to,toBuy,toSell", ...rows, ""].join("\n"));
    assert.equal(toSell(grouped), 1000.5);
    assert.match(unsure?.fault?.message ?? "", /^toSell may be in thousands/);
    assert.equal(toSell(pointed), 1.234);
  });
});

describe("the rows of a CSV file", () => {
  test("A row whose quote is not closed in its line is refused, and so are those after it, which may be text of its cell", () => {
    const rows = [`${adult(1)};"PLN;USD;;10`, `${adult(2)};PLN";USD;;20`, `${adult(3)};PLN;USD;;30`];
    const lines = linesOf([header, `${adult(0)};PLN;USD;1`, ...rows, ""].join("\n"));
    const message = "The quote that line 3 opens is not closed in that line. A cell has no line breaks.";
    assert.deepEqual(
      lines.map(({ number, fault }) => [number, fault?.message]),
      [[2, undefined], ...[3, 4, 5].map((number) => [number, message])],
    );
  });

  test("The rows of a CSV file may lack empty cells at the end, but not in a line that may be cut off", () => {
    const row = `${adult()};PLN;USD;1`;
    const [short, cut] = linesOf(`${header}\n${row}\n${row}`);
    assert.equal(short?.fault, undefined);
    assert.match(cut?.fault?.message ?? "", /The line has 4 fields, and the header 5/);
  });

  test("Rows with a value under no header are refused", () => {
    const [named, beyond] = linesOf(
      `${header};;id\n${adult()};PLN;USD;1;;x;7\n${adult()};PLN;USD;1;;;7;;y\n`,
    );
    assert.match(named?.fault?.message ?? "", /value in column 6, which has no name/);
    assert.match(beyond?.fault?.message ?? "", /9 fields, and the header 7/);
  });

  test("Rows of empty cells are no lines, before and after the header", () => {
    const lines = linesOf(
      `sep=;\n;;;;\n"PESEL"; From ;TO;tobuy;ToSell;;;\n;;;;;;\n${adult()};PLN;USD;1;;;;\n"";;\n`,
    );
    assert.deepEqual(
      lines.map(({ number, body }) => [number, body]),
      [[5, { pesel: adult(), from: "PLN", to: "USD", toBuy: 1 }]],
    );
  });

  test("Rows with the line ends of an old Mac are refused", () => {
    assert.throws(() => linesOf(`${header}\r${adult()};PLN;USD;1;\r`), /old Mac \(CR\)/);
  });
});

describe("a file that a spreadsheet has saved again", () => {
  const [first, second] = ["75061598768", "02291234562"];
  for (const damaged of ["2291234562", "2,29123E+09", ""]) {
    test(`A file saved again by a spreadsheet with ${damaged || "nothing"} for a PESEL pays nobody twice in a script`, async (t) => {
      const folder = newFolder(t);
      const env = { FX_URL: `sqlite:${join(folder, "fx.db")}`, FX_RATES: "demo" };
      const create = ["account", "create", first, "--name", "Jan", "--surname", "Kowalski", "--pln", "0"];
      assert.equal((await runHere(create, { env })).exit, 0);
      const deposits = (pesel: string) =>
        `kind;pesel;amount;currency\ndeposit;${first};50;PLN\ndeposit;${pesel};60;PLN\n`;
      const path = join(folder, "deposits.csv");
      writeFileSync(path, deposits(second));
      await runHere(["batch", path], { env });
      writeFileSync(path, deposits(damaged));
      assert.equal((await runHere(["batch", path], { env })).exit, 3);
      assert.match((await runHere(["account", "show", first], { env })).stdout, /\nPLN\t50\.00\n/);
    });
  }
});
