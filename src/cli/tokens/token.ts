import { createHash, randomBytes } from "node:crypto";

/**
 * A token is "fxt_", 256 random bits as 43 digits of base 62, and the first 32 bits of their SHA-256 as 6 more. The
 * checksum lets a scanner for leaked secrets tell a token from other text.
 */
const form = /^fxt_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;
const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

export function createToken(): string {
  const secret = base62(BigInt(`0x${randomBytes(32).toString("hex")}`), 43);
  return `fxt_${secret}${checksumOf(secret)}`;
}

/** Whether the text has the form of a token, and its checksum is right. */
export function isToken(text: string): boolean {
  const [, secret = "", checksum] = form.exec(text) ?? [];
  return checksum === checksumOf(secret);
}

/** The SHA-256. Passwords need a slow hash, but nobody can guess 256 random bits. */
export function hashOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

function checksumOf(secret: string): string {
  return base62(BigInt(hashOf(secret).readUInt32BE()), 6);
}

function base62(number: bigint, length: number): string {
  let text = "";
  for (let rest = number; rest > 0n; rest /= 62n) text = digits.charAt(Number(rest % 62n)) + text;
  return text.padStart(length, "0");
}
