import type { Recorded } from "../core/service.ts";

/**
 * The time at which a request was first sent, or a run of a batch began, by the server's clock. If an attempt got no
 * answer, and a later one is answered as a replay, that attempt has done it, unless the receipt is older than this time.
 */
export class RunStart {
  readonly #beganMs = performance.now();
  #serverMs: number | undefined;

  /** @param date the `Date` of an answer, in whole seconds: only the first counts */
  hear(date: string | null | undefined): void {
    this.#serverMs ??= Date.parse(date ?? "") - (performance.now() - this.#beganMs);
  }

  /** The answer to a request that an earlier attempt may have done. A receipt of the second before the start counts as its own. */
  answerAfter<Answer extends Recorded>(answer: Answer): Answer {
    const { receiptId, replayed } = answer;
    // A receipt is a UUID of version 7, which begins with its time.
    const madeMs = Number.parseInt(receiptId.slice(0, 8) + receiptId.slice(9, 13), 16);
    return { ...answer, replayed: replayed && madeMs < (this.#serverMs ?? Number.NaN) };
  }
}
