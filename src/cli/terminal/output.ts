import stringWidth from "fast-string-width";
import { type Decimal, formatDecimal } from "../../core/decimal.ts";
import type { Money } from "../../core/money.ts";
import { knownDigits, minorUnitsOf } from "../../core/money.ts";
import { visible, visibleLines } from "../../core/visible.ts";
import { type Screen, write } from "./terminal.ts";

/** Names with their values. */
export type Pairs = readonly (readonly [name: string, value: string])[];

/** Text, which may come from anywhere and is shown with escapes, or such text in a colour. */
export type Cell = string | { readonly text: string; readonly paint: (text: string) => string };

export interface Column {
  readonly title: string;
  readonly align?: "right";
  /** Left out at a terminal that is too narrow for all columns. */
  readonly optional?: boolean;
  /** Broken into lines at a terminal that is too narrow. */
  readonly wraps?: boolean;
  /** Only for programs. */
  readonly pipeOnly?: boolean;
  /** Only for people. */
  readonly terminalOnly?: boolean;
  /** Left out where no row has anything in it. */
  readonly sparse?: boolean;
}

/** Columns of text. */
export function texts(...titles: readonly string[]): readonly Column[] {
  return titles.map((title) => ({ title }));
}

/** Columns of numbers. */
export function numbers(...titles: readonly string[]): readonly Column[] {
  return titles.map((title) => ({ title, align: "right" }));
}

/** A column that wraps is not made narrower than this. */
const narrowest = 16;

/** The result of a command as one JSON document. */
export function writeDocument(screen: Screen, document: unknown): void {
  if (screen.rich) write(screen, visibleLines(layOutJson(document, screen.columns)));
  else writeJson(screen, document);
}

/** JSON on one line. */
export function writeJson(screen: Screen, document: unknown): void {
  write(screen, visible(JSON.stringify(document)));
}

/** Pairs of a name and a value: aligned at a terminal, separated by a tab in a pipe. */
export function writeRecord(screen: Screen, pairs: Pairs): void {
  const shown = pairs.map(([name, value]) => [visible(name), visible(value)] as const);
  write(screen, screen.rich ? stacked(screen, shown) : lines(shown));
}

/** Sentences, broken into lines at a terminal. */
export function writeText(
  screen: Screen,
  text: string,
  paint: (line: string) => string = (line) => line,
): void {
  write(
    screen,
    fold(visible(text), screen.columns)
      .map((line) => paint(line))
      .join("\n"),
  );
}

export async function writeTable(...table: Parameters<typeof tableLines>): Promise<void> {
  const [screen] = table;
  screen.stream.write(await tableLines(...table));
}

/** Rows under titles at a terminal; in a pipe, tab-separated rows without titles and never cut. */
export async function tableLines(
  screen: Screen,
  columns: readonly Column[],
  cells: readonly (readonly Cell[])[],
  hasTitles = true,
): Promise<string> {
  if (cells.length === 0) return "";
  const rows = cells.map((row) => row.map(cellText));
  const shown = [...columns.keys()].filter((index) => {
    const { pipeOnly, terminalOnly, sparse } = columns[index] as Column;
    return !(screen.rich ? pipeOnly : terminalOnly) && !(sparse && rows.every((row) => row[index] === ""));
  });
  const text = screen.rich
    ? await fitted(screen, columns, rows, shown, hasTitles)
    : lines(rows.map((row) => shown.map((index) => row[index] ?? "")));
  return `${text}\n`;
}

/** A table that fits the terminal: without optional columns, with folded ones, or else a record for each row. */
async function fitted(
  screen: Screen,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  shown: readonly number[],
  hasTitles: boolean,
): Promise<string> {
  let kept = shown;
  for (;;) {
    const table = await layOut(screen, columns, rows, kept, { hasTitles });
    const excess = width(table) - screen.columns;
    if (excess <= 0) return table;
    const dropped = kept.findLast((index) => columns[index]?.optional);
    if (dropped === undefined) {
      const wrapped = await layOut(screen, columns, rows, kept, { hasTitles, excess });
      if (width(wrapped) <= screen.columns) return wrapped;
      break;
    }
    kept = kept.filter((index) => index !== dropped);
  }
  const record = (row: readonly string[]) =>
    stacked(
      screen,
      shown
        .filter((index) => row[index] !== "")
        .map((index) => [columns[index]?.title ?? "", row[index] ?? ""]),
    );
  return rows.map(record).join("\n\n");
}

/** "1 234.50" with thin spaces at a terminal, "1234.50" in a pipe. */
export function amountText(screen: Screen, { currency, minor }: Money): string {
  const digits = knownDigits(currency);
  return decimalText(screen, { coefficient: minor, scale: digits }, digits);
}

/** "1 234.50 PLN". */
export function moneyText(screen: Screen, money: Money): string {
  return `${amountText(screen, money)} ${money.currency}`;
}

/** A decimal with at least `places` places. */
function decimalText(screen: Screen, decimal: Decimal, places: number): string {
  const text = formatDecimal(decimal, places);
  if (!screen.rich || !screen.unicode) return text;
  const [whole = "", fraction] = text.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** A rate with the 4 places of most, or the 6 of the small ones. */
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

/** "2026-11-22 11:56:30", where the title of a column says that it is in Warsaw. */
export function warsawTime(time: Date): string {
  return time.toLocaleString("sv-SE", { timeZone: "Europe/Warsaw" });
}

function cellText(cell: Cell): string {
  return typeof cell === "string" ? visible(cell) : cell.paint(visible(cell.text));
}

function lines(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => row.join("\t")).join("\n");
}

async function layOut(
  screen: Screen,
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  kept: readonly number[],
  { hasTitles, excess = 0 }: { readonly hasTitles: boolean; readonly excess?: number },
): Promise<string> {
  const { default: Table } = await import("cli-table3");
  const edges =
    "top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid";
  const widest = (index: number) => Math.max(...rows.map((row) => width(row[index] ?? "")));
  // Folded here, because cli-table3 breaks at the thin spaces of an amount, and cuts long words off.
  const field = (row: readonly string[], index: number): string => {
    const text = row[index] ?? "";
    if (excess === 0 || !columns[index]?.wraps) return text;
    return fold(text, Math.max(narrowest, widest(index) - excess)).join("\n");
  };
  const table = new Table({
    head: hasTitles ? kept.map((index) => screen.paint.bold(columns[index]?.title ?? "")) : [],
    colAligns: kept.map((index) => columns[index]?.align ?? "left"),
    // By default cli-table3 colours its head and borders, in pipes too.
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
    chars: { ...Object.fromEntries(edges.split(" ").map((edge) => [edge, ""])), middle: "  " },
  });
  table.push(...rows.map((row) => kept.map((index) => field(row, index))));
  return table
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}

/** JSON in lines, where what fits stays on one. */
function layOutJson(value: unknown, columns: number, indent = "", name = ""): string {
  const line = JSON.stringify(value);
  // A comma may follow.
  if (typeof value !== "object" || value === null || indent.length + width(name + line) < columns)
    return line;
  const inner = `${indent}  `;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([key, member]) => {
      const named = Array.isArray(value) ? "" : `${JSON.stringify(key)}: `;
      return inner + named + layOutJson(member, columns, inner, named);
    });
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${members.join(",\n")}\n${indent}${close}`;
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
  // Joiners take none. Between emoji they are part of one.
  const lines = text.replace(/\u200c|\u200d(?!\p{Emoji})/gu, "").split("\n");
  return Math.max(...lines.map((line) => stringWidth(line)));
}
