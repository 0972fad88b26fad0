import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  amountText,
  type Cell,
  fold,
  rateText,
  writeTable as write,
  writeRecord,
} from "../../../src/cli/terminal/output.ts";
import { hasColor, type Screen } from "../../../src/cli/terminal/terminal.ts";
import { parseCurrencyCode } from "../../../src/core/currency.ts";
import { decimal } from "../../support/fixture.ts";
import { screenOf } from "../../support/screen.ts";

interface Title {
  readonly title: string;
  readonly align?: "right";
  readonly least?: number;
  readonly wraps?: boolean;
  readonly optional?: boolean;
  readonly pipeOnly?: boolean;
}

/** Writes a table of cells by the titles over them. */
function writeTable(screen: Screen, titles: readonly Title[], rows: readonly (readonly Cell[])[]): void {
  const columns = titles.map((title, index) => ({
    ...title,
    cell: (row: readonly Cell[]) => row[index] ?? "",
  }));
  write(screen, columns, rows);
}

describe("tables", () => {
  const columns = [
    { title: "Code" },
    { title: "Amount", align: "right" },
    { title: "Note", wraps: true },
    { title: "Id", optional: true },
    { title: "Table", pipeOnly: true },
  ] as const;

  const [many, thin] = ["a note of a few more words", "100\u202f460.17 PLN, 30\u202f000 JPY"];
  for (const [rule, width, note, shown] of [
    ["drop optional columns when the terminal is too narrow for them", 42, many, /^Code {2}Amount {2}Note\n/],
    [
      "break long fields into lines when it is narrower still",
      32,
      many,
      /100\.00 {2}a note of a few\n {14}more words\n$/,
    ],
    [
      "never break an amount at its thin spaces",
      32,
      thin,
      / {2}100\u202f460\.17 PLN,\n {14}30\u202f000 JPY\n$/,
    ],
    [
      "never break between an amount and its currency",
      35,
      "Jan Kowalski, 250.50 PLN, 3 USD",
      / {2}Jan Kowalski,\n {14}250\.50 PLN, 3 USD\n$/,
    ],
    [
      "never cut a word off",
      34,
      "see http://127.0.0.1:8080/api",
      /\nAmount {2}100\.00\nNote {4}see\n {8}http:\/\/127\.0\.0\.1:8080\/api\n/,
    ],
    [
      "become records when nothing else fits",
      18,
      "short",
      /^Code {4}USD\nAmount {2}100\.00\nNote {4}short\nId {6}id-2\n$/,
    ],
  ] as const) {
    test(`Tables ${rule}`, () => {
      const screen = screenOf(width);
      writeTable(screen, columns, [["USD", "100.00", note, "id-2", "t-2"]]);
      assert.match(screen.text(), shown);
    });
  }

  test("A column is no narrower at a terminal than its least width", () => {
    const screen = screenOf(80);
    const wide = [
      { title: "Code", least: 6 },
      { title: "Amount", align: "right", least: 8 },
      { title: "End" },
    ] as const;
    writeTable(screen, wide, [["PLN", "1.00", "|"]]);
    assert.equal(screen.text(), "Code      Amount  End\nPLN         1.00  |\n");
  });

  test("Tables show a tab or a line break in a field as an escape, so that it does not break the row", () => {
    const screen = screenOf(undefined);
    writeRecord(screen, [["holder", "Jan\tKow\nalski"]]);
    assert.equal(screen.text(), "holder\tJan\\tKow\\nalski\n");
  });
});

