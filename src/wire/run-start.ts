import { FxError } from "../core/errors.ts";
import type { Recorded } from "../core/service.ts";

/** Receipts that a run remembers at most: bounds the memory of a long batch. */
const rememberedReceipts = 200_000;

/**
 * The time at which a request was first sent, or a run of a batch began, by the server's clock. If an attempt got no
 * answer, and a later one is answered as a replay, that attempt has done it, unless the receipt is older than this time.
 */
export class RunStart {
  readonly #beganMs = performance.now();
  #serverMs: number | undefined;
  readonly #receipts = new Set<string>();

  /** @param date the `Date` of an answer, in whole seconds: only the first counts */
  hear(date: string | null | undefined): void {
    this.#serverMs ??= Date.parse(date ?? "") - (performance.now() - this.#beganMs);
  }

  /**
   * Corrects `replayed` in the answer to a request that is sent again. A receipt of the second before the start counts as
   * made by this run. If it was answered before in this run, an earlier request has the same key, and it stays replayed.
   * A refusal does not say when it was made, and counts as made by this run.
   * @param wasSent whether an earlier attempt at the request may have done it
   */
  answerAfter<Answer extends Recorded | FxError>(answer: Answer, wasSent: boolean): Answer;
  answerAfter(answer: Recorded | FxError, wasSent: boolean): Recorded | FxError {
    if (answer instanceof FxError) {
      return wasSent && answer.replayed ? new FxError(answer.code, answer.message) : answer;
    }
    const { receiptId, replayed } = answer;
    const isRepeated = this.#receipts.has(receiptId);
    this.#receipts.add(receiptId);
    const [oldest = ""] = this.#receipts;
    if (this.#receipts.size > rememberedReceipts) this.#receipts.delete(oldest);
    if (!wasSent || isRepeated) return answer;
    // A receipt is a UUID of version 7, which begins with its time.
    const madeMs = Number.parseInt(receiptId.slice(0, 8) + receiptId.slice(9, 13), 16);
    return { ...answer, replayed: replayed && madeMs < (this.#serverMs ?? Number.NaN) };
  }
}
