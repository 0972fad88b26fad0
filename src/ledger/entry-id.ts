import { randomFillSync } from "node:crypto";
import { v7, validate } from "uuid";

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

export function isEntryId(text: string): boolean {
  return validate(text);
}
