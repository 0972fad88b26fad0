import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { Beginning, empty } from "../../../batch/beginning.ts";
import { EncodingEvidence } from "../../../batch/encoding-evidence.ts";
import { BatchId } from "../../../batch/keys.ts";
import {
  type BatchFormat,
  type BatchLine,
  inAnotherEncoding,
  invalid,
  type TextLine,
} from "../../../batch/line.ts";
import { UnfitFile } from "../../../batch/unfit-file.ts";
import { faultOf, type Line, notUtf8, readLines } from "../../../wire/lines.ts";
import { UsageError } from "../../errors.ts";
import { reasonOf } from "../../reason.ts";
import { digestOf } from "./digest.ts";
import { decode, encodingNamed } from "./encoding.ts";

export interface Batch {
  readonly id: string;
  /** Whether `id` was made up, because nothing was given and the input cannot be read twice. */
  readonly isRandomId: boolean;
  /** How many lines the file has; undefined for a pipe. */
  readonly lineCount: number | undefined;
  /** Whether lines that cannot be read are missing from an id that was made of the lines. */
  readonly hasUnread: boolean;
  readonly format: BatchFormat;
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
 * @param encoding of its text: UTF-8 by default, or what its byte-order mark says
 * @throws UsageError if it cannot be read, or is neither
 */
export async function openBatch(
  path: string,
  stdin: Readable,
  id?: string,
  encoding?: string,
): Promise<Batch> {
  if (encoding !== undefined) encodingNamed(encoding);
  const facts = path === "-" ? undefined : await reading(path, () => survey(path, encoding));
  if (facts === undefined) {
    const source = path === "-" ? stdin : createReadStream(path);
    return open(path, source, { id: id ?? randomUUID(), isRandomId: id === undefined }, encoding);
  }
  const { version, lineCount } = facts;
  const again = async (): Promise<Batch> => {
    const of = { id: id ?? facts.id, hasUnread: id === undefined && facts.hasUnread, lineCount, again };
    const batch = await open(path, createReadStream(path), of, encoding);
    return { ...batch, lines: whileUnchanged(batch.lines, { path, id: batch.id, version, lineCount }) };
  };
  return again();
}

async function open(
  path: string,
  source: Readable,
  facts: Pick<Batch, "id"> & Partial<Pick<Batch, "isRandomId" | "hasUnread" | "lineCount" | "again">>,
  encoding: string | undefined,
): Promise<Batch> {
  // A file was judged as a whole, and a pipe can be read but once: its first lines have to do.
  const evidence = facts.again === undefined && encoding !== undefined ? evidenceFor(encoding) : undefined;
  const { format, first, later } = await reading(path, async () => {
    const begun = await begin(source, encoding, evidence);
    const fault = evidence?.fault();
    if (fault !== undefined) throw fault;
    return begun;
  });
  return {
    isRandomId: false,
    hasUnread: false,
    lineCount: undefined,
    again: undefined,
    ...facts,
    format,
    lines: readAll(format, first, later),
    close: () => void source.destroy(),
  };
}

function evidenceFor(encoding: string | undefined): EncodingEvidence {
  return new EncodingEvidence(encoding === undefined ? undefined : encodingNamed(encoding));
}

/** The format, the first lines for it to read, and what follows. */
async function begin(source: Readable, encoding: string | undefined, evidence?: EncodingEvidence) {
  const { chunks, isMarked } = await decode(source, encoding, evidence);
  const later = new Lines(chunks);
  const beginning = new Beginning(isMarked);
  for (;;) {
    const { value, done } = await later.chunks.next();
    if (done) return { format: empty, first: [], later };
    const begun = beginning.formatIn(value);
    if (begun !== undefined) return { ...begun, later };
  }
}

/** Read at a time at most: before each time, a file is asked whether it was written to. */
const linesAtOnce = 512;

/** The lines of a file, and whether it is at its end. What comes then is a line without an end. */
class Lines {
  isEnd = false;
  /** How many lines were read, blank ones among them but for those at the end. */
  count = 0;
  readonly chunks: AsyncGenerator<readonly TextLine[]>;

  constructor(source: AsyncIterable<Buffer>) {
    this.chunks = this.#texts(readLines(this.#tracked(source), { atOnce: linesAtOnce }));
  }

  async *#tracked(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    yield* source;
    this.isEnd = true;
  }

  async *#texts(chunks: AsyncIterable<readonly Line[]>): AsyncGenerator<readonly TextLine[]> {
    for await (const lines of chunks) {
      this.count = lines.at(-1)?.number ?? this.count;
      yield lines.map(textOf);
    }
  }
}

function textOf(line: Line): TextLine {
  const { number, bytes } = line;
  const what = faultOf(line);
  const fault = what === undefined ? undefined : what === notUtf8 ? inAnotherEncoding(number) : invalid(what);
  return { number, text: bytes.toString(), fault };
}

/** @throws UsageError */
async function reading<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (error instanceof UnfitFile) throw new UsageError(error.message);
    throw new UsageError(`${path} cannot be read (${reasonOf(error)}).`);
  }
}

interface Survey {
  readonly id: string;
  readonly hasUnread: boolean;
  readonly lineCount: number;
  readonly version: string;
}

/**
 * What a file's lines ask for, and their number; undefined for a pipe, which can be read but once.
 * @throws UsageError if it is still being written: its id would change when it is complete, and its lines would be done twice
 * @throws UnfitFile
 */
async function survey(path: string, encoding: string | undefined): Promise<Survey | undefined> {
  const version = await versionOf(path);
  if (version === undefined) return undefined;
  const source = createReadStream(path);
  const batch = new BatchId(digestOf);
  const evidence = evidenceFor(encoding);
  let lineCount: number;
  try {
    const { format, first, later } = await begin(source, encoding, evidence);
    for await (const lines of readAll(format, first, later)) {
      for (const line of lines) {
        if (line.fault instanceof UnfitFile) throw evidence.fault() ?? line.fault;
        batch.add(line);
      }
    }
    const fault = evidence.fault();
    if (fault !== undefined) throw fault;
    lineCount = later.count;
  } finally {
    source.destroy();
  }
  if ((await versionOf(path)) !== version) {
    throw new UsageError(`${writtenTo(path)} Run it when it is complete.`);
  }
  return { id: batch.id, hasUnread: batch.hasUnread, lineCount, version };
}

/** Changes with every change of the file; undefined for a pipe. */
async function versionOf(path: string): Promise<string | undefined> {
  const facts = await stat(path, { bigint: true });
  return facts.isFile() ? `${facts.ino} ${facts.size} ${facts.mtimeNs}` : undefined;
}

/** Gives the lines that were read before the file changed, and then one with a fault that ends the batch. */
async function* whileUnchanged(
  chunks: AsyncIterable<readonly BatchLine[]>,
  { path, id, version, lineCount }: Omit<Survey, "hasUnread"> & { readonly path: string },
): AsyncGenerator<readonly BatchLine[]> {
  const isSame = async () => (await versionOf(path).catch(() => undefined)) === version;
  const fault = new UnfitFile(
    "changed",
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
  format: BatchFormat,
  first: readonly TextLine[],
  later: Lines,
): AsyncGenerator<readonly BatchLine[]> {
  yield format.read(first, later.isEnd);
  for await (const lines of later.chunks) yield format.read(lines, later.isEnd);
  yield format.read([], true);
}
