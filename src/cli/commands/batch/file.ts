import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { parse } from "csv-parse/sync";
import { parseDecimal } from "../../../core/decimal.ts";
import { FxError } from "../../../core/errors.ts";
import { exactNumber, parseJson } from "../../../wire/requests.ts";
import { UsageError } from "../../errors.ts";
import { faultOf, type Line, readLines } from "../../terminal/lines.ts";

/** One line of a batch: the body of a request, or what is wrong with the line. */
export type BatchLine =
  | { readonly number: number; readonly body: unknown }
  | { readonly number: number; readonly fault: FxError };

export interface Batch {
  readonly id: string;
  /** Whether `id` was made up, because nothing was given and the input cannot be read twice. */
  readonly isRandomId: boolean;
  /** How many lines the file has; undefined for a pipe. */
  readonly lineCount: number | undefined;
  /** Whether there may be orders in it, which need rates. */
  readonly hasOrders: boolean;
  /** As many at a time as come together. Reads them once. */
  readonly lines: AsyncIterable<readonly BatchLine[]>;
  /** Stops reading. */
  close(): void;
}

/** The columns of a CSV file, by what its lines are. Those of the wire's bodies. */
const columnsOf = {
  orders: ["pesel", "from", "to", "toBuy", "toSell"],
  accounts: ["name", "surname", "pesel", "pln", "initial"],
} as const;
const amounts: readonly string[] = ["toBuy", "toSell", "pln", "initial"];

/**
 * Opens a batch: CSV under a header of the wire's field names, or a JSON body a line.
 * @param path of the file; "-" is standard input
 * @throws UsageError if it cannot be read, or is neither
 */
export async function openBatch(path: string, stdin: Readable, id?: string): Promise<Batch> {
  const facts = path === "-" ? undefined : await reading(path, () => survey(path));
  const source = path === "-" ? stdin : createReadStream(path);
  const chunks = readLines(source);
  const first = await reading(path, () => firstOf(chunks));
  const [head, ...rest] = first;
  const isJson = head?.bytes.toString().trimStart().startsWith("{") === true;
  const lines = prepend(isJson ? first : rest, chunks);
  const name = id ?? facts?.id ?? randomUUID();
  const whole = (read: AsyncIterable<readonly BatchLine[]>) =>
    facts === undefined ? read : whileUnchanged(read, { path, id: name, version: facts.version });
  const common = {
    id: name,
    isRandomId: id === undefined && facts === undefined,
    lineCount: facts?.lineCount,
    close: () => void source.destroy(),
  };
  if (head === undefined || isJson) {
    return { ...common, hasOrders: isJson, lines: whole(mapped(lines, readBody)) };
  }
  const { columns, hasOrders } = readHeader(head);
  return { ...common, hasOrders, lines: whole(readRecords(columns, lines)) };
}

async function firstOf(chunks: AsyncGenerator<readonly Line[]>): Promise<readonly Line[]> {
  for (;;) {
    const { value, done } = await chunks.next();
    if (done) return [];
    if (value.length > 0) return value;
  }
}

/** @throws UsageError */
async function reading<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

interface Survey {
  readonly id: string;
  readonly lineCount: number;
  readonly version: string;
}

/**
 * The hash of a file's bytes and the number of its lines; undefined for a pipe, which can be read but once.
 * @throws UsageError if it is still being written: its id would change when it is complete, and its lines would be done twice
 */
async function survey(path: string): Promise<Survey | undefined> {
  const version = await versionOf(path);
  if (version === undefined) return undefined;
  const hash = createHash("sha256");
  let lineCount = 0;
  let last = 0x0a;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, at + 1)) lineCount += 1;
    last = chunk.at(-1) ?? last;
  }
  if ((await versionOf(path)) !== version) {
    throw new UsageError(`${writtenTo(path)} Run it when it is complete.`);
  }
  const id = hash.digest("hex").slice(0, 32);
  return { id, lineCount: last === 0x0a ? lineCount : lineCount + 1, version };
}

/** Changes with every change of the file; undefined for a pipe. */
async function versionOf(path: string): Promise<string | undefined> {
  const facts = await stat(path, { bigint: true });
  return facts.isFile() ? `${facts.ino} ${facts.size} ${facts.mtimeNs}` : undefined;
}

