import { createHmac } from "node:crypto";

const length = 20;
const letters = "ABCDEFGHIJKLMNOP";

/**
 * What stands for a customer where the PESEL must not be told: 20 letters, 80 bits of its HMAC-SHA256. Without the key
 * nobody can try all PESELs, as with a plain hash. Letters only, because a run of digits might pass for a PESEL.
 * @param key the ledger's `identityKey`
 */
export function customerId(pesel: string, key: string): string {
  const digest = createHmac("sha256", key).update(pesel).digest("hex");
  return digest.slice(0, length).replace(/./g, (digit) => letters[Number.parseInt(digit, 16)] as string);
}