describe("text takes the columns that a terminal gives it", () => {
  // Each text with its width. cli-table3 counts the last ones as wider.
  const aligned = [
    ["Jan", 3],
    ["Żaneta", 6],
    ["山田太郎", 8],
    ["김민준", 6],
    ["Zoe\u0301", 3],
    ["👩‍💻 Ida", 6],
  ] as const;
  const names = [...aligned, ["नमस्ते", 4], ["عَلِيّ", 3], ["علی\u200cرضا", 6]] as const;

  test("Text is as wide as a terminal shows it in tables, on either side", () => {
    const screen = screenOf(80);
    const columns = [{ title: "Name" }, { title: "Again", align: "right" }, { title: "End" }] as const;
    writeTable(
      screen,
      columns,
      aligned.map(([name]) => [name, name, "|"]),
    );
    const [, ...lines] = screen.text().trimEnd().split("\n");
    assert.deepEqual(
      lines,
      aligned.map(([name, width]) => `${name}${" ".repeat(8 - width)}  ${" ".repeat(8 - width)}${name}  |`),
    );
  });

  test("Text is as wide as a terminal shows it in tables with colour", () => {
    const screen = screenOf(80);
    const red = { text: "red", paint: (text: string) => `\u001b[31m${text}\u001b[39m` };
    writeTable(screen, [{ title: "Name" }, { title: "End" }], [[red, "|"]]);
    assert.equal(screen.text(), "Name  End\n\u001b[31mred\u001b[39m   |\n");
  });

  test("A table that is too narrow for its last column loses it", () => {
    const columns = [{ title: "Name" }, { title: "Id", optional: true }] as const;
    for (const [width, heads] of [
      [14, "Name      Id"],
      [13, "Name"],
    ] as const) {
      const screen = screenOf(width);
      writeTable(screen, columns, [["山田太郎", "id-1"]]);
      assert.equal(screen.text(), `${heads}\n山田太郎${heads === "Name" ? "" : "  id-1"}\n`);
    }
  });

  test("Text is as wide as a terminal shows it in records and sentences that are broken into lines", () => {
    const screen = screenOf(20);
    writeRecord(screen, [["holder", "山田太郎 山田太郎"]]);
    assert.equal(screen.text(), "holder  山田太郎\n        山田太郎\n");
    for (const [name, width] of names) {
      assert.deepEqual(fold(`${name} ${name}`, 2 * width + 1), [`${name} ${name}`]);
      if (!name.includes(" ")) assert.deepEqual(fold(`${name} ${name}`, 2 * width), [name, name]);
    }
  });
});

describe("amounts", () => {
  const money = (code: string, minor: bigint) => ({ currency: parseCurrencyCode(code), minor });

  test("Amounts have the currency's digits, and thin spaces between thousands at a terminal only", () => {
    assert.equal(amountText(screenOf(80), money("PLN", 123456789n)), "1\u202f234\u202f567.89");
    assert.equal(amountText(screenOf(80), money("PLN", -99999n)), "-999.99");
    assert.equal(amountText(screenOf(80), money("JPY", -1234567n)), "-1\u202f234\u202f567");
    assert.equal(amountText(screenOf(undefined), money("PLN", 123456789n)), "1234567.89");
    assert.equal(amountText(screenOf(80, { unicode: false }), money("PLN", 123456789n)), "1234567.89");
  });

  test("rates have 4 places, or 6 where 4 do not say it", () => {
    assert.equal(rateText(screenOf(80), decimal("4.2")), "4.2000");
    assert.equal(rateText(screenOf(80), decimal("0.01236")), "0.012360");
  });
});

describe("colour", () => {
  const rows = [
    { terminal: true, env: {}, expected: true },
    { terminal: false, env: {}, expected: false },
    { terminal: true, env: { NO_COLOR: "1" }, expected: false },
    { terminal: true, env: { NO_COLOR: "" }, expected: true },
    { terminal: true, env: { TERM: "dumb" }, expected: false },
    { terminal: false, env: { FORCE_COLOR: "1" }, expected: true },
    { terminal: true, env: { FORCE_COLOR: "0" }, expected: false },
    { terminal: false, env: { FORCE_COLOR: "1", NO_COLOR: "1", TERM: "dumb" }, expected: true },
    { terminal: true, env: { FORCE_COLOR: "1" }, noColor: true, expected: false },
  ];
  for (const { terminal, env, noColor = false, expected } of rows) {
    const flag = noColor ? " --no-color" : "";
    test(`${expected ? "Colour" : "No colour"} in a ${terminal ? "terminal" : "pipe"}, ${JSON.stringify(env)}${flag}`, () => {
      assert.equal(hasColor(terminal, env, noColor), expected);
    });
  }
});
