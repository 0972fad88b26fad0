import { createHmac } from "node:crypto";
import { MAX, NIL, v7, validate } from "uuid";
import { limits } from "./limits.ts";
import { decodeIdentityKey } from "./rows.ts";
import type { IdRange, Store } from "./store.ts";

/** A new UUID, version 7: the time in milliseconds, then 74 random bits. An index of them grows at its end. */
export function newEntryId(time = new Date()): string {
  return v7({ msecs: time.getTime() });
}

/** The part of an id that says its time. */
function beginningAt(ms: number): string {
  return newEntryId(new Date(Math.max(0, ms))).slice(0, 13);
}

/**
 * The first and the last id that an entry of the time from `start` to `end` can have. An id has the clock's time; the
 * entry's own may be ahead of that, because it is never before that of the account's entry before it.
 */
export function idsOfTime(start: Date, end: Date): IdRange {
  const first = beginningAt(start.getTime() - limits.clockToleranceMs);
  const last = beginningAt(end.getTime() + limits.clockToleranceMs);
  return { first: first + NIL.slice(first.length), last: last + MAX.slice(last.length) };
}

/**
 * The first and the last id that could begin with `text`; undefined if none could. An id begins with its time, so ids
 * with the same 8 characters are of the same 65 seconds.
 */
export function idsFrom(text: string): IdRange | undefined {
  const range = { first: text + NIL.slice(text.length), last: text + MAX.slice(text.length) };
  return text !== "" && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(range.first) ? range : undefined;
}

export function isEntryId(text: string): boolean {
  return validate(text);
}

/** The letters of a pseudonym, one for each hexadecimal digit. */
const letters = "ABCDEFGHIJKLMNOP";

/**
 * The pseudonym of a customer: 20 letters, 80 bits of the PESEL's HMAC-SHA256. Without the key nobody can try all PESELs,
 * as with a plain hash. Letters only, because a run of digits might pass for a PESEL.
 * @param key see `identityKeyOf`
 */
export function customerId(pesel: string, key: string): string {
  const digits = createHmac("sha256", key).update(pesel).digest("hex").slice(0, 20);
  return digits.replace(/./g, (digit) => letters.charAt(Number.parseInt(digit, 16)));
}

/**
 * The ledger's secret for `customerId`: made with its schema, and never changed.
 * @throws DamagedLedger if there is none, or it was changed
 */
export async function identityKeyOf(store: Store): Promise<string> {
  return decodeIdentityKey((await store.rows("identity_key", { limit: 1 }))[0]);
}
