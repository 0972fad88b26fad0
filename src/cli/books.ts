import { Worker } from "node:worker_threads";
import { type ErrorCode, FxError } from "../core/errors.ts";
import type { AuditProgress, AuditReport, Position } from "../core/service.ts";
import type { Books } from "../ledger/books.ts";
import type { Store } from "../ledger/store.ts";
import type { StorePlace } from "./place.ts";

export interface BooksQuestion {
  readonly place: StorePlace;
  readonly about: keyof BooksResults;
  /** Of a position: when. */
  readonly at?: Date | undefined;
}

export type BooksAnswer =
  | { readonly progress: AuditProgress }
  | { readonly result: BooksResults[keyof BooksResults] }
  | { readonly failure: { readonly code: ErrorCode; readonly message: string } };

interface BooksResults {
  readonly audit: AuditReport;
  readonly position: Position;
}

/**
 * Reads in a thread of its own, with a connection of its own that only reads, so that orders do not wait: at most one
 * audit and one position at a time. Those who ask for the same while one is under way share the next.
 */
export function openBooks(place: StorePlace, store: Store): Books {
  const threads = new Set<Worker>();
  const listeners = new Set<(done: AuditProgress) => void>();

  const read = <T extends keyof BooksResults>(about: T, at?: Date) =>
    new Promise<BooksResults[T]>((resolve, reject) => {
      const question: BooksQuestion = { place, about, at };
      const thread = startThread(question);
      threads.add(thread);
      thread.on("message", (answer: BooksAnswer) => {
        if ("progress" in answer) for (const listener of listeners) listener(answer.progress);
        else if ("result" in answer) resolve(answer.result as BooksResults[T]);
        else reject(new FxError(answer.failure.code, answer.failure.message));
      });
      thread.on("error", reject);
      thread.on("exit", () => {
        threads.delete(thread);
        reject(new FxError("storage-unavailable", "The ledger was closed before it was read."));
      });
    }).then(async (result) => {
      // The thread opened what the place names now; the store still has it open, or refuses.
      await store.ping();
      return result;
    });
  const audit = shared(() => read("audit"));
  return {
    async audit(onProgress = () => {}) {
      listeners.add(onProgress);
      return audit().finally(() => listeners.delete(onProgress));
    },
    position: shared((at) => read("position", at)),
    async close() {
      await Promise.all([...threads].map((thread) => thread.terminate()));
    },
  };
}

/** Does `work` once at a time, and for all who ask before it starts, about the same time. */
function shared<T>(work: (at?: Date) => Promise<T>): (at?: Date) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  const waiting = new Map<number | undefined, Promise<T>>();
  return (at) => {
    const about = at?.getTime();
    const asked = waiting.get(about);
    if (asked !== undefined) return asked;
    const next = last.then(() => {
      waiting.delete(about);
      return work(at);
    });
    waiting.set(about, next);
    last = next.catch(() => {});
    return next;
  };
}

/** Runs what is beside this file: as it is built, or as source, which needs tsx in each thread of Node 20. */
function startThread(workerData: BooksQuestion): Worker {
  const beside = (name: string) => new URL(name, import.meta.url);
  if (!import.meta.url.endsWith(".ts")) return new Worker(beside("books-worker.js"), { workerData });
  const tsx = import.meta.resolve("tsx/esm/api");
  const code = `import("${tsx}").then(({ register }) => register()).then(() => import("${beside("books-worker.ts")}"))`;
  return new Worker(code, { eval: true, workerData });
}
