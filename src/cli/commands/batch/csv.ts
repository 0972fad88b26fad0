import { parse } from "csv-parse/sync";
import { parseDecimal } from "../../../core/decimal.ts";
import { faultOf, type Line } from "../../../wire/lines.ts";
import { exactNumber } from "../../../wire/requests.ts";
import { UsageError } from "../../errors.ts";
import { type BatchLine, type Format, invalid, read } from "./line.ts";

/** The fields of the wire's bodies: those that every file has, and those of which it has at least one. */
const kinds = [
  { hasOrders: true, always: ["pesel", "from", "to"], amounts: ["toBuy", "toSell"] },
  { hasOrders: false, always: ["name", "surname", "pesel"], amounts: ["pln", "initial"] },
] as const;

/**
 * CSV under the header in `line`, which has the fields of orders or of accounts, in any order and among others.
 * @throws UsageError if it does not, or if a column differs from a field only in case or punctuation
 */
export function csv(line: Line): Format {
  const columns = (isReadable(line) && parseRecords([line.bytes.toString()])?.[0]) || [];
  const [kind, other] = kinds.filter(
    ({ always, amounts }) =>
      always.every((name) => columns.includes(name)) && amounts.some((name) => columns.includes(name)),
  );
  if (kind === undefined || other !== undefined || new Set(columns).size < columns.length) {
    throw new UsageError(
      `Line ${line.number} is neither a JSON object nor a CSV header. A header has the columns ` +
        "pesel,from,to,toBuy,toSell (orders) or name,surname,pesel,pln (accounts).",
    );
  }
  const fields: readonly string[] = [...kind.always, ...kind.amounts];
  const unread = columns.filter((column) => ![...fields, "key"].includes(column));
  for (const column of unread) {
    const meant = [...fields, "key"].find((name) => lettersOf(name) === lettersOf(column));
    if (meant !== undefined)
      throw new UsageError(
        `The header has an unknown column, ${column}. If you mean ${meant}, rename it; otherwise remove it.`,
      );
  }
  const read = new Records(columns, fields, kind.amounts);
  return {
    hasOrders: kind.hasOrders,
    header: csvLine(read.keyed),
    unread,
    read: (lines) => read.lines(lines),
  };
}

class Records {
  /** The columns, `key` among them. */
  readonly keyed: readonly string[];
  readonly #columns: readonly string[];
  readonly #fields: readonly string[];
  readonly #amounts: readonly string[];

  constructor(columns: readonly string[], fields: readonly string[], amounts: readonly string[]) {
    this.#columns = columns;
    this.#fields = columns.filter((column) => fields.includes(column));
    this.#amounts = amounts;
    this.keyed = columns.includes("key") ? columns : [...columns, "key"];
  }

  lines(lines: readonly Line[]): BatchLine[] {
    // Many lines at once are parsed faster (docs/PERFORMANCE.md). One by one only shows which is at fault.
    const texts = lines.map((line) => (isReadable(line) ? line.bytes.toString() : "-"));
    const records = parseRecords(texts) ?? texts.map((text) => parseRecords([text])?.[0]);
    return lines.map((line, index) => this.#line(line, records[index]));
  }

  #line(line: Line, record: readonly string[] | undefined): BatchLine {
    const text = line.bytes.toString();
    const cells = record?.length === this.#columns.length && isReadable(line) ? record : undefined;
    return {
      number: line.number,
      text,
      key: cells?.[this.#columns.indexOf("key")] || undefined,
      withKey: (key) => this.#withKey(cells, text, key),
      ...read(line, () => {
        if (record === undefined) throw invalid("The line is not valid CSV.");
        if (cells !== undefined) return this.#body(cells);
        throw invalid(`The line has ${record.length} fields, and the header ${this.#columns.length}.`);
      }),
    };
  }

  /** Amounts become the JSON numbers that say exactly what is written. An empty cell is an absent field. */
  #body(cells: readonly string[]): unknown {
    const given = this.#fields.map((field) => [field, cells[this.#columns.indexOf(field)] ?? ""] as const);
    return Object.fromEntries(
      given
        .filter(([, cell]) => cell !== "")
        .map(([field, cell]) => [field, this.#amounts.includes(field) ? amountOf(cell) : cell]),
    );
  }

  /** A line that cannot be parsed goes into one column as a whole, and is refused again until someone corrects it. */
  #withKey(cells: readonly string[] | undefined, text: string, key: string): string {
    const free = this.keyed.findIndex((column) => column !== "key");
    const cellAt = (index: number) =>
      cells === undefined ? (index === free ? text : "") : (cells[index] ?? "");
    return csvLine(this.keyed.map((column, index) => (column === "key" ? key : cellAt(index))));
  }
}

/** One record for each text, or undefined if they do not parse to that, as with an unclosed quote. */
function parseRecords(texts: readonly string[]): string[][] | undefined {
  try {
    const records = parse(texts.join("\n"), {
      record_delimiter: "\n",
      relax_column_count: true,
      trim: true,
    }) as string[][];
    return records.length === texts.length ? records : undefined;
  } catch {
    return undefined;
  }
}

function csvLine(cells: readonly string[]): string {
  return cells
    .map((cell) => (/["\r,]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
    .join(",");
}

/** What is not a decimal stays text, and the body's schema refuses it, naming the field. */
function amountOf(cell: string): number | string {
  const amount = parseDecimal(cell);
  return amount === undefined ? cell : exactNumber(amount);
}

function isReadable(line: Line): boolean {
  return faultOf(line) === undefined;
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, "");
}
