import { setImmediate as nextTurn } from "node:timers/promises";
import { FxError } from "../core/errors.ts";

/** Runs long reads one at a time, in their order. */
export class LongReads {
  readonly #mostWaiting: number;
  #waiting = 0;
  /** Resolves when all reads so far are over. */
  #last: Promise<unknown> = Promise.resolve();

  /** @param mostWaiting reads that have not begun, at most */
  constructor(mostWaiting: number) {
    this.#mostWaiting = mostWaiting;
  }

  /**
   * @param signal aborted when the client has gone: a read that has not begun gives up its place
   * @throws FxError overloaded; unreachable if the client has gone
   */
  async run<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#waiting >= this.#mostWaiting) {
      const message = `${this.#waiting} reads that take long are waiting. Try again in a moment.`;
      throw new FxError("overloaded", message, { retryAfterSeconds: 5 });
    }
    this.#waiting += 1;
    let isWaiting = true;
    const leave = () => {
      if (isWaiting) this.#waiting -= 1;
      isWaiting = false;
    };
    signal.addEventListener("abort", leave);
    const result = this.#last.then(async () => {
      leave();
      // Other requests have their turn between two reads.
      await nextTurn();
      if (signal.aborted) throw new FxError("unreachable", "The client has gone.");
      return work(signal);
    });
    this.#last = result.catch(() => {});
    return result;
  }
}
