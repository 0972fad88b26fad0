import { createHmac } from "node:crypto";
import { decodeIdentityKey } from "./rows.ts";
import type { Store } from "./store.ts";

/** One for each hexadecimal digit. */
const letters = "ABCDEFGHIJKLMNOP";

/**
 * What stands for a customer where the PESEL must not be told: 20 letters, 80 bits of its HMAC-SHA256. Without the key
 * nobody can try all PESELs, as with a plain hash. Letters only, because a run of digits might pass for a PESEL.
 * @param key see `identityKeyOf`
 */
export function customerId(pesel: string, key: string): string {
  const digits = createHmac("sha256", key).update(pesel).digest("hex").slice(0, 20);
  return digits.replace(/./g, (digit) => letters.charAt(Number.parseInt(digit, 16)));
}

/**
 * The ledger's secret for `customerId`: made with its schema, and the same for good.
 * @throws DamagedLedger if there is none, or it was changed
 */
export async function identityKeyOf(store: Store): Promise<string> {
  return decodeIdentityKey((await store.rows("identity_key", { limit: 1 }))[0]);
}
