import { sha256 } from "@noble/hashes/sha2.js";
import { EncodingEvidence, encodingMarked } from "../../batch/encoding.ts";
import { empty, FormatDetector } from "../../batch/format.ts";
import { BatchId, type KeyedLine, LineKeys } from "../../batch/keys.ts";
import {
  type BatchFormat,
  type BatchLine,
  inAnotherEncoding,
  invalid,
  type TextLine,
} from "../../batch/line.ts";
import { type DoneLine, doneText, refusedText } from "../../batch/result.ts";
import { UnfitFile } from "../../batch/unfit-file.ts";
import type { FxError } from "../../core/errors.ts";

export interface BatchFile {
  /** The id of the batch, equal to that of `fx batch`: a batch that was begun here can be finished there. */
  readonly id: string;
  readonly format: BatchFormat;
  readonly lines: readonly KeyedLine[];
}

/** In UTF-8. A longer line is refused. */
const longestLine = 16_384;

/**
 * Reads a whole file as of `today`.
 * @param encoding of its text: UTF-8 by default, or what its byte-order mark says
 * @throws UnfitFile
 */
export function readBatch(bytes: Uint8Array, today: string, encoding?: string): BatchFile {
  const mark = encodingMarked(bytes.subarray(0, 4));
  const name = mark ?? encoding ?? "utf-8";
  if (mark === undefined) requireLikely(bytes, encoding);
  const [whole, last] = textLines(decoded(bytes, name));
  const isMarked = mark !== undefined || name !== "utf-8";
  const begun = new FormatDetector(isMarked).formatIn([...whole, ...last]);
  const format = begun?.format ?? empty;
  const first = begun?.first[0]?.number ?? Infinity;
  const read: readonly BatchLine[] = [
    ...format.read(
      whole.filter(({ number }) => number >= first),
      false,
    ),
    ...format.read(
      last.filter(({ number }) => number >= first),
      true,
    ),
    ...format.read([], true),
  ];
  const batch = new BatchId(digestOf);
  for (const line of read) {
    if (line.fault instanceof UnfitFile) throw line.fault;
    batch.add(line);
  }
  const { id } = batch;
  const keys = new LineKeys(id, today, digestOf);
  return { id, format, lines: read.map((line) => keys.of(line)) };
}

/** How a file reads whose encoding is in doubt. */
export interface Readings {
  /** The first line that is not valid UTF-8. */
  readonly line: number | undefined;
  /** The first words with letters beyond ASCII, in each encoding that they may be in. */
  readonly readings: readonly { readonly encoding: string; readonly words: readonly string[] }[];
}

const shownWords = 5;

/** @param tried the encoding that it is not in */
export function readingsOf(bytes: Uint8Array, tried: string | undefined): Readings {
  const lenient = new TextDecoder().decode(bytes);
  const fault = lenient.indexOf("\ufffd");
  // One character for each byte, so that a place in the text is one in the bytes.
  const text = new TextDecoder("windows-1250").decode(bytes);
  const words = [...text.matchAll(/[^ \t\r\n;,"]*[^\0-\x7f][^ \t\r\n;,"]*/g)].slice(0, shownWords);
  const encodings = ["windows-1250", "iso-8859-2"].filter((encoding) => encoding !== tried);
  return {
    line: fault < 0 ? undefined : lenient.slice(0, fault).split("\n").length,
    readings: encodings.map((encoding) => ({
      encoding,
      words: words.map(({ index, 0: word }) =>
        new TextDecoder(encoding).decode(bytes.subarray(index, index + word.length)),
      ),
    })),
  };
}

/** @throws UnfitFile if the text cannot be in that encoding */
function requireLikely(bytes: Uint8Array, encoding: string | undefined): void {
  const evidence = new EncodingEvidence(encoding);
  evidence.add(bytes);
  const fault = evidence.fault();
  if (fault !== undefined) throw fault;
}

function decoded(bytes: Uint8Array, encoding: string): string {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw inAnotherEncoding(readingsOf(bytes, encoding).line ?? 1);
  }
}

/** The lines that have an end, and one without. */
function textLines(text: string): readonly [readonly TextLine[], readonly TextLine[]] {
  const texts = text.split("\n");
  const lines = texts.flatMap((whole, index): TextLine[] => {
    const line = whole.endsWith("\r") ? whole.slice(0, -1) : whole;
    if (/^[ \t]*$/.test(line)) return [];
    const fault = isLong(line) ? invalid(`The line is longer than ${longestLine / 1024} KiB.`) : undefined;
    return [{ number: index + 1, text: line, fault }];
  });
  const isOpen = lines.at(-1)?.number === texts.length;
  return [isOpen ? lines.slice(0, -1) : lines, isOpen ? lines.slice(-1) : []];
}

function isLong(text: string): boolean {
  // A character is up to 3 bytes for each unit of its text.
  return text.length * 3 > longestLine && new TextEncoder().encode(text).length > longestLine;
}

/** As keys are made of it. */
function digestOf(text: string): string {
  const digest = sha256(new TextEncoder().encode(text)).subarray(0, 12);
  return btoa(String.fromCharCode(...digest))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}

/** The result of a line. */
export type AnsweredLine =
  | DoneLine
  | { readonly line: KeyedLine; readonly state: "refused"; readonly error: FxError };

/** The results as `fx batch` writes them, a JSON document a line. */
export function resultsText(results: readonly AnsweredLine[]): string {
  return results
    .map((result) => {
      if (result.state !== "refused") return doneText(result, false);
      const { code, message, fields, replayed } = result.error;
      const failure = {
        code,
        message,
        ...(replayed && { replayed }),
        ...(fields !== undefined && { errors: fields }),
      };
      return refusedText(result.line, failure, false);
    })
    .join("");
}

/**
 * The refused lines under new keys, to correct and run. Without those whose keys were used before: a new key could do
 * again what was done.
 */
export function rejectsText(header: string | undefined, results: readonly AnsweredLine[]): string {
  const lines = results.flatMap((result) =>
    result.state === "refused" && result.error.code !== "idempotency-key-reused"
      ? [result.line.forRejects(result.error.code)]
      : [],
  );
  if (lines.length === 0) return "";
  return `${[...(header === undefined ? [] : [header]), ...lines].join("\n")}\n`;
}
