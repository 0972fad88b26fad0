import { cleanCell } from "./cell.ts";
import { csv, isEmptyRow, separatorIn } from "./csv.ts";
import { decodeText } from "./encoding.ts";
import { type BatchFormat, type BatchLine, invalid, type TextLines } from "./line.ts";
import { ndjson } from "./ndjson.ts";

/** A file of requests. */
export interface BatchFile {
  readonly format: BatchFormat;
  /** The number of lines in the file, with the header and blank ones, except those at the end. */
  readonly lineCount: number;
  /** Its lines, which are read anew each time. */
  readonly lines: () => Iterable<BatchLine>;
}

/** Bytes of UTF-8. A longer line is refused. */
const longestLine = 16_384;

/**
 * Reads a file: CSV under a header of the wire's field names, or a JSON body a line.
 * @param encoding of its text: UTF-8 by default, or what its byte-order mark says
 * @throws UnfitFile if it is neither, or is not in that encoding
 */
export function readFile(bytes: Uint8Array, encoding?: string): BatchFile {
  const { text, isMarked } = decodeText(bytes, encoding);
  const all = textLines(text);
  const { format, start } = formatOf(all, isMarked);
  const isCut = !text.endsWith("\n");
  return {
    format,
    lineCount: all.at(all.length - 1)?.number ?? 0,
    lines: () => format.read(all, start, isCut),
  };
}

function textLines(text: string): TextLines {
  /** The number and the start of each line that is not blank. */
  const found: { readonly numbers: number[]; readonly starts: number[] } = { numbers: [], starts: [] };
  for (let number = 1, start = 0; start < text.length; number += 1) {
    const line = lineAt(text, start);
    if (!/^[ \t]*\r?$/.test(line)) {
      found.numbers.push(number);
      found.starts.push(start);
    }
    start += line.length + 1;
  }
  return {
    length: found.starts.length,
    at: (index) => {
      const [number, start] = [found.numbers[index], found.starts[index]];
      if (number === undefined || start === undefined) return undefined;
      const line = lineAt(text, start).replace(/\r$/, "");
      const fault = isLong(line) ? invalid(`The line is longer than ${longestLine / 1024} KiB.`) : undefined;
      return { number, text: line, fault };
    },
  };
}

/** The line that begins at `start`, with the carriage return at its end, if it has one. */
function lineAt(text: string, start: number): string {
  const end = text.indexOf("\n", start);
  return end < 0 ? text.slice(start) : text.slice(start, end);
}

function isLong(text: string): boolean {
  // A character is up to 3 bytes for each unit of its text.
  return text.length * 3 > longestLine && new TextEncoder().encode(text).length > longestLine;
}

/** The format, recognized by the first line with content, and the index of the first line below the header. */
function formatOf(
  lines: TextLines,
  isMarked: boolean,
): { readonly format: BatchFormat; readonly start: number } {
  let separator: string | undefined;
  for (let index = 0; ; index += 1) {
    const line = lines.at(index);
    if (line === undefined) return { format: { ...ndjson, needsRates: false }, start: lines.length };
    const named = separatorIn(line.text);
    separator ??= named;
    if (named !== undefined || isEmptyRow(line.text)) continue;
    if (cleanCell(line.text).startsWith("{")) return { format: ndjson, start: index };
    return { format: csv(line, isMarked, separator), start: index + 1 };
  }
}
