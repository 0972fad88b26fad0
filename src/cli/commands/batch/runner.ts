import { type KeyedLine, LineKeys } from "../../../batch/keys.ts";
import type { BatchLine } from "../../../batch/line.ts";
import { type DoneLine, doneLine } from "../../../batch/result.ts";
import { UnfitFile } from "../../../batch/unfit-file.ts";
import type { CalendarDate } from "../../../core/date.ts";
import { FxError } from "../../../core/errors.ts";
import type { ExchangeOrder } from "../../../core/exchange.ts";
import type { BulkAnswer, BulkLine, ExchangeService } from "../../../core/service.ts";
import { describeFailure, type Exit, type Failure, RequestFailed, UsageError } from "../../errors.ts";
import { digestOf } from "./digest.ts";
import type { Batch } from "./file.ts";

/** A line of the batch and what became of it. */
export type LineResult =
  | DoneLine
  | { readonly line: KeyedLine; readonly state: "refused" | "failed"; readonly failure: Failure };

export interface BatchRun {
  readonly service: Pick<ExchangeService, "bulk">;
  readonly batch: Pick<Batch, "id" | "lines">;
  readonly today: CalendarDate;
  /** How many lines are taken in and not answered at most. */
  readonly concurrency: number;
  readonly stopOnError?: boolean;
  /** The id of the rate table that was shown. An order that names no table settles at no other, and ends the batch. */
  readonly table?: string | undefined;
}

/** Lines that are handed over at once at most. */
const chunkSize = 512;
/** Refusals of one order, which say nothing about the lines after it. */
const refusals: readonly Exit[] = [3, 4, 5];

/**
 * Carries out a batch's lines as one bulk. A refused line does not stop the rest, unless asked to; a server or store
 * that fails does.
 */
export class BatchRunner {
  readonly #run: BatchRun;
  readonly #keys: LineKeys;
  /** Taken in, in their order, and not answered. */
  readonly #underWay: KeyedLine[] = [];
  /** A line that ends the batch: its result is the last. */
  #fatal: KeyedLine | undefined;
  #isStopping = false;
  /** Stops without waiting for what may come. */
  #isHalted = false;
  #hasLeft = false;
  #isTableReplaced = false;
  /** Ends the wait for more lines. */
  #tellStopped: () => void = () => {};
  #tellRoom: () => void = () => {};

  constructor(run: BatchRun) {
    this.#run = run;
    this.#keys = new LineKeys(run.batch.id, run.today, digestOf);
  }

  /** The lines' results, in the order of the lines, as many at a time as come together. */
  async *results(): AsyncGenerator<readonly LineResult[]> {
    for await (const answers of this.#run.service.bulk(this.#lines())) {
      const lines = this.#underWay.splice(0, answers.length);
      const results = lines.map((line, index) => this.#resultOf(line, answers[index] as BulkAnswer));
      this.#tellRoom();
      yield results;
    }
    if (this.#fatal !== undefined) yield [this.#failed(this.#fatal, this.#fatal.request)];
  }

  /** Takes in nothing more. What is under way is answered. */
  stop(): void {
    this.#isStopping = true;
    this.#isHalted = true;
    this.#tellStopped();
    this.#tellRoom();
  }

  /** Whether lines were left out, because the batch was stopped. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** Whether another rate table is in force than the one that was shown. */
  get isTableReplaced(): boolean {
    return this.#isTableReplaced;
  }

  async *#lines(): AsyncGenerator<readonly BulkLine[]> {
    const chunks = this.#run.batch.lines[Symbol.asyncIterator]();
    for (;;) {
      // Standard input may have nothing more to say for a long time. A race with one promise for the whole batch
      // would keep every chunk until the end.
      const next = await new Promise<IteratorResult<readonly BatchLine[]> | undefined>((resolve, reject) => {
        this.#tellStopped = () => resolve(undefined);
        if (this.#isHalted) resolve(undefined);
        chunks.next().then(resolve, reject);
      });
      if (next?.done) return;
      if (next === undefined) return this.#leave();
      for (let start = 0; start < next.value.length; ) {
        while (this.#room() === 0 && !this.#isStopping) {
          await new Promise<void>((resolve) => {
            this.#tellRoom = resolve;
          });
        }
        if (this.#isStopping) return this.#leave();
        const lines = this.#take(next.value.slice(start, start + Math.min(this.#room(), chunkSize)));
        start += lines.length;
        yield lines;
        if (this.#fatal !== undefined) return;
      }
    }
  }

  #leave(): void {
    this.#hasLeft = true;
  }

  #room(): number {
    return Math.max(0, this.#run.concurrency - this.#underWay.length);
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
    if ("code" in answer) {
      if (answer.code === "rate-changed" && this.#isPinned(line)) return this.#replaced(line);
      const wasSent = !(line.request instanceof Error);
      return this.#failed(line, wasSent ? new RequestFailed(line.key, answer) : answer);
    }
    return doneLine(line, answer);
  }

  /** Its key is still free: it is no line to correct, but one to run again. */
  #replaced(line: KeyedLine): LineResult {
    this.#isTableReplaced = true;
    this.stop();
    const message = "Another rate table is in force than the one that was shown. Nothing was done.";
    const failure = { ...describeFailure(new FxError("rate-changed", message)), hint: null };
    return { line, state: "failed", failure };
  }

  #failed(line: KeyedLine, error: unknown): LineResult {
    const failure = describeFailure(error instanceof UnfitFile ? new UsageError(error.message) : error);
    const isRefused = refusals.includes(failure.exit);
    if (!isRefused) this.stop();
    else if (this.#run.stopOnError) this.#isStopping = true;
    const hint = failure.key === undefined ? failure.hint : "Run the same batch again to finish it.";
    return { line, state: isRefused ? "refused" : "failed", failure: { ...failure, hint } };
  }
}
