import { FxError, isOfRequest } from "../core/errors.ts";
import { NoAnswer, type Server } from "./answers.ts";
import { Watched } from "./watched.ts";

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

interface CachedRead {
  read: Read<unknown>;
  users: number;
  /** The newest attempt. The answer to an earlier one is dropped. */
  attempt: AbortController;
  /** Resolves when that attempt has ended, however it did. */
  ended: Promise<void>;
}

/** The pause after an attempt without an answer. */
const retrySeconds = 10;

/** The state of a read that was not begun. */
export const unasked: Read<never> = {
  value: undefined,
  failure: undefined,
  isLoading: false,
  time: undefined,
};

/**
 * A cache of what the page shows of the server, by URL: an answer to another question cannot be shown. Equal reads are
 * shared. A read that nobody uses any more is aborted and forgotten.
 */
export class Reads extends Watched {
  readonly #server: Pick<Server, "get">;
  readonly #entries = new Map<string, CachedRead>();

  constructor(server: Pick<Server, "get">) {
    super();
    this.#server = server;
  }

  get<T>(url: string): Read<T> {
    return (this.#entries.get(url)?.read ?? { ...unasked, isLoading: true }) as Read<T>;
  }

  /**
   * Reads a URL, and keeps its answer for those who use it.
   * @returns what ends the use
   */
  use(url: string): () => void {
    const entry = this.#entries.get(url) ?? this.#begin(url);
    entry.users += 1;
    return () => {
      entry.users -= 1;
      if (entry.users > 0) return;
      entry.attempt.abort();
      this.#entries.delete(url);
    };
  }

  /** Reads again what is in use and has a URL that begins so; without a beginning, all. */
  refresh(beginning = ""): void {
    for (const [url, entry] of this.#entries) if (url.startsWith(beginning)) this.#start(url, entry);
  }

  /** Reads a URL again, and gives the newest answer to the caller and to every user of the URL. */
  async fresh<T>(url: string): Promise<T> {
    const entry = this.#entries.get(url);
    if (entry === undefined) return this.#server.get<T>(url);
    let ended: Promise<void> | undefined;
    for (this.#start(url, entry); ended !== entry.ended; ) {
      ended = entry.ended;
      await ended;
    }
    const { value, failure } = entry.read;
    if (failure !== undefined || value === undefined) throw failure ?? new NoAnswer();
    return value as T;
  }

  #begin(url: string): CachedRead {
    const entry = { read: unasked, users: 0, attempt: new AbortController(), ended: Promise.resolve() };
    this.#entries.set(url, entry);
    this.#start(url, entry);
    return entry;
  }

  #start(url: string, entry: CachedRead): void {
    entry.attempt.abort();
    entry.attempt = new AbortController();
    entry.ended = this.#attempt(url, entry, entry.attempt.signal);
    this.#set(entry, { ...entry.read, isLoading: true });
  }

  async #attempt(url: string, entry: CachedRead, signal: AbortSignal): Promise<void> {
    const { value: before, time } = entry.read;
    try {
      const value = await this.#server.get<unknown>(url, signal);
      if (signal.aborted) return;
      // An equal value stays the same object, so that nothing is rendered or read again for it.
      const isSame = JSON.stringify(value) === JSON.stringify(before);
      this.#set(entry, { ...unasked, value: isSame ? before : value, time: new Date() });
    } catch (failure) {
      if (signal.aborted) return;
      const refusal = failure instanceof FxError ? failure : undefined;
      const isGone = refusal !== undefined && isOfRequest(refusal.code);
      this.#set(entry, { ...unasked, value: isGone ? undefined : before, failure, time });
      // A server that is busy says when to ask again; one that does not answer is asked until it does.
      const wait = refusal === undefined ? retrySeconds : refusal.retryAfterSeconds;
      if (wait !== undefined) setTimeout(() => !signal.aborted && this.#start(url, entry), wait * 1000);
    }
  }

  #set(entry: CachedRead, read: Read<unknown>): void {
    entry.read = read;
    this.changed();
  }
}
