import { hash as digest } from "node:crypto";
import { FxError } from "../core/errors.ts";
import { type Entry, entryText } from "../core/journal.ts";
import type { RateTable, TableInForce } from "../core/rates.ts";
import { gather } from "./gather.ts";
import type { Loaded, SealedEntry, Store, StoredAccount, Touch, Writes } from "./store.ts";

/**
 * The result of one command: an answer and, if it changes anything, the entry and the holder, and the table if it was
 * settled at one.
 */
export interface Outcome<T> {
  readonly answer: T;
  readonly written?: {
    readonly entry: Entry;
    readonly holder: { readonly name: string; readonly surname: string };
    readonly table?: RateTable;
  };
}

/** What decides a command besides its account. */
export interface Circumstances {
  /** The entry that an earlier request with the same key led to. */
  readonly earlier: Entry | undefined;
  /** The ledger's table in force: undefined until the first exchange. */
  readonly inForce: TableInForce | undefined;
  /** The id of the entry to be written. Called once, and only if there is one. */
  readonly nextId: () => string;
}

/** Decides one command on the account as its predecessors leave it. Pure; refuses by throwing an FxError. */
export type Decide<T> = (account: StoredAccount | undefined, circumstances: Circumstances) => Outcome<T>;

interface Pending {
  readonly touch: Touch;
  readonly decide: Decide<unknown>;
  readonly queuedAtMs: number;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

type Verdict = { readonly answer: unknown } | { readonly refusal: unknown };

const batchLimit = 256;
const queueLimit = 16_384;
/** When the store does not answer, one batch waits for its deadline, and those queued behind it do not wait again. */
const longestWaitMs = 10_000;

/**
 * Collects the commands that arrive while each turn of the event loop brings more, or a commit is under way, into the
 * next commit. Each is decided on its own, and nobody is answered before the commit is durable.
 */
export class Batcher {
  readonly #store: Store;
  readonly #longestWaitMs: number;
  #queue: Pending[] = [];
  #running: Promise<void> | undefined;

  constructor(store: Store, options: { longestWaitMs?: number } = {}) {
    this.#store = store;
    this.#longestWaitMs = options.longestWaitMs ?? longestWaitMs;
  }

  /**
   * @throws FxError overloaded, storage-unavailable, and whatever `decide` throws
   */
  run<T>(touch: Touch, decide: Decide<T>): Promise<T> {
    if (this.#queue.length >= queueLimit) {
      return Promise.reject(
        new FxError("overloaded", "Too many orders are waiting for the store. Try again in a moment.", {
          retryAfterSeconds: 1,
        }),
      );
    }
    return new Promise<T>((resolve, reject) => {
      const queuedAtMs = performance.now();
      this.#queue.push({ touch, decide, queuedAtMs, resolve: resolve as (answer: unknown) => void, reject });
      this.#running ??= this.#drain();
    });
  }

  /** Resolves when everything that was taken in has been answered. */
  async drained(): Promise<void> {
    await this.#running;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      await gather(() => this.#queue.length, batchLimit);
      const batch = this.#inTime(this.#queue.splice(0, batchLimit));
      try {
        const verdicts = await this.#commit(batch);
        for (const [index, pending] of batch.entries()) {
          const verdict = verdicts[index] as Verdict;
          if ("refusal" in verdict) pending.reject(verdict.refusal);
          else pending.resolve(verdict.answer);
        }
      } catch (error) {
        for (const pending of batch) pending.reject(error);
      }
    }
    this.#running = undefined;
  }

  /** Refuses those that have waited too long, and returns the others. */
  #inTime(batch: readonly Pending[]): readonly Pending[] {
    const oldestMs = performance.now() - this.#longestWaitMs;
    return batch.filter(({ queuedAtMs, reject }) => {
      if (queuedAtMs >= oldestMs) return true;
      const message =
        "The store was not ready for the order in time: it was not begun, and nothing was changed.";
      reject(new FxError("storage-unavailable", message, { retryAfterSeconds: 1 }));
      return false;
    });
  }

  #commit(batch: readonly Pending[]): Promise<Verdict[]> {
    return this.#store.transact(
      batch.map(({ touch }) => touch),
      (loaded) => {
        const work = new Work(loaded);
        const answer = batch.map((pending) => work.take(pending));
        return { writes: work.writes(), answer };
      },
    );
  }
}

/** The state of a batch while it is decided: what was loaded, overlaid by what was decided so far. */
class Work {
  readonly #loaded: Loaded;
  readonly #accounts = new Map<string, StoredAccount>();
  readonly #keyed = new Map<string, Entry>();
  readonly #entries: SealedEntry[] = [];
  #inForce: TableInForce | undefined;
  /** The table that the ledger's first exchange puts in force. */
  #accepted: Writes["accepted"];

  constructor(loaded: Loaded) {
    this.#loaded = loaded;
    this.#inForce = loaded.inForce;
  }

  take(pending: Pending): Verdict {
    try {
      return { answer: this.#decide(pending) };
    } catch (refusal) {
      return { refusal };
    }
  }

  #decide({ touch: { pesel, key }, decide }: Pending): unknown {
    const touched = this.#accounts.get(pesel);
    const account = touched ?? this.#loaded.account(pesel);
    const inBatch = key === undefined || touched === undefined ? undefined : this.#keyed.get(pesel + key);
    const earlier = inBatch ?? (key === undefined ? undefined : this.#loaded.entryByKey(pesel, key));
    const circumstances = { earlier, inForce: this.#inForce, nextId: this.#loaded.nextId };
    const { answer, written } = decide(account, circumstances);
    if (written !== undefined) this.#append(written, account?.hash ?? "");
    return answer;
  }

  writes(): Writes {
    return { accounts: [...this.#accounts.values()], entries: this.#entries, accepted: this.#accepted };
  }

  #append({ entry, holder, table }: NonNullable<Outcome<unknown>["written"]>, previousHash: string): void {
    const sealed = sealEntry(entry, previousHash);
    const { pesel, sequence, key, balances } = entry;
    this.#entries.push(sealed);
    this.#accounts.set(pesel, {
      pesel,
      name: holder.name,
      surname: holder.surname,
      balances,
      sequence,
      hash: sealed.hash,
    });
    if (key !== undefined) this.#keyed.set(pesel + key, entry);
    if (table !== undefined && this.#inForce === undefined) {
      this.#inForce = { epoch: 1, table };
      this.#accepted = { table, vouched: false };
    }
  }
}

/** An entry with its text and its hash in its account's chain. */
export function sealEntry(entry: Entry, previousHash: string): SealedEntry {
  // Cut out of the hashed text, which V8 has joined by then; joining it again would cost as much again.
  const hashed = previousHash + entryText(entry);
  return { entry, hash: sha256(hashed), text: hashed.slice(previousHash.length) };
}

/**
 * The hash of an entry in its account's chain: SHA-256 of the hash of the entry before it (nothing, for the first) and
 * the entry's text, in hexadecimal. Editing an entry breaks its hash, and editing the hash breaks the next entry's.
 */
export function entryHash(text: string, previousHash: string): string {
  return sha256(previousHash + text);
}

/** In hexadecimal. */
export function sha256(text: string): string {
  return digest("sha256", text, "hex");
}
