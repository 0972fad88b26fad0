import type { Recorded } from "../core/service.ts";

/**
 * The time at which a request was first sent, or a run of a batch began, by the server's clock. What is answered as done
 * before, after an attempt that got no answer, was done by that attempt, unless its receipt is older than this.
 */
export class RunStart {
  readonly #beganMs = performance.now();
  #serverMs: number | undefined;

  /** @param date the `Date` of an answer, in whole seconds: only the first counts */
  hear(date: string | null | undefined): void {
    this.#serverMs ??= Date.parse(date ?? "") - (performance.now() - this.#beganMs);
  }

  /** The answer to what an earlier attempt may have done. A receipt of the second before the start passes for its own. */
  answerAfter<Answer extends Recorded>(answer: Answer): Answer {
    const { receiptId, replayed } = answer;
    // A receipt is a UUID of version 7, which begins with its time.
    const madeMs = Number.parseInt(receiptId.slice(0, 8) + receiptId.slice(9, 13), 16);
    return { ...answer, replayed: replayed && madeMs < (this.#serverMs ?? Number.NaN) };
  }
}
