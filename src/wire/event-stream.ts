import type { Receipt } from "../core/journal.ts";
import { decodeAnswer } from "./answers.ts";
import { entry } from "./entries.ts";

/** Entries as server-sent events (WHATWG HTML, 9.2): the id of an event is that of its entry, the data its receipt. */

export const eventStreamType = "text/event-stream";

/** A comment, which keeps a connection open on which nothing happens. */
export const quietComment = ":\n\n";

export function encodeEvents(receipts: readonly Receipt[]): string {
  const texts = receipts.map(
    (receipt) => `id: ${receipt.id}\ndata: ${JSON.stringify(entry.encode(receipt))}\n\n`,
  );
  return texts.join("") || quietComment;
}

/**
 * Reads a line of the stream; undefined for one without data. An event's data is one line.
 * @throws FxError internal, SyntaxError if fx does not send such a line
 */
export function decodeEventLine(line: string): Receipt | undefined {
  return line.startsWith("data:") ? decodeAnswer(entry, JSON.parse(line.slice("data:".length))) : undefined;
}
