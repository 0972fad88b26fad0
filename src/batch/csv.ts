import { csvCell, type Separator, separators, textOfCell } from "../core/csv.ts";
import type { FxError } from "../core/errors.ts";
import { nearMiss } from "../wire/near-miss.ts";
import { readAmount } from "./amount.ts";
import { blank, cleanCell } from "./cell.ts";
import {
  type BatchFormat,
  type BatchLine,
  invalid,
  type TextLine,
  type TextLines,
  valueOrError,
} from "./line.ts";
import { recordIn } from "./record.ts";
import { UnfitFile } from "./unfit-file.ts";

/** A kind of file by its columns. At least one of `amounts` must be there. */
interface Kind extends Pick<BatchFormat, "holds" | "needsRates"> {
  readonly required: readonly string[];
  readonly amounts: readonly string[];
  readonly optional: readonly string[];
}

const kinds: readonly Kind[] = [
  {
    holds: "orders",
    needsRates: true,
    required: ["pesel", "from", "to"],
    amounts: ["toBuy", "toSell"],
    optional: ["table", "key"],
  },
  {
    holds: "new accounts",
    needsRates: false,
    required: ["name", "surname", "pesel"],
    amounts: ["pln", "initial"],
    optional: ["key"],
  },
  {
    holds: "deposits and withdrawals",
    needsRates: true,
    required: ["kind", "pesel", "currency"],
    amounts: ["amount"],
    optional: ["note", "key"],
  },
];

/** A line that lacks more columns than this is not taken for a header. */
const mostMissing = 2;

/** The separator that a line such as `sep=;` names, as the first of a file for Excel. */
export function separatorIn(text: string): string | undefined {
  return separatorLine.exec(text)?.[1];
}

const separatorLine = new RegExp(`^${blank}*"?sep=(.)"?${blank}*$`, "iu");

/** Whether a line has nothing but empty cells. */
export function isEmptyRow(text: string): boolean {
  return emptyRow.test(text);
}

const emptyRow = new RegExp(`^(?:${blank}|[;,"])*$`, "u");

/**
 * CSV under the header in `line`: the fields of one kind of file, in any case and order, with or without other columns. The
 * separator is the one that splits the header into these fields.
 * @param isMarked whether a file of its lines needs a byte-order mark
 * @param separator the one that the file names, if any
 * @throws UnfitFile if the header lacks fields, names a column twice, or has a column that seems to be a misspelt field
 */
export function csv(line: TextLine, isMarked: boolean, separator?: string): BatchFormat {
  if (line.text.includes("\r")) {
    throw new UnfitFile(
      "ends",
      "The lines of the file end as on an old Mac (CR). Save it as CSV UTF-8, and run that file.",
    );
  }
  const { columns, kind, mark } = headerIn(line, separator);
  const known = fieldsOf(kind);
  const named = columns.filter((column) => column !== "");
  const twice = named.find((column, index) => named.indexOf(column) < index);
  if (twice !== undefined) {
    throw new UnfitFile("header", `The header has the column ${twice} twice. Rename or remove one.`);
  }
  const unread = named.filter((column) => !known.includes(column));
  // A column beside an amount is not taken for the alternative amount.
  const absent = known.filter((name) => !named.includes(name) && !kind.amounts.includes(name));
  for (const column of unread) {
    const meant = fieldMeant(column, known, absent);
    if (meant !== undefined)
      throw new UnfitFile(
        "column",
        `The header has an unknown column, ${column}. If you mean ${meant}, rename it; otherwise remove it.`,
        [column, meant],
      );
  }
  const rows = new Rows(columns, unread, kind, mark);
  const head = `${isMarked ? "\ufeff" : ""}${separator === undefined ? "" : `sep=${separator}\n`}`;
  return {
    holds: kind.holds,
    needsRates: kind.needsRates,
    header: head + rows.text(rows.keyed),
    unread,
    read: (lines, start, isCut) => rows.read(lines, start, isCut),
  };
}

/**
 * The field that an unknown column was probably meant to be: with other punctuation, by the name of its HTTP header, or, of
 * the absent fields, with slips.
 */
