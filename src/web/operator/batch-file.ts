import { sha256 } from "@noble/hashes/sha2.js";
import { readFile } from "../../batch/file.ts";
import { batchIdOf, type KeyedLine, LineKeys } from "../../batch/keys.ts";
import type { BatchFormat } from "../../batch/line.ts";
import { type DoneLine, doneText, refusedText } from "../../batch/result.ts";
import type { FxError } from "../../core/errors.ts";

export interface KeyedFile {
  /** The id of the batch, equal to that of `fx batch`: a batch that was begun here can be finished there. */
  readonly id: string;
  readonly format: BatchFormat;
  readonly lines: readonly KeyedLine[];
}

/**
 * Reads a whole file as of `today`.
 * @param encoding of its text: UTF-8 by default, or what its byte-order mark says
 * @throws UnfitFile
 */
export function readBatch(bytes: Uint8Array, today: string, encoding?: string): KeyedFile {
  const file = readFile(bytes, encoding);
  const { id } = batchIdOf(file.lines(), digestOf);
  const keys = new LineKeys(id, today, digestOf);
  return { id, format: file.format, lines: Array.from(file.lines(), (line) => keys.of(line)) };
}

/** The digest that keys are made of. */
function digestOf(text: string): string {
  const digest = sha256(new TextEncoder().encode(text)).subarray(0, 12);
  return btoa(String.fromCharCode(...digest))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}

/** The result of a line. */
export type AnsweredLine =
  | DoneLine
  | { readonly line: KeyedLine; readonly state: "refused" | "unknown"; readonly error: FxError };

/** The results as `fx batch` writes them, a JSON document a line. */
export function resultsText(results: readonly AnsweredLine[]): string {
  return results
    .map((result) => {
      if (!("error" in result)) return doneText(result, false);
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
