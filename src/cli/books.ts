import { on } from "node:events";
import type { Worker } from "node:worker_threads";
import { type ErrorCode, FxError } from "../core/errors.ts";
import type { ExportRequest } from "../core/export.ts";
import type { AccountHead, AuditProgress, AuditReport, Position } from "../core/service.ts";
import { abandoned } from "../core/turns.ts";
import type { PartReport, Range } from "../ledger/audit-part.ts";
import { type Books, booksOf } from "../ledger/books.ts";
import type { BooksAuditOptions } from "../ledger/checkpoint.ts";
import type { HeadTableData } from "../ledger/head-table.ts";
import { pacedReader } from "../ledger/pace.ts";
import type { Store } from "../ledger/store.ts";
import type { StorePlace } from "./place.ts";
import { startThread } from "./thread.ts";

export interface BooksQuestion {
  readonly place: StorePlace;
  readonly about: keyof BooksResults | "part" | ExportRequest;
  /** Of the first part. */
  readonly range?: Range | undefined;
  /** Of a position: when. */
  readonly at?: Date | undefined;
  readonly against?: HeadTableData | undefined;
  readonly givesHeads?: boolean;
}

/** After "stop" the thread ends soon, if need be by failing. A range is that of the next part of an audit. */
export type BooksWish = "next" | "stop" | Range;

/** After heads, a part of an export or of an audit, the thread waits for a wish. */
export type BooksAnswer =
  | { readonly progress: AuditProgress }
  | { readonly heads: readonly AccountHead[] }
  | { readonly part: string }
  | { readonly result: BooksResults[keyof BooksResults] | PartReport | undefined }
  | { readonly failure: { readonly code: ErrorCode; readonly message: string } };

interface BooksResults {
  readonly audit: AuditReport;
  readonly position: Position;
}

/**
 * Reads in a thread of its own, with a connection of its own that only reads, so that orders do not wait. On Linux, where
 * a thread can have a priority of its own, it runs when no other wants the processor.
 */
export function openBooks(place: StorePlace, store: Store): Books {
  const threads = new Threads(place, store);
  // On a full disk SQLite shares a file with no other connection, and the one that has it reads.
  const here = booksOf(store, pacedReader(store));
  return {
    audit: (options = {}) => threads.read("audit", options, () => here.audit(options)),
    position: (at, signal) => threads.read("position", { at, signal }, () => here.position(at, signal)),
    export: (request) => threads.export(request),
    close: () => threads.close(),
  };
}

/** For who only reads: in this thread, and half of a large audit in another. */
export function helpedBooks(place: StorePlace, store: Store): Books {
  const threads = new Threads(place, store);
  const books = booksOf(store, undefined, (range, tell) => threads.part(range, tell));
  return { ...books, close: () => threads.close() };
}

interface ReadOptions extends BooksAuditOptions, Pick<BooksQuestion, "at"> {}

class Threads {
  readonly #place: StorePlace;
  readonly #store: Store;
  readonly #running = new Map<Worker, Promise<unknown>>();
  /** Waits for the next part of an audit. */
  #helper: Worker | undefined;
  #isClosing = false;

  constructor(place: StorePlace, store: Store) {
    this.#place = place;
    this.#store = store;
  }

  #start(question: Omit<BooksQuestion, "place">): Worker {
    const thread = startThread("books-worker", {
      ...question,
      place: this.#place,
    } satisfies BooksQuestion);
    const ended = new Promise((resolve) => thread.on("exit", resolve));
    this.#running.set(thread, ended);
    void ended.then(() => {
      this.#running.delete(thread);
      if (this.#helper === thread) this.#helper = undefined;
    });
    return thread;
  }

  /** @param here does it in this thread, where another cannot */
  async read<T extends keyof BooksResults>(
    about: T,
    { at, onHeads, against, onProgress, signal }: ReadOptions,
    here?: () => Promise<BooksResults[T]>,
  ): Promise<BooksResults[T]> {
    const result = await new Promise<BooksResults[T]>((resolve, reject) => {
      let isBegun = false;
      const canReadHere = ({ failure }: Extract<BooksAnswer, { failure: unknown }>) =>
        !isBegun &&
        !this.#isClosing &&
        !signal?.aborted &&
        ["storage-unavailable", "overloaded"].includes(failure.code);
      const thread = this.#start({ about, at, against, givesHeads: onHeads !== undefined });
      const fail = (error: unknown) => {
        reject(error);
        stop(thread);
      };
      // It fails when the thread has ended, so that never more than one runs.
      const leave = () => stop(thread);
      signal?.addEventListener("abort", leave);
      thread.on("message", (answer: BooksAnswer) => {
        if ("progress" in answer) onProgress?.(answer.progress);
        else if ("heads" in answer)
          onHeads?.(answer.heads).then(() => thread.postMessage("next" satisfies BooksWish), fail);
        else if ("result" in answer) resolve(answer.result as BooksResults[T]);
        else if ("failure" in answer && here !== undefined && canReadHere(answer)) resolve(here());
        else if ("failure" in answer && !signal?.aborted) reject(failureOf(answer));
        isBegun = true;
      });
      thread.on("error", reject);
      thread.on("exit", () => {
        signal?.removeEventListener("abort", leave);
        reject(signal?.aborted ? abandoned() : closed());
      });
    });
    // The thread opened what the place names now; the store still has it open, or refuses.
    await this.#store.ping();
    return result;
  }

  /** Audits a part. All are given to one thread, in which V8 has compiled what it runs. */
  async part(range: Range, onProgress: (entries: number) => void): Promise<PartReport> {
    const thread = this.#helper ?? this.#start({ about: "part", range });
    const answers = on(thread, "message", { close: ["exit"] }) as AsyncIterable<[BooksAnswer]>;
    if (thread === this.#helper) thread.postMessage(range satisfies BooksWish);
    for await (const [answer] of answers) {
      if ("progress" in answer) onProgress(answer.progress.entries);
      else if ("failure" in answer) throw failureOf(answer);
      else if ("result" in answer) {
        this.#helper = thread;
        // The thread opened what the place names now; the store still has it open, or refuses.
        await this.#store.ping();
        return answer.result as PartReport;
      }
    }
    throw closed();
  }

  async *export(request: ExportRequest): AsyncGenerator<string> {
    const thread = this.#start({ about: request });
    const answers = on(thread, "message", { close: ["exit"] }) as AsyncIterable<[BooksAnswer]>;
    let isKnown = false;
    try {
      for await (const [answer] of answers) {
        if ("result" in answer) return;
        if ("failure" in answer) throw failureOf(answer);
        if (!("part" in answer)) continue;
        // As above: from here on the thread itself finds out if another file takes the place of its own.
        if (!isKnown) await this.#store.ping();
        isKnown = true;
        yield answer.part;
        thread.postMessage("next" satisfies BooksWish);
      }
      throw closed();
    } finally {
      stop(thread);
      await this.#running.get(thread);
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    for (const thread of this.#running.keys()) stop(thread);
    await Promise.all(this.#running.values());
  }
}

/** Not by `terminate`: where that meets SQLite at work, the whole process aborts. */
function stop(thread: Worker): void {
  thread.postMessage("stop" satisfies BooksWish);
}

function failureOf({ failure }: Extract<BooksAnswer, { failure: unknown }>): FxError {
  return new FxError(failure.code, failure.message);
}

function closed(): FxError {
  return new FxError("storage-unavailable", "The ledger was closed before it was read.");
}
