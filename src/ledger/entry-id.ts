import { MAX, NIL, v7, validate } from "uuid";

/**
 * A new UUID, version 7: in the order of time, so that an index of them grows at its end, and those of one process in the
 * order in which they were made.
 */
export function entryId(): string {
  return v7();
}

/**
 * The first and the last id that could begin with `text`; undefined if none could. An id begins with its time, so those
 * that begin with the same 8 characters are of 65 seconds.
 */
export function idsFrom(text: string): IdRange | undefined {
  const range = { first: text + NIL.slice(text.length), last: text + MAX.slice(text.length) };
  return text !== "" && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(range.first) ? range : undefined;
}

/** Both included. */
export interface IdRange {
  readonly first: string;
  readonly last: string;
}

export function isEntryId(text: string): boolean {
  return validate(text);
}
