import Table from "cli-table3";
import stringWidth from "fast-string-width";
import type { CurrencyCode } from "../../core/currency.ts";
import { warsawTime } from "../../core/date.ts";
import { type Decimal, formatDecimal } from "../../core/decimal.ts";
import type { Money } from "../../core/money.ts";
import { knownDigits, minorUnitsOf } from "../../core/money.ts";
import { visible, visibleLines } from "../../core/visible.ts";
import { type Screen, write } from "./terminal.ts";

export type Pairs = readonly (readonly [name: string, value: string])[];

/** Text, plain or in a colour. It may come from anywhere, so it is shown with escapes. */
export type Cell = string | { readonly text: string; readonly paint: (text: string) => string };

export interface Column<Item> {
  readonly title: string;
  readonly cell: (item: Item, screen: Screen) => Cell;
  readonly align?: "right";
  /** Left out at a terminal that is too narrow for all columns. */
  readonly optional?: boolean;
  /** Broken into lines at a terminal that is too narrow. */
  readonly wraps?: boolean;
  /** Shown only in a pipe. */
  readonly pipeOnly?: boolean;
  /** Left out where no row has anything in it. */
  readonly sparse?: boolean;
  /** The minimum width at a terminal, in characters. */
  readonly least?: number;
}

const narrowest = 16;

/** The result of a command as one JSON document. */
export function writeDocument(screen: Screen, document: unknown): void {
  if (screen.rich) write(screen, visibleLines(JSON.stringify(document, null, 2)));
  else writeJson(screen, document);
}

export function writeJson(screen: Screen, document: unknown): void {
  write(screen, visible(JSON.stringify(document)));
}

/** Pairs of a name and a value: aligned at a terminal, separated by a tab in a pipe. */
export function writeRecord(screen: Screen, pairs: Pairs): void {
  writeSections(screen, recordText(screen, pairs));
}

/** A row for each item under titles at a terminal; in a pipe, tab-separated rows without titles and never cut. */
export function writeTable<Item>(
  screen: Screen,
  columns: readonly Column<Item>[],
  items: readonly Item[],
): void {
  writeSections(screen, tableText(screen, columns, items));
}

export function writeSections(screen: Screen, ...texts: readonly string[]): void {
  screen.stream.write(sections(screen, ...texts));
}

/** Texts, such as records and tables, at a terminal with an empty line between two. Empty ones are left out. */
export function sections({ rich }: Screen, ...texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join(rich ? "\n" : "");
}

export function writeText(...text: Parameters<typeof proseText>): void {
  const [{ stream }] = text;
  stream.write(proseText(...text));
}

/** Sentences, broken into lines at a terminal. */
export function proseText(
  { columns }: Screen,
  text: string,
  paint: (line: string) => string = (line) => line,
): string {
  const lines = fold(visible(text), columns).map((line) => paint(line));
  return `${lines.join("\n")}\n`;
}

export function recordText(screen: Screen, pairs: Pairs): string {
  if (pairs.length === 0) return "";
  const shown = pairs.map(([name, value]) => [visible(name), visible(value)] as const);
  return `${screen.rich ? stacked(screen, shown) : tabbed(shown)}\n`;
}

interface FilledColumn extends Pick<Column<unknown>, "title" | "align" | "optional" | "wraps" | "least"> {
  readonly cells: readonly string[];
}

export function tableText<Item>(
  screen: Screen,
  columns: readonly Column<Item>[],
  items: readonly Item[],
  hasTitles = true,
): string {
  if (items.length === 0) return "";
  const shown = columns
    .filter(({ pipeOnly }) => !(screen.rich && pipeOnly))
    .map((column) => ({ ...column, cells: items.map((item) => cellText(column.cell(item, screen))) }))
    .filter(({ sparse, cells }) => !sparse || cells.some((cell) => cell !== ""));
  return `${screen.rich ? fitted(screen, shown, hasTitles) : tabbed(rowsOf(shown))}\n`;
}

/** A table that fits the terminal: without optional columns, with folded ones, or else a record for each row. */
function fitted(screen: Screen, shown: readonly FilledColumn[], hasTitles: boolean): string {
  let kept = shown;
  for (;;) {
    const table = layOut(screen, kept, hasTitles);
    const excess = width(table) - screen.columns;
    if (excess <= 0) return table;
    const dropped = kept.findLast(({ optional }) => optional);
    if (dropped === undefined) {
      const columns = kept.map((column) => (column.wraps ? narrowed(column, excess) : column));
      const folded = layOut(screen, columns, hasTitles);
      if (width(folded) <= screen.columns) return folded;
      break;
    }
    kept = kept.filter((column) => column !== dropped);
  }
  const records = rowsOf(shown).map((row) =>
    shown.map(({ title }, index) => [title, row[index] ?? ""] as const).filter(([, cell]) => cell !== ""),
  );
  return records.map((record) => stacked(screen, record)).join("\n\n");
}

