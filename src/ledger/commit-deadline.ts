import { FxError } from "../core/errors.ts";

/** The outcome of what was committed, or perhaps was, when its time is over. */
export const perhapsDone = "Orders may be done: sending them again with the same keys is safe.";

/**
 * The time by which a transaction has to be committed, from before its entries get their times. What was at a time
 * would change if one were answered as done later than that.
 */
export class CommitDeadline {
  readonly #limitMs: number;
  readonly #started = performance.now();
  readonly #startedAt = Date.now();

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** @throws FxError storage-unavailable, with this outcome, if it has passed */
  require(outcome: string): void {
    // While the machine sleeps, the monotonic clock may stand still.
    const elapsedMs = Math.max(performance.now() - this.#started, Date.now() - this.#startedAt);
    if (elapsedMs <= this.#limitMs) return;
    throw new FxError(
      "storage-unavailable",
      `The process or its disk stood still for ${Math.round(elapsedMs / 1000)} s, so entries would come too late for their times. ${outcome}`,
    );
  }
}
