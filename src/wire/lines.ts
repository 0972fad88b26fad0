import { isUtf8 } from "node:buffer";

/** One line of a file or a request. `number` counts from 1; the bytes are without the line's end. */
export interface Line {
  readonly number: number;
  readonly bytes: Buffer;
}

/** Bytes kept of a line, and one more to tell that it is longer. */
const lineLimit = 16_384;
/** Lines yielded at once: other requests wait while a chunk of lines is handled. */
const linesAtOnce = 64;

/**
 * Reads lines in constant memory, and yields those of each read together, up to a limit. Blank lines are counted and left
 * out, unless they are too long.
 * @param longest the limit in bytes of lines that a program writes. Blank lines are then yielded, too, and so is the
 * beginning of a longer line as soon as it is too long, so that an endless one can be refused
 */
export async function* readLines(
  source: AsyncIterable<Buffer>,
  { longest }: { readonly longest?: number } = {},
): AsyncGenerator<readonly Line[]> {
  const isStrict = longest !== undefined;
  const limit = longest ?? lineLimit;
  let rest: Buffer = Buffer.alloc(0);
  let number = 0;
  let lines: Line[] = [];
  const take = (bytes: Buffer): void => {
    number += 1;
    const isMarked = number === 1 && bytes.subarray(0, 3).equals(byteOrderMark);
    const line = bytes.subarray(isMarked ? 3 : 0, bytes.at(-1) === carriageReturn ? -1 : undefined);
    // A line that is too long is only known by its beginning, so it may not be blank.
    if (isStrict || line.length > limit || !isBlank(line)) lines.push({ number, bytes: line });
  };
  for await (const chunk of source) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      take(joined(rest, chunk.subarray(start, end), limit));
      rest = rest.subarray(0, 0);
      start = end + 1;
      if (number % linesAtOnce > 0) continue;
      yield lines;
      lines = [];
    }
    rest = joined(rest, chunk.subarray(start), limit);
    if (isStrict && rest.length > limit) {
      take(rest);
      rest = rest.subarray(0, 0);
    }
    yield lines;
    lines = [];
  }
  if (rest.length === 0) return;
  take(rest);
  yield lines;
}

/** The reason why a line cannot be read, for people. */
export function lineFault({ bytes }: Line): string | undefined {
  if (bytes.length > lineLimit) return `The line is longer than ${lineLimit / 1024} KiB.`;
  return isUtf8(bytes) ? undefined : "The line is not valid UTF-8.";
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const byteOrderMark = Buffer.from("\ufeff");

function joined(start: Buffer, end: Buffer, limit: number): Buffer {
  if (start.length === 0) return end.length > limit ? end.subarray(0, limit + 2) : end;
  if (start.length > limit) return start;
  return Buffer.concat([start, end.subarray(0, limit + 2)]);
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09);
}