function fieldMeant(column: string, known: readonly string[], absent: readonly string[]): string | undefined {
  const letters = lettersOf(column).replace(/^x?fx/, "");
  if (letters.includes("idempot")) return "key";
  // Many a short word is one slip from "key" or "note".
  const isNear = (name: string) =>
    letters === `${name}s` || (name.length > 4 && nearMiss(letters, [name.toLowerCase()]) !== undefined);
  return known.find((name) => name.toLowerCase() === letters) ?? absent.find(isNear);
}

function headerIn({ number, text }: TextLine, separator: string | undefined): Header {
  const headers = separators
    .filter((mark) => separator === undefined || separator === mark)
    .flatMap((mark) => {
      const cells = recordIn(text, mark);
      return Array.isArray(cells) ? kinds.map((kind) => headerOf(cells, mark, kind)) : [];
    })
    .sort((a, b) => a.missing.length - b.missing.length);
  const [nearest, other] = headers;
  const isOne = nearest !== undefined && nearest.missing.length !== other?.missing.length;
  if (!isOne || nearest.missing.length > mostMissing) {
    throw new UnfitFile(
      "header",
      `Line ${number} is neither a JSON object nor a CSV header. A header has the columns ` +
        "pesel,from,to,toBuy,toSell (orders), name,surname,pesel,pln (accounts) or " +
        "kind,pesel,amount,currency,note (deposits and withdrawals).",
    );
  }
  const { columns, missing, kind } = nearest;
  if (missing.length > 0) {
    const needed = [...kind.required, kind.amounts.join(" or ")].join(", ");
    throw new UnfitFile(
      "header",
      `The header has no column ${missing.join(" and no ")}. A file of ${kind.holds} has the columns ${needed}.`,
    );
  }
  while (columns.at(-1) === "") columns.pop();
  return nearest;
}

/** A line read as the header of one kind of file. */
interface Header {
  readonly columns: string[];
  readonly kind: Kind;
  readonly mark: Separator;
  /** Required columns that are absent, and the amounts if all of them are. */
  readonly missing: readonly string[];
}

function headerOf(cells: readonly string[], mark: Separator, kind: Kind): Header {
  const columns = cells.map((cell) => canonical(readCell(cell, mark), kind));
  // A column that differs in punctuation is refused by its name.
  const letters = columns.map(lettersOf);
  const isNamed = (name: string) => letters.includes(lettersOf(name));
  const missing = kind.required.filter((name) => !isNamed(name));
  if (!kind.amounts.some(isNamed)) missing.push(kind.amounts.join(" or "));
  return { columns, kind, mark, missing };
}

function fieldsOf({ required, amounts, optional }: Kind): readonly string[] {
  return [...required, ...amounts, ...optional];
}

/** The name of a column: that of a field, if it differs only in case. */
function canonical(name: string, kind: Kind): string {
  return fieldsOf(kind).find((field) => field.toLowerCase() === name.toLowerCase()) ?? name;
}

/** Rows under a header. */
class Rows {
  /** The columns, `key` among them. */
  readonly keyed: readonly string[];
  readonly #columns: readonly string[];
  readonly #separator: Separator;
  readonly #fields: readonly { readonly name: string; readonly index: number; readonly isAmount: boolean }[];
  readonly #unread: readonly { readonly name: string; readonly index: number }[];
  readonly #key: number;
  /** The fewest cells of a row: those up to its last required field. */
  readonly #least: number;

  constructor(columns: readonly string[], unread: readonly string[], kind: Kind, separator: Separator) {
    const indexed = columns.map((name, index) => ({ name, index }));
    this.#columns = columns;
    this.#separator = separator;
    this.#fields = indexed
      .filter(({ name }) => name !== "key" && fieldsOf(kind).includes(name))
      .map((column) => ({ ...column, isAmount: kind.amounts.includes(column.name) }));
    this.#unread = indexed.filter(({ name }) => unread.includes(name));
    this.#key = columns.indexOf("key");
    this.#least = 1 + Math.max(...kind.required.map((name) => columns.indexOf(name)));
    this.keyed = this.#key >= 0 ? columns : [...columns, "key"];
  }

