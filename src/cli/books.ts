import { on } from "node:events";
import type { Worker } from "node:worker_threads";
import { type ErrorCode, FxError } from "../core/errors.ts";
import type { ExportRequest } from "../core/export.ts";
import type { AccountHead, AuditProgress, AuditReport, Position } from "../core/service.ts";
import { type Books, booksOf } from "../ledger/books.ts";
import type { BooksAuditOptions } from "../ledger/checkpoint.ts";
import type { HeadTableData } from "../ledger/head-table.ts";
import { pacedReader } from "../ledger/pace.ts";
import { abandoned } from "../ledger/shared-books.ts";
import type { Store } from "../ledger/store.ts";
import type { StorePlace } from "./place.ts";
import { startThread } from "./thread.ts";

export interface BooksQuestion {
  readonly place: StorePlace;
  readonly about: keyof BooksResults | ExportRequest;
  /** Of a position: when. */
  readonly at?: Date | undefined;
  readonly against?: HeadTableData | undefined;
  readonly givesHeads?: boolean;
}

/** After "stop" the thread ends soon, if need be by failing. */
export type BooksWish = "next" | "stop";

/** After heads, or a part of an export, the thread waits for a wish. */
export type BooksAnswer =
  | { readonly progress: AuditProgress }
  | { readonly heads: readonly AccountHead[] }
  | { readonly part: string }
  | { readonly result: BooksResults[keyof BooksResults] | undefined }
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
  const threads = new Map<Worker, Promise<unknown>>();
  let isClosing = false;

  const start = (question: Omit<BooksQuestion, "place">) => {
    const thread = startThread("books-worker", { ...question, place } satisfies BooksQuestion);
    const ended = new Promise((resolve) => thread.on("exit", resolve));
    threads.set(thread, ended);
    void ended.then(() => threads.delete(thread));
    return thread;
  };
  const read = <T extends keyof BooksResults>(
    about: T,
    { at, onHeads, against, onProgress, signal }: BooksAuditOptions & { at?: Date | undefined },
    here: () => Promise<BooksResults[T]>,
  ) =>
    new Promise<BooksResults[T]>((resolve, reject) => {
      let isBegun = false;
      const canReadHere = ({ failure }: Extract<BooksAnswer, { failure: unknown }>) =>
        !isBegun &&
        !isClosing &&
        !signal?.aborted &&
        ["storage-unavailable", "overloaded"].includes(failure.code);
      const thread = start({ about, at, against, givesHeads: onHeads !== undefined });
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
        else if ("failure" in answer && canReadHere(answer)) resolve(here());
        else if ("failure" in answer && !signal?.aborted) reject(failureOf(answer));
        isBegun = true;
      });
      thread.on("error", reject);
      thread.on("exit", () => {
        signal?.removeEventListener("abort", leave);
        reject(signal?.aborted ? abandoned() : closed());
      });
    }).then(async (result) => {
      // The thread opened what the place names now; the store still has it open, or refuses.
      await store.ping();
      return result;
    });
  // On a full disk SQLite shares a file with no other connection, and the one that has it reads.
  const here = booksOf(store, pacedReader(store));
  return {
    audit: (options = {}) => read("audit", options, () => here.audit(options)),
    position: (at, signal) => read("position", { at, signal }, () => here.position(at, signal)),
    async *export(request) {
      const thread = start({ about: request });
      const answers = on(thread, "message", { close: ["exit"] }) as AsyncIterable<[BooksAnswer]>;
      let isKnown = false;
      try {
        for await (const [answer] of answers) {
          if ("result" in answer) return;
          if ("failure" in answer) throw failureOf(answer);
          if (!("part" in answer)) continue;
          // As above: from here on the thread itself finds out if another file takes the place of its own.
          if (!isKnown) await store.ping();
          isKnown = true;
          yield answer.part;
          thread.postMessage("next" satisfies BooksWish);
        }
        throw closed();
      } finally {
        stop(thread);
        await threads.get(thread);
      }
    },
    async close() {
      isClosing = true;
      for (const thread of threads.keys()) stop(thread);
      await Promise.all(threads.values());
    },
  };
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
