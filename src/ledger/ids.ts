import { createHmac, randomUUID } from "node:crypto";
import { MAX, NIL, validate } from "uuid";
import { decodeIdentityKey } from "./rows.ts";
import type { Store } from "./store.ts";

/**
 * A new UUID, version 7 (RFC 9562): the time in milliseconds, then random bits. An index of them grows at its end. Its
 * random bits are those of Node's UUID, version 4, because Node keeps a stock of them.
 */
export function newEntryId(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/**
 * The first and the last id that could begin with `text`; undefined if none could. An id begins with its time, so ids
 * with the same 8 characters are of the same 65 seconds.
 */
export function idsFrom(text: string): { readonly first: string; readonly last: string } | undefined {
  const range = { first: text + NIL.slice(text.length), last: text + MAX.slice(text.length) };
  return text !== "" && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(range.first) ? range : undefined;
}

export function isEntryId(text: string): boolean {
  return validate(text);
}

/** One for each hexadecimal digit. */
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
