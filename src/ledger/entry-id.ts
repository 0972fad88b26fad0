import { randomUUID } from "node:crypto";
import { MAX, NIL, validate } from "uuid";

/**
 * A new UUID, version 7 (RFC 9562): the time in milliseconds, then random bits. An index of them grows at its end. Its
 * random bits are those of Node's UUID, version 4, because Node keeps a stock of them.
 */
export function entryId(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/**
 * The first and the last id that could begin with `text`; undefined if none could. An id begins with its time, so those
 * that begin with the same 8 characters are of 65 seconds.
 */
export function idsFrom(text: string): { readonly first: string; readonly last: string } | undefined {
  const range = { first: text + NIL.slice(text.length), last: text + MAX.slice(text.length) };
  return text !== "" && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(range.first) ? range : undefined;
}

export function isEntryId(text: string): boolean {
  return validate(text);
}
