import { FxError } from "./errors.ts";

interface Asked {
  readonly result: Promise<unknown>;
  /** How many wait for it. */
  count: number;
  /** Called when nobody does any more. */
  readonly end: () => void;
}

interface Options {
  /** Works that have not started, at most. */
  readonly mostWaiting: number;
  /** What another is refused with. */
  readonly busy: () => FxError;
  /** What each waits for, after the one before has ended. */
  readonly before: () => Promise<void>;
}

/** Does one work after another: once for all who ask for the same before it starts, and ended when nobody waits for it. */
export class Turns {
  readonly #options: Options;
  /** Those that have not started, by what they are about. */
  readonly #next = new Map<string, Asked>();
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * @param about the same for those for whom `work` gives the same; undefined if it is for one alone
   * @param signal that who asks has gone, who then gets FxError unreachable
   * @param work is given the signal that ends it
   */
  ask<T>(
    about: string | undefined,
    work: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const known = about === undefined ? undefined : this.#next.get(about);
    if (known === undefined && this.#waiting >= this.#options.mostWaiting) {
      return Promise.reject(this.#options.busy());
    }
    const asked = known ?? this.#add(about, work);
    asked.count += 1;
    return new Promise((resolve, reject) => {
      const leave = () => {
        asked.count -= 1;
        if (asked.count === 0) asked.end();
        reject(abandoned());
      };
      if (signal?.aborted) return leave();
      signal?.addEventListener("abort", leave, { once: true });
      const settled = () => signal?.removeEventListener("abort", leave);
      void (asked.result as Promise<T>).then(resolve, reject).then(settled);
    });
  }

  #add(about: string | undefined, work: (signal: AbortSignal) => Promise<unknown>): Asked {
    const ending = new AbortController();
    const leaveQueue = () => {
      if (about !== undefined && this.#next.get(about) === asked) this.#next.delete(about);
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
      return this.#options.before();
    };
    const result = this.#last.then(isNext).then(start);
    this.#last = result.catch(() => {});
    this.#waiting += 1;
    const end = () => {
      leaveQueue();
      ending.abort();
    };
    const asked: Asked = { result, count: 0, end };
    if (about !== undefined) this.#next.set(about, asked);
    return asked;
  }
}

/** For who has gone; nobody is told. */
export function abandoned(): FxError {
  return new FxError("unreachable", "Nobody waits for it any more.");
}
