import { setImmediate as nextTurn } from "node:timers/promises";
import type { Holder } from "../core/account.ts";
import { FxError } from "../core/errors.ts";
import type { Entry } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import { backwards } from "./as-of.ts";
import type { Store, StoredAccount } from "./store.ts";

/** Sequences of entries, both included. */
interface Range {
  readonly oldest: number;
  readonly newest: number;
}

/** So many accounts are remembered at most. */
const most = 10_000;

/**
 * Whose an account was when an entry was made. An entry tells it only where it changes, so the entries after it are read,
 * back from the newest. What was read without finding a change is remembered: whoever repeats a whole batch asks for
 * each entry of an account.
 */
export class Holders {
  readonly #store: Store;
  /** Entries of an account that were all made for one holder. */
  readonly #unchanged = new Map<Pesel, Range>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** @param now the account as it is after `entry` or later */
  async at(entry: Entry, now: StoredAccount): Promise<Holder> {
    if (entry.holder !== undefined) return entry.holder;
    if (await this.#isUnchanged(entry, now)) return now;
    for await (const { entry: earlier } of backwards(this.#store, entry.pesel, nextTurn, { before: entry })) {
      if (earlier.holder !== undefined) return earlier.holder;
    }
    throw new FxError("storage-unavailable", "The account's journal has no name. Run fx audit.");
  }

  /** Whether no entry after `entry` up to `now` has another holder. */
  async #isUnchanged({ pesel, sequence }: Entry, now: StoredAccount): Promise<boolean> {
    if (sequence === now.sequence) return true;
    const known = this.#unchanged.get(pesel) ?? { oldest: now.sequence, newest: 0 };
    const isKnownSince = (other: number) => known.oldest <= sequence && other <= known.newest;
    if (isKnownSince(now.sequence)) return true;
    for await (const { entry } of backwards(this.#store, pesel, nextTurn)) {
      if (entry.sequence <= sequence || isKnownSince(entry.sequence)) break;
      if (entry.sequence <= now.sequence && entry.holder !== undefined) return false;
    }
    if (this.#unchanged.size >= most) this.#unchanged.clear();
    const oldest = isKnownSince(sequence) ? known.oldest : sequence;
    this.#unchanged.set(pesel, { oldest, newest: now.sequence });
    return true;
  }
}