/** The column with its cells folded, so that it is narrower by `excess` columns of the terminal. */
function narrowed(column: FilledColumn, excess: number): FilledColumn {
  const columns = Math.max(narrowest, width(column.cells.join("\n")) - excess);
  return { ...column, cells: column.cells.map((cell) => fold(cell, columns).join("\n")) };
}

function rowsOf(columns: readonly FilledColumn[]): string[][] {
  const [first] = columns;
  return (first?.cells ?? []).map((_, row) => columns.map(({ cells }) => cells[row] ?? ""));
}

/** Borders of cli-table3. Its default draws them, and colours, in pipes too. */
const edges =
  "top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid";
const look = {
  style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
  chars: { ...Object.fromEntries(edges.split(" ").map((edge) => [edge, ""])), middle: "  " },
};

function layOut({ paint }: Screen, columns: readonly FilledColumn[], hasTitles: boolean): string {
  const head = hasTitles ? columns.map(({ title }) => paint.bold(title)) : [];
  const table = new Table({ head, colAligns: columns.map(({ align }) => align ?? "left"), ...look });
  const padded = columns.map(({ align, least = 0, cells, ...column }) => {
    const pad = (cell: string) => (align === "right" ? cell.padStart(least) : cell.padEnd(least));
    return { ...column, cells: cells.map(pad) };
  });
  table.push(...rowsOf(padded));
  return table.toString().replace(/ +$/gm, "");
}

/** A currency, and amounts in its minor units. */
type AmountsRow = readonly [CurrencyCode, ...(bigint | undefined)[]];

/** A table of amounts, a row for each currency. A cell without an amount is empty. */
export function amountsText(screen: Screen, titles: readonly string[], rows: readonly AmountsRow[]): string {
  const [first = "", ...others] = titles;
  const amountAt = (index: number, [currency, ...amounts]: AmountsRow) => {
    const minor = amounts[index];
    return minor === undefined ? "" : amountText(screen, { currency, minor });
  };
  return tableText<AmountsRow>(
    screen,
    [
      { title: first, cell: ([currency]) => currency },
      ...others.map((title, index) => {
        return { title, align: "right", cell: (row: AmountsRow) => amountAt(index, row) } as const;
      }),
    ],
    rows,
  );
}

/** "1 234.50" with thin spaces at a terminal, "1234.50" in a pipe. */
export function amountText(screen: Screen, { currency, minor }: Money): string {
  const digits = knownDigits(currency);
  return decimalText(screen, { coefficient: minor, scale: digits }, digits);
}

export function moneyText(screen: Screen, money: Money): string {
  return `${amountText(screen, money)} ${money.currency}`;
}

function decimalText(screen: Screen, decimal: Decimal, places: number): string {
  const text = formatDecimal(decimal, places);
  if (!screen.rich || !screen.unicode) return text;
  const [whole = "", fraction] = text.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** A rate with 4 places, or with 6 if it needs them. */
export function rateText(screen: Screen, rate: Decimal): string {
  return decimalText(screen, rate, minorUnitsOf(rate, 4) === undefined ? 6 : 4);
}

/** A time: in Warsaw at a terminal, to the second, such as "2026-11-22 11:56:30 CET"; in UTC and whole in a pipe. */
export function timeText(screen: Screen, time: Date): string {
  return screen.rich
    ? `${warsawTime(time)} ${time.toLocaleTimeString("en-GB", zoneOnly).split(" ").at(-1)}`
    : time.toISOString();
}

const zoneOnly = { timeZone: "Europe/Warsaw", timeZoneName: "short" } as const;

function cellText(cell: Cell): string {
  return typeof cell === "string" ? visible(cell) : cell.paint(visible(cell.text));
}

function tabbed(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => row.join("\t")).join("\n");
}

function stacked({ paint, columns }: Screen, pairs: Pairs): string {
  const indent = Math.max(...pairs.map(([name]) => name.length)) + 2;
  return pairs
    .map(([name, value]) => {
      const folded = fold(value, columns - indent);
      const fits = width(folded.join("\n")) <= columns - indent;
      const head = fits ? paint.dim(name.padEnd(indent)) : `${paint.dim(name)}\n  `;
      return head + folded.join(`\n${" ".repeat(fits ? indent : 2)}`);
    })
    .map((line) => line.trimEnd())
    .join("\n");
}

/** Breaks text into lines between words, and not between an amount and its currency. A longer word has its own line. */
export function fold(text: string, columns: number): string[] {
  const folded: string[] = [];
  for (const word of width(text) <= columns ? [text] : text.split(/(?<!\d) | (?![A-Z]{3}\b)/)) {
    const line = folded.at(-1);
    if (line === undefined || width(line) + 1 + width(word) > columns) folded.push(word);
    else folded[folded.length - 1] = `${line} ${word}`;
  }
  return folded;
}

/** How many columns of a terminal the text's widest line takes. */
function width(text: string): number {
  // Joiners take no column. Between emoji, they make one emoji.
  const lines = text.replace(/\u200c|\u200d(?!\p{Emoji})/gu, "").split("\n");
  return Math.max(...lines.map((line) => stringWidth(line)));
}
