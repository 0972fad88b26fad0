import { randomFillSync } from "node:crypto";
import { v7, validate } from "uuid";

const bytesPerId = 16;
const pool = new Uint8Array(bytesPerId * 512);
let taken = pool.length;

/** A new UUID, version 7: in the order of time, so that an index of them grows at its end. */
export function entryId(): string {
  if (taken === pool.length) {
    // One call for many ids, because a call costs more than its bytes.
    randomFillSync(pool);
    taken = 0;
  }
  taken += bytesPerId;
  return v7({ random: pool.subarray(taken - bytesPerId, taken) });
}

export function isEntryId(text: string): boolean {
  return validate(text);
}
