import { randomFillSync } from "node:crypto";
import { MAX, NIL, v7, validate } from "uuid";

const bytesPerId = 16;
const positionBytes = 5;
const pool = Buffer.alloc(bytesPerId * 512);
let taken = pool.length;
const newest = { msecs: 0, seq: 0 };

/**
 * A new UUID, version 7: in the order of time, so that an index of them grows at its end, and those of one process in the
 * order in which they were made. With `position`, below 2^40, its last ten digits are that, and an entry is found by its
 * id without any index.
 */
export function entryId(position?: number): string {
  if (taken === pool.length) {
    // One call gets the bytes for many ids, because a call costs more than its bytes.
    randomFillSync(pool);
    taken = 0;
  }
  taken += bytesPerId;
  if (position !== undefined) pool.writeUIntBE(position, taken - positionBytes, positionBytes);
  const msecs = Date.now();
  newest.seq = msecs > newest.msecs ? pool.readInt32BE(taken - bytesPerId) & 0x3fffffff : newest.seq + 1;
  newest.msecs = Math.max(newest.msecs, msecs);
  return v7({ random: pool.subarray(taken - bytesPerId, taken), ...newest });
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
