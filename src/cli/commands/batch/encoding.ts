import type { EncodingEvidence } from "../../../batch/encoding.ts";
import { encodingMarked } from "../../../batch/encoding.ts";
import { UsageError } from "../../errors.ts";

/** A file's text as UTF-8 bytes. */
export interface Decoded {
  readonly chunks: AsyncIterable<Buffer>;
  /** Whether a spreadsheet needs a byte-order mark to read such a file in UTF-8. */
  readonly isMarked: boolean;
}

/**
 * Reads a file in `encoding`, UTF-8 by default. A byte-order mark in the file says it better.
 * @param evidence is shown all that it reads, unless there is a mark
 * @throws UnfitFile if it is no text but a workbook
 * @throws UsageError while it is read, if it is not valid UTF-16
 */
export async function decode(
  source: AsyncIterable<Buffer>,
  encoding?: string,
  evidence?: EncodingEvidence,
): Promise<Decoded> {
  const chunks = source[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 4) {
    const { value, done } = await chunks.next();
    if (done) break;
    head = Buffer.concat([head, value]);
  }
  const mark = encodingMarked(head);
  const name = mark ?? encodingNamed(encoding ?? "utf-8");
  const bytes = chain(head, { [Symbol.asyncIterator]: () => chunks });
  const whole = mark === undefined && evidence !== undefined ? shown(bytes, evidence) : bytes;
  return name === "utf-8"
    ? { chunks: withLines(whole), isMarked: mark !== undefined }
    : { chunks: withLines(transcode(whole, name)), isMarked: true };
}

/** In bytes. A line over 16 KiB is refused; one over this is no line. */
const endless = 16 * 1024 * 1024;

/** @throws UsageError at a line without an end, as of a device, which would be read for ever */
async function* withLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let length = 0;
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf("\n");
    length = end < 0 ? length + chunk.length : chunk.length - end - 1;
    if (length > endless) throw new UsageError("This is no file of lines: one of them has more than 16 MiB.");
    yield chunk;
  }
}

/**
 * The standard name of an encoding: "windows-1250" for "CP1250".
 * @throws UsageError if there is none
 */
export function encodingNamed(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    throw new UsageError(`"${label}" is not an encoding that fx reads. Save the file as CSV UTF-8.`);
  }
}

/** Shows the evidence whole lines, before anybody reads them. */
async function* shown(chunks: AsyncIterable<Buffer>, evidence: EncodingEvidence): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf("\n") + 1;
    if (end > 0) {
      evidence.add(Buffer.concat([rest, chunk.subarray(0, end)]));
      rest = chunk.subarray(end);
    } else if (rest.length < endless) rest = Buffer.concat([rest, chunk]);
    yield chunk;
  }
  evidence.add(rest);
}

async function* chain(head: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  yield* rest;
}

async function* transcode(chunks: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const decoded = (chunk?: Buffer) => {
    try {
      return Buffer.from(decoder.decode(chunk, { stream: chunk !== undefined }));
    } catch {
      throw new UsageError(`The file is not valid ${encoding}. Save it as CSV UTF-8, and run that file.`);
    }
  };
  for await (const chunk of chunks) yield decoded(chunk);
  yield decoded();
}
