import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { EncodingEvidence } from "../../../batch/encoding.ts";
import { empty, FormatDetector } from "../../../batch/format.ts";
import { BatchId } from "../../../batch/keys.ts";
import {
  type BatchFormat,
  type BatchLine,
  inAnotherEncoding,
  invalid,
  type TextLine,
} from "../../../batch/line.ts";
import { UnfitFile } from "../../../batch/unfit-file.ts";
import { type Line, lineFault, notUtf8, readLines } from "../../../wire/lines.ts";
import { UsageError } from "../../errors.ts";
import { reasonOf } from "../../reason.ts";
import { digestOf } from "./digest.ts";
import { decode, encodingNamed } from "./encoding.ts";

export interface Batch {
  readonly id: string;
  /** The number of lines in the file; undefined for a pipe. */
  readonly lineCount: number | undefined;
  /** Whether lines that cannot be read are missing from an id that was made of the lines. */
  readonly hasUnread: boolean;
  readonly format: BatchFormat;
  /** The lines, grouped as they arrive. They can be read once. */
  readonly lines: AsyncIterable<readonly BatchLine[]>;
  /** Opens the same batch from its start; undefined for a pipe, which can be read only once. */
  readonly again: (() => Promise<Batch>) | undefined;
  /** Stops reading. */
  close(): void;
}

/**
 * Opens a batch: CSV under a header of the wire's field names, or a JSON body a line.
 * @param path of the file; "-" is standard input
 * @param id by default made of what the lines ask for, or random for a pipe
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
  const survey = path === "-" ? undefined : await readable(path, () => surveyOf(path, encoding));
  if (survey === undefined) {
    const source = path === "-" ? stdin : createReadStream(path);
    const opened = await readable(path, () => openPipe(source, encoding));
    const facts = { id: id ?? randomUUID(), lineCount: undefined, hasUnread: false, again: undefined };
    return { ...facts, ...linesIn(opened), close: () => void source.destroy() };
  }
  const { version, lineCount } = survey;
  const again = async (): Promise<Batch> => {
    const facts = { id: id ?? survey.id, hasUnread: id === undefined && survey.hasUnread, lineCount, again };
    const source = createReadStream(path);
    const { format, lines } = linesIn(await readable(path, () => begin(source, encoding)));
    const checked = whileUnchanged(lines, { path, id: facts.id, version, lineCount });
    return { ...facts, format, lines: checked, close: () => void source.destroy() };
  };
  return again();
}

/** A file whose format is known from its first lines. */
interface Begun {
  readonly format: BatchFormat;
  readonly first: readonly TextLine[];
  readonly rest: LineReader;
}

async function begin(source: Readable, encoding?: string, evidence?: EncodingEvidence): Promise<Begun> {
  const { chunks, isMarked } = await decode(source, encoding, evidence);
  const rest = new LineReader(chunks);
  const beginning = new FormatDetector(isMarked);
  for (;;) {
    const { value, done } = await rest.chunks.next();
    if (done) return { format: empty, first: [], rest };
    const begun = beginning.formatIn(value);
    if (begun !== undefined) return { ...begun, rest };
  }
}

/** A pipe can be read only once, so its first lines have to show that they are not in another encoding. */
async function openPipe(source: Readable, encoding: string | undefined): Promise<Begun> {
  const evidence = encoding === undefined ? undefined : new EncodingEvidence(encodingNamed(encoding));
  const begun = await begin(source, encoding, evidence);
  const fault = evidence?.fault();
  if (fault !== undefined) throw fault;
  return begun;
}

function linesIn({ format, first, rest }: Begun): Pick<Batch, "format" | "lines"> {
  async function* lines(): AsyncGenerator<readonly BatchLine[]> {
    yield format.read(first, rest.isEnd);
    for await (const chunk of untilFault(rest.chunks)) {
      if (chunk instanceof UnfitFile) {
        return yield [{ number: rest.count + 1, text: "", fault: chunk, withKey: () => "" }];
      }
      yield format.read(chunk, rest.isEnd);
    }
    yield format.read([], true);
  }
  return { format, lines: lines() };
}

/** The chunks; an error of reading them is the last, because the lines before it may have been done. */
async function* untilFault<T>(chunks: AsyncIterable<T>): AsyncGenerator<T | UnfitFile> {
  try {
    yield* chunks;
  } catch (error) {
    const reason = `The rest of the file cannot be read (${reasonOf(error)}).`;
    yield new UnfitFile("changed", error instanceof UsageError ? error.message : reason);
  }
}

/** Lines that are read together. Before each group, the file is checked for changes. */
const groupSize = 512;

/** Reads lines, and knows whether the source is at its end. A line that comes then has no line end. */
class LineReader {
  isEnd = false;
  /** The number of lines so far, with blank ones, except those at the end. */
  count = 0;
  readonly chunks: AsyncGenerator<readonly TextLine[]>;

  constructor(source: AsyncIterable<Buffer>) {
    this.chunks = this.#texts(readLines(this.#tracked(source), { atOnce: groupSize }));
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
  const what = lineFault(line);
  const fault = what === undefined ? undefined : what === notUtf8 ? inAnotherEncoding(number) : invalid(what);
  return { number, text: bytes.toString(), fault };
}

/** @throws UsageError */
async function readable<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (error instanceof UnfitFile) throw new UsageError(error.message);
    throw new UsageError(`${path} cannot be read (${reasonOf(error)}).`);
  }
}

interface Survey extends Pick<Batch, "id" | "hasUnread"> {
  readonly lineCount: number;
  readonly version: string;
}

/**
 * Reads a whole file, for the id that its lines have; undefined for a pipe.
 * @throws UsageError if it is still being written: its id would change when it is complete, and its lines would be done twice
 * @throws UnfitFile
 */
async function surveyOf(path: string, encoding: string | undefined): Promise<Survey | undefined> {
  const version = await versionOf(path);
  if (version === undefined) return undefined;
  const source = createReadStream(path);
  const batchId = new BatchId(digestOf);
  const evidence = new EncodingEvidence(encoding === undefined ? undefined : encodingNamed(encoding));
  let lineCount: number;
  try {
    const begun = await begin(source, encoding, evidence);
    for await (const lines of linesIn(begun).lines) {
      for (const line of lines) {
        if (line.fault instanceof UnfitFile) throw evidence.fault() ?? line.fault;
        batchId.add(line);
      }
    }
    lineCount = begun.rest.count;
  } finally {
    source.destroy();
  }
  const fault = evidence.fault();
  if (fault !== undefined) throw fault;
  if ((await versionOf(path)) !== version) {
    throw new UsageError(`${writtenTo(path)} Run it when it is complete.`);
  }
  return { id: batchId.id, hasUnread: batchId.hasUnread, lineCount, version };
}

/** Changes with every change of the file; undefined for a pipe. */
async function versionOf(path: string): Promise<string | undefined> {
  const facts = await stat(path, { bigint: true });
  return facts.isFile() ? `${facts.ino} ${facts.size} ${facts.mtimeNs}` : undefined;
}

/** The lines that were read before the file changed, and then one with a fault that ends the batch. */
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
  // The file may have been cut off.
  if (last < lineCount && !(await isSame())) yield [{ number: last + 1, text: "", fault, withKey: () => "" }];
}

function writtenTo(path: string): string {
  return `${path} was written to while it was read.`;
}
