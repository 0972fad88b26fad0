import { setImmediate as nextTurn } from "node:timers/promises";
import { FxError } from "../core/errors.ts";

interface Job {
  readonly result: Promise<unknown>;
  readonly begin: () => void;
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
  /** Reads that have not begun, by key, in their order. */
  readonly #waiting = new Map<string | symbol, Job>();
  #isReading = false;

  /** @param mostWaiting the maximum number of reads that have not begun */
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
    const known = key === undefined ? undefined : this.#waiting.get(key);
    if (known === undefined && this.#waiting.size >= this.#mostWaiting) {
      const message = `${this.#waiting.size} reads that take long are waiting. Try again in a moment.`;
      return Promise.reject(new FxError("overloaded", message, { retryAfterSeconds: 5 }));
    }
    const job = known ?? this.#add(key ?? Symbol(), work);
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

  #add(key: string | symbol, work: (signal: AbortSignal) => Promise<unknown>): Job {
    const ending = new AbortController();
    let begin = () => {};
    const turn = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const end = () => {
      if (this.#waiting.get(key) === job) this.#waiting.delete(key);
      ending.abort();
    };
    const job: Job = { result: turn.then(() => work(ending.signal)), begin, callers: 0, end };
    this.#waiting.set(key, job);
    if (!this.#isReading) void this.#readAll();
    return job;
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    // Yields to other requests between two reads.
    await nextTurn();
    for (const [key, { begin, result }] of this.#waiting) {
      this.#waiting.delete(key);
      begin();
      await result.catch(() => {});
      await nextTurn();
    }
    this.#isReading = false;
  }
}

function abandoned(): FxError {
  return new FxError("unreachable", "The client has gone.");
}
