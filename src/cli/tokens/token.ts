import { createHash, randomBytes } from "node:crypto";

/**
 * A token is "fxt_", 256 random bits as 43 digits of base 62, and their CRC-32 as 6 more. Those who search for leaked
 * secrets know one by its form.
 */
export const checkSumLength = 6;
const form = /^fxt_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

export function createToken(): string {
  const secret = base62(BigInt(`0x${randomBytes(32).toString("hex")}`), 43);
  return `fxt_${secret}${checkSumOf(secret)}`;
}

/** Whether the text has the form of a token, and its check sum is right. */
export function isToken(text: string): boolean {
  const [, secret = "", checkSum] = form.exec(text) ?? [];
  return checkSum === checkSumOf(secret);
}

/** The SHA-256. A faster hash than that of passwords will do, because nobody can try 2^256 tokens. */
export function hashOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

function checkSumOf(secret: string): string {
  return base62(BigInt(crc32(Buffer.from(secret))), checkSumLength);
}

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function base62(number: bigint, length: number): string {
  let text = "";
  for (let rest = number; rest > 0n; rest /= 62n) text = digits.charAt(Number(rest % 62n)) + text;
  return text.padStart(length, "0");
}

/** Node's own came with 20.15. */
function crc32(bytes: Uint8Array): number {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}
