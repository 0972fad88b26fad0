import { isUtf8 } from "node:buffer";

/** One line of a file. `number` counts from 1; the bytes are without the line's end. */
export interface Line {
  readonly number: number;
  readonly bytes: Buffer;
}

/** As much as the server takes for a body. Of a longer line only so much and one byte more is kept. */
const lineLimit = 16_384;

/** Reads lines in flat memory, as many at a time as come together. Blank ones are counted and left out. */
export async function* readLines(source: AsyncIterable<Buffer>): AsyncGenerator<readonly Line[]> {
  let rest: Buffer = Buffer.alloc(0);
  let number = 0;
  const lineOf = (bytes: Buffer): Line => {
    number += 1;
    const isMarked = number === 1 && bytes.subarray(0, 3).equals(byteOrderMark);
    const start = isMarked ? 3 : 0;
    return { number, bytes: bytes.subarray(start, bytes.at(-1) === carriageReturn ? -1 : undefined) };
  };
  for await (const chunk of source) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      lines.push(lineOf(joined(rest, chunk.subarray(start, end))));
      rest = rest.subarray(0, 0);
      start = end + 1;
    }
    rest = joined(rest, chunk.subarray(start));
    yield lines.filter(isNotBlank);
  }
  if (rest.length > 0) yield [lineOf(rest)].filter(isNotBlank);
}

/** What keeps a line from being read at all, for people. */
export function faultOf({ bytes }: Line): string | undefined {
  if (bytes.length > lineLimit) return `The line is longer than ${lineLimit / 1024} KiB.`;
  return isUtf8(bytes) ? undefined : "The line is not valid UTF-8.";
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const byteOrderMark = Buffer.from("\ufeff");

function joined(start: Buffer, end: Buffer): Buffer {
  if (start.length === 0) return end.length > lineLimit ? end.subarray(0, lineLimit + 2) : end;
  if (start.length > lineLimit) return start;
  return Buffer.concat([start, end.subarray(0, lineLimit + 2)]);
}

function isNotBlank({ bytes }: Line): boolean {
  return bytes.some((byte) => byte !== 0x20 && byte !== 0x09);
}
