import { randomFillSync } from "node:crypto";
import { MAX, NIL, v7, validate } from "uuid";

const bytesPerId = 16;
const positionBytes = 5;
/** One call gets the bytes of many ids, because a call costs more than its bytes. */
const pool = Buffer.alloc(bytesPerId * 512);
const slots = Array.from({ length: pool.length / bytesPerId }, (_, index) =>
  pool.subarray(index * bytesPerId, (index + 1) * bytesPerId),
);
let taken = slots.length;
const newest = { msecs: 0, seq: 0 };

/**
 * A new UUID, version 7: in the order of time, so that an index of them grows at its end, and those of one process in the
 * order in which they were made. With `position`, below 2^40, its last ten digits are that, and an entry is found by its
 * id without any index.
 */
export function entryId(position?: number): string {
  if (taken === slots.length) {
    randomFillSync(pool);
    taken = 0;
  }
  const bytes = slots[taken] as Buffer;
  taken += 1;
  if (position !== undefined) bytes.writeUIntBE(position, bytesPerId - positionBytes, positionBytes);
  const msecs = Date.now();
  newest.seq = msecs > newest.msecs ? bytes.readInt32BE() & 0x3fffffff : newest.seq + 1;
  newest.msecs = Math.max(newest.msecs, msecs);
  v7({ random: bytes, msecs: newest.msecs, seq: newest.seq }, bytes);
  // The library's own text is made of twenty pieces, and takes twice as long.
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The position that the id was made with. */
export function positionInId(id: string): number {
  return Number.parseInt(id.slice(-2 * positionBytes), 16);
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
