import { isOfRequest } from "../core/errors.ts";
import { ProblemAnswer } from "./answers.ts";

/** The state of one read. */
export interface Read<T> {
  /** The newest answer. It stays if a later attempt fails for a reason that says nothing of it. */
  readonly value: T | undefined;
  /** Why the newest attempt failed. */
  readonly failure: unknown;
  readonly isLoading: boolean;
  /** When `value` was answered. */
  readonly time: Date | undefined;
}

export type Load<T> = (signal: AbortSignal) => Promise<T>;

interface CachedRead {
  read: Read<unknown>;
  readonly load: Load<unknown>;
  readonly watchers: Set<() => void>;
  /** When the newest attempt began, as `begin` counts. */
  begun: number;
  /** The attempt under way. An answer to an earlier one is dropped. */
  attempt: AbortController | undefined;
}

/** How the keys begin of what other tills change. */
export const accountsOfAll = ["api/user/", "api/receipts/", "api/position"] as const;
const others = ["api/rates", "health/ready", ...accountsOfAll];

const unread: Read<never> = { value: undefined, failure: undefined, isLoading: true, time: undefined };

/**
 * A cache of reads, the only way in which the page reads. The key of a read says all that is asked for, and it is shown
 * by that key: an answer to another question cannot be shown. Equal reads are shared. A read that nobody watches
 * any more is aborted and forgotten.
 */
export class Reads {
  readonly #entries = new Map<string, CachedRead>();
  #begun = 0;

  get<T>(key: string): Read<T> {
    return (this.#entries.get(key)?.read ?? unread) as Read<T>;
  }

  /**
   * Reads what `key` stands for, and tells of each change.
   * @returns what ends it
   */
  watch<T>(key: string, load: Load<T>, onChange: () => void): () => void {
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = { read: unread, load, watchers: new Set(), begun: 0, attempt: undefined };
      this.#entries.set(key, entry);
      this.#start(entry);
    }
    const { watchers } = entry;
    watchers.add(onChange);
    return () => {
      watchers.delete(onChange);
      if (watchers.size > 0) return;
      entry.attempt?.abort();
      entry.attempt = undefined;
      this.#entries.delete(key);
    };
  }

  /** Reads again what is watched and has a key that begins so. */
  stale(...beginnings: readonly string[]): void {
    for (const [key, entry] of this.#entries) {
      if (beginnings.some((beginning) => key.startsWith(beginning))) this.#start(entry);
    }
  }

  /**
   * Reads again what others may have changed meanwhile, and what failed. What has a key beside the server's paths was
   * asked for once, by a click: it does not start again by itself.
   */
  refresh(): void {
    this.stale(...others);
    for (const [key, entry] of this.#entries) {
      const isPath = key.startsWith("api/") || key === "health/ready";
      if (isPath && entry.read.failure !== undefined && !entry.read.isLoading) this.#start(entry);
    }
  }

  /** Marks that something is asked for elsewhere now, for `put`. */
  begin(): number {
    this.#begun += 1;
    return this.#begun;
  }

  /**
   * Takes what the server said elsewhere, unless it has been read later than that was asked for.
   * @param begun of `begin`, from just before it was asked for
   * @returns whether it is watched and has changed
   */
  put<T>(key: string, value: T, begun: number): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.begun > begun) return false;
    entry.begun = begun;
    entry.attempt?.abort();
    entry.attempt = undefined;
    const before = entry.read.value;
    this.#answered(entry, value);
    return entry.read.value !== before;
  }

  #start(entry: CachedRead): void {
    entry.attempt?.abort();
    const attempt = new AbortController();
    entry.attempt = attempt;
    entry.begun = this.begin();
    this.#set(entry, { ...entry.read, isLoading: true });
    const isAskedFor = () => entry.attempt === attempt;
    entry.load(attempt.signal).then(
      (value) => isAskedFor() && this.#answered(entry, value),
      (failure: unknown) => isAskedFor() && this.#failed(entry, failure),
    );
  }

  #answered(entry: CachedRead, value: unknown): void {
    const { read } = entry;
    // An equal value stays the same object, so that nothing is rendered or read again for it.
    const isSame = JSON.stringify(value) === JSON.stringify(read.value);
    const kept = isSame && read.value !== undefined ? read.value : value;
    this.#set(entry, { value: kept, failure: undefined, isLoading: false, time: new Date() });
  }

  #failed(entry: CachedRead, failure: unknown): void {
    const { value, time } = entry.read;
    const isGone = failure instanceof ProblemAnswer && isOfRequest(failure.problem.code);
    this.#set(entry, { value: isGone ? undefined : value, failure, isLoading: false, time });
  }

  #set(entry: CachedRead, read: Read<unknown>): void {
    entry.read = read;
    for (const tell of [...entry.watchers]) tell();
  }
}