  *read(lines: TextLines, start: number, isCut: boolean): Generator<BatchLine> {
    let openQuote: FxError | undefined;
    for (let at = start; at < lines.length; at += 1) {
      const line = lines.at(at) as TextLine;
      const cells = line.text.includes('"')
        ? recordIn(line.text, this.#separator)
        : line.text.split(this.#separator);
      // Later lines may be text of the quoted cell. Carrying them out could move money.
      if (cells === "open") openQuote ??= unclosed(line.number);
      const fault = line.fault ?? openQuote;
      const row =
        Array.isArray(cells) && fault === undefined
          ? this.#row(line, cells, isCut && at === lines.length - 1)
          : this.#refused(line, fault ?? invalid("The line is not valid CSV: a quote stands inside a cell."));
      if (row !== undefined) yield row;
    }
  }

  /** @returns undefined if all cells are empty */
  #row(line: TextLine, written: readonly string[], isCut: boolean): BatchLine | undefined {
    const cells = written.map((cell) => readCell(cell, this.#separator));
    if (cells.every((cell) => cell === "")) return undefined;
    const count = this.#columns.length;
    const unnamed = cells.findIndex((cell, index) => cell !== "" && !this.#columns[index]);
    const wrongCount = () => invalid(`The line has ${cells.length} fields, and the header ${count}.`);
    // Excel may leave out empty cells at a row's end.
    if (cells.length < Math.min(this.#least, count) || (cells.length > count && unnamed >= count)) {
      return this.#refused(line, wrongCount());
    }
    if (unnamed >= 0) {
      const fault = invalid(
        `The line has a value in column ${unnamed + 1}, which has no name in the header.`,
      );
      return this.#refused(line, fault);
    }
    const body: Record<string, unknown> = {};
    // In a line without an end, more may be missing.
    let fault = isCut && cells.length < count ? wrongCount() : undefined;
    for (const { name, index, isAmount } of this.#fields) {
      const cell = cells[index];
      if (!cell) continue;
      const value = isAmount ? valueOrError(() => readAmount(name, cell, this.#separator === ",")) : cell;
      // A body with text for an amount is refused, too.
      body[name] = value instanceof Error ? cell : value;
      if (value instanceof Error) fault ??= value;
    }
    const withKey = (key: string) =>
      this.text(this.keyed.map((name, index) => (name === "key" ? key : (cells[index] ?? ""))));
    return {
      number: line.number,
      text: line.text,
      body,
      extra: this.#extra(cells),
      key: cells[this.#key] || undefined,
      fault,
      withKey,
    };
  }

  #extra(cells: readonly string[]): Readonly<Record<string, string>> | undefined {
    if (this.#unread.length === 0) return undefined;
    const given = this.#unread.map(({ name, index }) => [name, cells[index] ?? ""] as const);
    return Object.fromEntries(given.filter(([, cell]) => cell !== ""));
  }

  /** A line that cannot be read goes into one column as a whole, and is refused again until someone corrects it. */
  #refused({ number, text }: TextLine, fault: FxError): BatchLine {
    const free = this.keyed.findIndex((column) => column !== "key");
    const withKey = (key: string) =>
      this.text(this.keyed.map((column, index) => (column === "key" ? key : index === free ? text : "")));
    return { number, text, fault, withKey };
  }

  /** A row of these cells. */
  text(cells: readonly string[]): string {
    return cells.map((cell) => csvCell(cell, this.#separator)).join(this.#separator);
  }
}

function unclosed(number: number): FxError {
  return invalid(
    `The quote that line ${number} opens is not closed in that line. A cell has no line breaks.`,
  );
}

/** A cell without its quotes: what was written in it. */
function readCell(cell: string, separator: Separator): string {
  const clean = cleanCell(cell);
  return clean.includes("'") ? cleanCell(textOfCell(clean, separator)) : clean;
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}
