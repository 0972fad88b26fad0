import { setImmediate as nextTurn } from "node:timers/promises";
import { FxError } from "../core/errors.ts";

interface Job {
  readonly result: Promise<unknown>;
  /** How many callers wait for it. */
  callers: number;
  /** Called when the last of them has gone. */
  readonly end: () => void;
}

/**
 * Runs long reads one at a time. Callers with the same key share a read that has not begun. A read that nobody waits for
 * any more is aborted.
 */
export class LongReads {
  readonly #mostWaiting: number;
  /** Reads that have not begun, by key. */
  readonly #next = new Map<string, Job>();
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** @param mostWaiting reads that have not begun, at most */
  constructor(mostWaiting: number) {
    this.#mostWaiting = mostWaiting;
  }

  /**
   * @param key undefined if the read is for one caller alone
   * @param signal aborted when the caller has gone
   * @param work is given the signal that aborts it
   * @throws FxError overloaded; unreachable if the caller has gone
   */
  run<T>(
    key: string | undefined,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const known = key === undefined ? undefined : this.#next.get(key);
    if (known === undefined && this.#waiting >= this.#mostWaiting) {
      const message = `${this.#waiting} reads that take long are waiting. Try again in a moment.`;
      return Promise.reject(new FxError("overloaded", message, { retryAfterSeconds: 5 }));
    }
    const job = known ?? this.#add(key, work);
    job.callers += 1;
    return new Promise((resolve, reject) => {
      const leave = () => {
        job.callers -= 1;
        if (job.callers === 0) job.end();
        reject(abandoned());
      };
      if (signal.aborted) return leave();
      signal.addEventListener("abort", leave, { once: true });
      const settled = () => signal.removeEventListener("abort", leave);
      void (job.result as Promise<T>).then(resolve, reject).then(settled);
    });
  }

  #add(key: string | undefined, work: (signal: AbortSignal) => Promise<unknown>): Job {
    const ending = new AbortController();
    const leaveQueue = () => {
      if (key !== undefined && this.#next.get(key) === job) this.#next.delete(key);
    };
    const start = async () => {
      // Other requests have their turn between two reads.
      await nextTurn();
      this.#waiting -= 1;
      leaveQueue();
      if (ending.signal.aborted) throw abandoned();
      return work(ending.signal);
    };
    const result = this.#last.then(start);
    this.#last = result.catch(() => {});
    this.#waiting += 1;
    const end = () => {
      leaveQueue();
      ending.abort();
    };
    const job: Job = { result, callers: 0, end };
    if (key !== undefined) this.#next.set(key, job);
    return job;
  }
}

function abandoned(): FxError {
  return new FxError("unreachable", "The client has gone.");
}
