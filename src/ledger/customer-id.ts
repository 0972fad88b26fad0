import { createHmac } from "node:crypto";
import { decodeIdentityKey } from "./rows.ts";
import type { Store } from "./store.ts";

const bytes = 10;
const letters = "ABCDEFGHIJKLMNOP";
/** The two letters of each byte. */
const pairs = Array.from({ length: 256 }, (_, byte) => `${letters[byte >> 4]}${letters[byte & 15]}`);

/**
 * What stands for a customer where the PESEL must not be told: 20 letters, 80 bits of its HMAC-SHA256. Without the key
 * nobody can try all PESELs, as with a plain hash. Letters only, because a run of digits might pass for a PESEL.
 * @param key see `identityKeyOf`
 */
export function customerId(pesel: string, key: string): string {
  // The quickest way to its bytes: an audit asks this of each account.
  const digest = createHmac("sha256", key).update(pesel).digest("binary");
  let id = "";
  for (let at = 0; at < bytes; at += 1) id += pairs[digest.charCodeAt(at)];
  return id;
}

/**
 * The ledger's secret for `customerId`: made with its schema, and the same for good.
 * @throws DamagedLedger if there is none, or it was changed
 */
export async function identityKeyOf(store: Store): Promise<string> {
  return decodeIdentityKey((await store.rows("identity_key", { limit: 1 }))[0]);
}
