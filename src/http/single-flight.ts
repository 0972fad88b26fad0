import { FxError } from "../core/errors.ts";

interface Job {
  readonly result: Promise<unknown>;
  /** How many callers wait for it. */
  callers: number;
  /** Called when the last of them has gone. */
  readonly end: () => void;
}

interface Options {
  /** Jobs that have not started, at most. */
  readonly mostWaiting: number;
  /** What another is refused with. */
  readonly busy: () => FxError;
  /** What each waits for, after the one before has ended. */
  readonly before?: () => Promise<void>;
}

/**
 * Runs jobs one at a time. Callers with the same key share a job that has not started. A job is aborted when nobody waits
 * for it any more.
 */
export class SingleFlight {
  readonly #options: Options;
  /** Jobs that have not started, by key. */
  readonly #next = new Map<string, Job>();
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * @param key undefined if the job is for one caller alone
   * @param work is given the signal that aborts it
   * @param signal aborted when the caller has gone, which then gets FxError unreachable
   */
  run<T>(
    key: string | undefined,
    work: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const known = key === undefined ? undefined : this.#next.get(key);
    if (known === undefined && this.#waiting >= this.#options.mostWaiting) {
      return Promise.reject(this.#options.busy());
    }
    const job = known ?? this.#add(key, work);
    job.callers += 1;
    return new Promise((resolve, reject) => {
      const leave = () => {
        job.callers -= 1;
        if (job.callers === 0) job.end();
        reject(abandoned());
      };
      if (signal?.aborted) return leave();
      signal?.addEventListener("abort", leave, { once: true });
      const settled = () => signal?.removeEventListener("abort", leave);
      void (job.result as Promise<T>).then(resolve, reject).then(settled);
    });
  }

  #add(key: string | undefined, work: (signal: AbortSignal) => Promise<unknown>): Job {
    const ending = new AbortController();
    const leaveQueue = () => {
      if (key !== undefined && this.#next.get(key) === job) this.#next.delete(key);
    };
    const unlessEnded = () => {
      if (ending.signal.aborted) throw abandoned();
    };
    const start = () => {
      leaveQueue();
      unlessEnded();
      return work(ending.signal);
    };
    const isNext = () => {
      this.#waiting -= 1;
      unlessEnded();
      return this.#options.before?.();
    };
    const result = this.#last.then(isNext).then(start);
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
  return new FxError("unreachable", "Nobody waits for it any more.");
}
