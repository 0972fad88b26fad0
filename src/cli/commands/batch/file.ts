import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { type Line, readLines } from "../../../wire/lines.ts";
import { UsageError } from "../../errors.ts";
import { csv } from "./csv.ts";
import type { BatchLine, Format } from "./line.ts";
import { ndjson } from "./ndjson.ts";

export interface Batch {
  readonly id: string;
  /** Whether `id` was made up, because nothing was given and the input cannot be read twice. */
  readonly isRandomId: boolean;
  /** How many lines the file has; undefined for a pipe. */
  readonly lineCount: number | undefined;
  readonly format: Format;
  /** As many at a time as come together. Reads them once. */
  readonly lines: AsyncIterable<readonly BatchLine[]>;
  /** The same batch from its start, where the input can be read twice. */
  readonly again: (() => Promise<Batch>) | undefined;
  /** Stops reading. */
  close(): void;
}

/**
 * Opens a batch: CSV under a header of the wire's field names, or a JSON body a line.
 * @param path of the file; "-" is standard input
 * @throws UsageError if it cannot be read, or is neither
 */
export async function openBatch(path: string, stdin: Readable, id?: string): Promise<Batch> {
  const facts = path === "-" ? undefined : await reading(path, () => survey(path));
  if (facts === undefined) {
    const source = path === "-" ? stdin : createReadStream(path);
    return open(path, source, { id: id ?? randomUUID(), isRandomId: id === undefined });
  }
  const { version, lineCount } = facts;
  const again = async (): Promise<Batch> => {
    const batch = await open(path, createReadStream(path), { id: id ?? facts.id, lineCount, again });
    return { ...batch, lines: whileUnchanged(batch.lines, { path, id: batch.id, version, lineCount }) };
  };
  return again();
}

async function open(
  path: string,
  source: Readable,
  facts: Pick<Batch, "id"> & Partial<Pick<Batch, "isRandomId" | "lineCount" | "again">>,
): Promise<Batch> {
  const chunks = readLines(source);
  const first = await reading(path, () => firstOf(chunks));
  const [head, ...rest] = first;
  const isJson = head?.bytes.toString().trimStart().startsWith("{") === true;
  const format = isJson ? ndjson : head === undefined ? { ...ndjson, hasOrders: false } : csv(head);
  return {
    isRandomId: false,
    lineCount: undefined,
    again: undefined,
    ...facts,
    format,
    lines: readAll(format, isJson ? first : rest, chunks),
    close: () => void source.destroy(),
  };
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

/** Gives the lines that were read before the file changed, and then one with a fault that ends the batch. */
async function* whileUnchanged(
  chunks: AsyncIterable<readonly BatchLine[]>,
  { path, id, version, lineCount }: Survey & { readonly path: string },
): AsyncGenerator<readonly BatchLine[]> {
  const isSame = async () => (await versionOf(path).catch(() => undefined)) === version;
  const fault = new UsageError(
    `${writtenTo(path)} This line and those after it were not begun. ` +
      `When it is complete, run it with --id ${id}: what was done is not done again.`,
  );
  let last = 0;
  for await (const lines of chunks) {
    if (lines.length > 0 && !(await isSame())) {
      yield lines.slice(0, 1).map((line) => ({ ...line, fault }));
      return;
    }
    yield lines;
    last = lines.at(-1)?.number ?? last;
  }
  // It may have been cut off.
  if (last < lineCount && !(await isSame())) yield [{ number: last + 1, text: "", fault, withKey: () => "" }];
}

function writtenTo(path: string): string {
  return `${path} was written to while it was read.`;
}

async function* readAll(
  format: Format,
  first: readonly Line[],
  rest: AsyncIterable<readonly Line[]>,
): AsyncGenerator<readonly BatchLine[]> {
  yield format.read(first);
  for await (const lines of rest) yield format.read(lines);
}
