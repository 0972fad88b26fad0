import { hash as digest } from "node:crypto";
import { type Entry, entryText } from "../core/journal.ts";
import type { SealedEntry } from "./store.ts";

/** An entry with its text and its hash in its account's chain. */
export function sealEntry(entry: Entry, previousHash: string): SealedEntry {
  const text = entryText(entry);
  return { entry, text, hash: entryHash(text, previousHash) };
}

/**
 * The hash of an entry in its account's chain: SHA-256 of the hash of the entry before it (nothing, for the first) and
 * the entry's text, in hexadecimal. Editing an entry breaks its hash, and editing the hash breaks the next entry's.
 */
export function entryHash(text: string, previousHash: string): string {
  return sha256(previousHash + text);
}

/** The hash of a row that nothing else in the ledger repeats: an edit of one of its columns shows. */
export function rowHash(...columns: readonly (string | number | null)[]): string {
  return sha256(JSON.stringify(columns));
}

/** In hexadecimal. */
export function sha256(text: string): string {
  return digest("sha256", text, "hex");
}
