import { cleanCell } from "./cell.ts";
import { csv, isEmptyRow, separatorIn } from "./csv.ts";
import { decodeText } from "./encoding.ts";
import { BatchId, type Digest } from "./keys.ts";
import { type BatchFormat, type BatchLine, invalid, type TextLine } from "./line.ts";
import { ndjson } from "./ndjson.ts";

/** A file of requests. */
export interface BatchFile {
  readonly format: BatchFormat;
  /** The number of lines in the file, with the header and blank ones, except those at the end. */
  readonly lineCount: number;
  /** Its lines, which are read anew each time. */
  readonly lines: () => Iterable<BatchLine>;
}

/** In bytes of UTF-8. A longer line is refused. */
const longestLine = 16_384;

/**
 * Reads a file: CSV under a header of the wire's field names, or a JSON body a line.
 * @param encoding of its text: UTF-8 by default, or what its byte-order mark says
 * @throws UnfitFile if it is neither
 */
export function readFile(bytes: Uint8Array, encoding?: string): BatchFile {
  const { text, isMarked } = decodeText(bytes, encoding);
  const all = textLines(text);
  const { format, lines } = formatOf(all, isMarked);
  const isCut = !text.endsWith("\n");
  return { format, lineCount: all.at(-1)?.number ?? 0, lines: () => format.read(lines, isCut) };
}

/** The id that a file has by its lines. */
export function idOf({ lines }: BatchFile, digestOf: Digest): BatchId {
  const id = new BatchId(digestOf);
  for (const line of lines()) id.add(line);
  return id;
}

function textLines(text: string): TextLine[] {
  return text.split("\n").flatMap((whole, index): TextLine[] => {
    const line = whole.endsWith("\r") ? whole.slice(0, -1) : whole;
    if (/^[ \t]*$/.test(line)) return [];
    const fault = isLong(line) ? invalid(`The line is longer than ${longestLine / 1024} KiB.`) : undefined;
    return [{ number: index + 1, text: line, fault }];
  });
}

function isLong(text: string): boolean {
  // A character is up to 3 bytes for each unit of its text.
  return text.length * 3 > longestLine && new TextEncoder().encode(text).length > longestLine;
}

/** How the lines are written, by the first that has anything in it, and those below the header. */
function formatOf(
  lines: readonly TextLine[],
  isMarked: boolean,
): { readonly format: BatchFormat; readonly lines: readonly TextLine[] } {
  let separator: string | undefined;
  for (const [index, line] of lines.entries()) {
    const named = separatorIn(line.text);
    separator ??= named;
    if (named !== undefined || isEmptyRow(line.text)) continue;
    if (cleanCell(line.text).startsWith("{")) return { format: ndjson, lines: lines.slice(index) };
    return { format: csv(line, isMarked, separator), lines: lines.slice(index + 1) };
  }
  return { format: { ...ndjson, needsRates: false }, lines: [] };
}