/** Gives the lines that were read before the file changed, and then a fault. */
async function* whileUnchanged(
  chunks: AsyncIterable<readonly BatchLine[]>,
  { path, id, version }: { readonly path: string; readonly id: string; readonly version: string },
): AsyncGenerator<readonly BatchLine[]> {
  for await (const lines of chunks) {
    const isSame = (await versionOf(path).catch(() => undefined)) === version;
    if (isSame || lines.length === 0) yield lines;
    else {
      const message =
        `${writtenTo(path)} This line and those after it were not begun. ` +
        `When it is complete, run it with --id ${id}: what was done is not done again.`;
      yield lines.slice(0, 1).map(({ number }) => ({ number, fault: invalid(message) }));
      return;
    }
  }
}

function writtenTo(path: string): string {
  return `${path} was written to while it was read.`;
}

function readHeader(line: Line): { columns: readonly string[]; hasOrders: boolean } {
  const header = faultOf(line) === undefined ? parseRecords([line.bytes.toString()])?.[0] : undefined;
  const columns = header ?? [];
  const [kind] = (["orders", "accounts"] as const).filter((name) =>
    columns.every((column) => (columnsOf[name] as readonly string[]).includes(column)),
  );
  if (kind === undefined || columns.length < 2 || new Set(columns).size < columns.length) {
    throw new UsageError(
      `Line ${line.number} is neither a JSON object nor a CSV header, which is of ${columnsOf.orders.join(",")} ` +
        "(orders) or name,surname,pesel,pln (accounts), separated by commas.",
    );
  }
  return { columns, hasOrders: kind === "orders" };
}

async function* readRecords(
  columns: readonly string[],
  chunks: AsyncIterable<readonly Line[]>,
): AsyncGenerator<readonly BatchLine[]> {
  for await (const lines of chunks) {
    // Parsing many lines at once is faster. Only after a failure is each parsed alone, to find the bad one.
    const texts = lines.map((line) => (faultOf(line) === undefined ? line.bytes.toString() : "-"));
    const records = parseRecords(texts) ?? texts.map((text) => parseRecords([text])?.[0]);
    yield lines.map((line, index) => attempt(line, () => bodyOf(columns, records[index])));
  }
}

/** One record for each text, or undefined if they are not that, as where a quote is left open. */
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

/** Amounts become the JSON numbers that say exactly what is written. An empty cell is a field that is not given. */
function bodyOf(columns: readonly string[], record: readonly string[] | undefined): unknown {
  if (record === undefined) throw invalid("The line is not valid CSV.");
  if (record.length !== columns.length) {
    throw invalid(`The line has ${record.length} fields, and the header ${columns.length}.`);
  }
  const cells = columns.map((column, index) => [column, record[index] ?? ""] as const);
  return Object.fromEntries(
    cells
      .filter(([, cell]) => cell !== "")
      .map(([column, cell]) => [column, amounts.includes(column) ? amountOf(cell) : cell]),
  );
}

/** Text that is not a decimal is left as it is, and the body's schema refuses it by the field's name. */
function amountOf(cell: string): number | string {
  const amount = parseDecimal(cell);
  return amount === undefined ? cell : exactNumber(amount);
}

function readBody(line: Line): BatchLine {
  return attempt(line, () => parseJson(line.bytes.toString()));
}

function attempt(line: Line, read: () => unknown): BatchLine {
  const { number } = line;
  try {
    const fault = faultOf(line);
    if (fault !== undefined) throw invalid(fault);
    return { number, body: read() };
  } catch (error) {
    if (error instanceof FxError) return { number, fault: error };
    throw error;
  }
}

function invalid(message: string): FxError {
  return new FxError("invalid-request", message);
}

async function* prepend<T>(first: readonly T[], rest: AsyncIterable<readonly T[]>) {
  yield first;
  yield* rest;
}

async function* mapped(
  chunks: AsyncIterable<readonly Line[]>,
  read: (line: Line) => BatchLine,
): AsyncGenerator<readonly BatchLine[]> {
  for await (const lines of chunks) yield lines.map(read);
}
