import { type KeyedLine, LineKeys } from "../../../batch/keys.ts";
import type { BatchLine } from "../../../batch/line.ts";
import { type DoneLine, doneLine } from "../../../batch/result.ts";
import { UnfitFile } from "../../../batch/unfit-file.ts";
import type { CalendarDate } from "../../../core/date.ts";
import { FxError } from "../../../core/errors.ts";
import type { ExchangeOrder } from "../../../core/exchange.ts";
import type { BulkAnswer, BulkLine, ExchangeService } from "../../../core/service.ts";
import { describeFailure, type Failure, RequestFailed, UsageError } from "../../errors.ts";
import type { Exit } from "../../exits.ts";
import { digestOf } from "./digest.ts";
import type { Batch } from "./file.ts";

/** A line for which nothing was done, or whose outcome is unknown. */
export interface FailedLine {
  readonly line: KeyedLine;
  readonly state: "refused" | "failed";
  readonly failure: Failure;
}

export type LineResult = DoneLine | FailedLine;

export interface BatchRun {
  readonly service: Pick<ExchangeService, "bulk">;
  readonly batch: Pick<Batch, "id" | "lines">;
  readonly today: CalendarDate;
  /** Whether the first line that does not go through is the last. Each line then waits for the one before. */
  readonly stopOnError?: boolean;
  /** The id of the rate table of the preview. An order that names no table settles at no other, and ends the batch. */
  readonly table?: string | undefined;
}

/** The exits of refusals, which say nothing about the lines that follow. */
const refusals: readonly Exit[] = [3, 4, 5];

/**
 * Carries out the lines of a batch as one bulk. A refused line does not stop the rest, unless `stopOnError` is set; a
 * failure of the server or the store does.
 */
export class BatchRunner {
  readonly #run: BatchRun;
  readonly #keys: LineKeys;
  /** Lines that were sent and not answered, in their order. */
  readonly #underWay: KeyedLine[] = [];
  /** A line that ends the batch. Its result is the last. */
  #fatal: KeyedLine | undefined;
  #isStopping = false;
  /** Whether to stop without waiting for the next lines of the input. */
  #isHalted = false;
  #hasLeft = false;
  #isTableReplaced = false;
  #endWait: () => void = () => {};
  #tellAnswered: () => void = () => {};

  constructor(run: BatchRun) {
    this.#run = run;
    this.#keys = new LineKeys(run.batch.id, run.today, digestOf);
  }

  /** The results of the lines, in the order of the lines, grouped as they arrive. */
  async *results(): AsyncGenerator<readonly LineResult[]> {
    for await (const answers of this.#run.service.bulk(this.#lines())) {
      const lines = this.#underWay.splice(0, answers.length);
      const results = lines.map((line, index) => this.#resultOf(line, answers[index] as BulkAnswer));
      if (this.#underWay.length === 0) this.#tellAnswered();
      yield results;
    }
    if (this.#fatal !== undefined) yield [this.#failed(this.#fatal, this.#fatal.request)];
  }

  /** Sends no more lines. Those under way are still answered. */
  stop(): void {
    this.#isStopping = true;
    this.#isHalted = true;
    this.#endWait();
  }

  /** Whether lines were left out, because the batch was stopped. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** Whether another rate table came into force after the preview. */
  get isTableReplaced(): boolean {
    return this.#isTableReplaced;
  }

  async *#lines(): AsyncGenerator<readonly BulkLine[]> {
    const { batch, stopOnError = false } = this.#run;
    const chunks = batch.lines[Symbol.asyncIterator]();
    for (;;) {
      const next = await this.#untilHalted(chunks.next());
      if (next?.done) return;
      if (next === undefined) return this.#leave();
      for (const group of stopOnError ? next.value.map((line) => [line]) : [next.value]) {
        if (this.#isStopping && group.length > 0) return this.#leave();
        const lines = this.#take(group);
        if (lines.length > 0) yield lines;
        if (this.#fatal !== undefined) return;
        if (stopOnError) await this.#answered();
      }
    }
  }

  #leave(): void {
    this.#hasLeft = true;
  }

  /** Undefined once the batch is halted: standard input may have nothing more to say for a long time. */
  #untilHalted<T>(next: Promise<T>): Promise<T | undefined> {
    // Promise.race with one promise for the whole batch would keep every chunk until the end.
    return new Promise((resolve, reject) => {
      this.#endWait = () => resolve(undefined);
      if (this.#isHalted) resolve(undefined);
      next.then(resolve, reject);
    });
  }

  async #answered(): Promise<void> {
    if (this.#underWay.length === 0) return;
    await new Promise<void>((resolve) => {
      this.#tellAnswered = resolve;
    });
  }

  #take(lines: readonly BatchLine[]): BulkLine[] {
    const taken: BulkLine[] = [];
    for (const line of lines) {
      const keyed = this.#keys.of(line);
      if (keyed.request instanceof UnfitFile) {
        this.#fatal = keyed;
        break;
      }
      this.#underWay.push(keyed);
      taken.push(this.#isPinned(keyed) ? { ...keyed.request, table: this.#run.table } : keyed.request);
    }
    return taken;
  }

  #isPinned(line: KeyedLine): line is KeyedLine & { readonly request: ExchangeOrder & { kind: "exchange" } } {
    const { request } = line;
    if (this.#run.table === undefined || request instanceof Error) return false;
    return request.kind === "exchange" && request.table === undefined;
  }

  #resultOf(line: KeyedLine, answer: BulkAnswer): LineResult {
    if (!("code" in answer)) return doneLine(line, answer);
    if (answer.code === "rate-changed" && this.#isPinned(line)) return this.#replaced(line);
    const wasSent = !(line.request instanceof Error);
    return this.#failed(line, wasSent ? new RequestFailed(line.key, answer) : answer);
  }

  /** The key of the line is still free, so it is not a line to correct but one to run again. */
  #replaced(line: KeyedLine): FailedLine {
    this.#isTableReplaced = true;
    this.stop();
    const message = "The rates have changed since the preview. Nothing was done.";
    const failure = { ...describeFailure(new FxError("rate-changed", message)), hint: null };
    return { line, state: "failed", failure };
  }

  #failed(line: KeyedLine, error: unknown): FailedLine {
    const failure = describeFailure(error instanceof UnfitFile ? new UsageError(error.message) : error);
    const isRefused = refusals.includes(failure.exit);
    if (!isRefused) this.stop();
    else if (this.#run.stopOnError) this.#isStopping = true;
    const hint = failure.key === undefined ? failure.hint : "Run the same batch again to finish it.";
    return { line, state: isRefused ? "refused" : "failed", failure: { ...failure, hint } };
  }
}
