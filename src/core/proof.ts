import { parseEntry } from "./journal.ts";
import type { AccountHead, ReceiptProof } from "./service.ts";

/** More are refused: their hashes take some 3.4 MB. */
export const laterEntriesAtMost = 50_000;

/** SHA-256 of a text in UTF-8, in hexadecimal. */
type Sha256 = (text: string) => string;

/**
 * The hash of an entry in its account's chain: SHA-256 of the hash of the entry before it (nothing, for the first) and
 * the SHA-256 of the entry's text. So a chain can be followed without the texts.
 */
export function chainedHash(textHash: string, previousHash: string, sha256: Sha256): string {
  return sha256(previousHash + textHash);
}

/** The proof up to the entry that the checkpoint has, or the reason why proof and checkpoint do not fit together. */
export function provenBy(
  proof: ReceiptProof,
  seen: AccountHead | undefined,
  sha256: Sha256,
): ReceiptProof | string {
  const { customer, entries, hash } = proof.head;
  const sequence = sequenceIn(proof.entry);
  let last = chainedHash(sha256(proof.entry), proof.before, sha256);
  const hashes = [last];
  for (const text of proof.after) {
    last = chainedHash(text, last, sha256);
    hashes.push(last);
  }
  if (sequence === undefined || last !== hash || entries !== sequence + proof.after.length) {
    return "The proof was changed: its entry and its hashes do not lead to its head.";
  }
  if (seen === undefined) {
    return `The checkpoint has no customer ${customer}. It is of another ledger, or from before the account was opened.`;
  }
  if (seen.entries < sequence) {
    return `The checkpoint is from before the entry: it has ${seen.entries} entries of the account, and this is entry ${sequence}.`;
  }
  if (seen.entries > entries) {
    return `The proof ends at entry ${entries}, and the checkpoint has ${seen.entries} entries of the account. Have a new proof made.`;
  }
  const length = seen.entries - sequence;
  if (hashes[length] === seen.hash) return { ...proof, after: proof.after.slice(0, length), head: seen };
  return `Entry ${seen.entries} of the account differs from the one in the checkpoint: the proof or the checkpoint was changed, or is of another copy of the ledger.`;
}

function sequenceIn(text: string): number | undefined {
  try {
    return parseEntry(text).sequence;
  } catch {
    return undefined;
  }
}
