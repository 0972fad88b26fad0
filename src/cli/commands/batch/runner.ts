import { type KeyedLine, LineKeys } from "../../../batch/keys.ts";
import { type DoneLine, doneLine, isOfAnotherToken } from "../../../batch/result.ts";
import type { CalendarDate } from "../../../core/date.ts";
import { FxError, undecided } from "../../../core/errors.ts";
import type { ExchangeOrder } from "../../../core/exchange.ts";
import type { BulkAnswer, BulkLine, ExchangeService } from "../../../core/service.ts";
import { describeFailure, type Failure, RequestFailed } from "../../errors.ts";
import type { Exit } from "../../exits.ts";
import { type Batch, digestOf } from "./file.ts";

/** A line for which nothing was done, or whose outcome is unknown. */
export interface FailedLine {
  readonly line: KeyedLine;
  readonly state: "refused" | "failed" | "unknown";
  readonly failure: Failure;
}

export type LineResult = DoneLine | FailedLine;

export interface BatchRun {
  readonly service: Pick<ExchangeService, "bulk" | "dryRun">;
  readonly batch: Pick<Batch, "id" | "lines">;
  readonly today: CalendarDate;
  readonly dryRun: boolean;
  /** Whether the first line that is refused now, and not in an earlier run, is the last. Each line then waits for the one before. */
  readonly stopOnError?: boolean;
  /** The id of the rate table of the preview. An order that names no table settles at no other, and ends the batch. */
  readonly table?: string | undefined;
}

/** Lines that are sent together: over HTTP, in one request. */
const groupSize = 512;
/** The most failures, without a line done between them, that are of these lines alone: a commit that fails has more. */
const mostOfLines = 63;

/** The exits of refusals, which say nothing about the lines that follow. */
const refusals: readonly Exit[] = [3, 4, 5];

/**
 * Carries out the lines of a batch. A line that is refused, or that fails by itself, as on a damaged account, does not stop
 * the rest, unless `stopOnError` is set; a failure of the server or the store does.
 */
export class BatchRunner {
  readonly #run: BatchRun;
  readonly #keys: LineKeys;
  /** Lines that were sent and not answered, in their order. */
  readonly #underWay: KeyedLine[] = [];
  #isStopping = false;
  #hasLeft = false;
  #hasFailed = false;
  /** The accounts of which a line has failed. */
  readonly #held = new Set<string>();
  /** Failures since the last line that was done. */
  #failures = 0;
  #results = 0;
  #isTableReplaced = false;
  #tellAnswered: () => void = () => {};

  constructor(run: BatchRun) {
    this.#run = run;
    this.#keys = new LineKeys(run.batch.id, run.today, digestOf);
  }

  /** The results of the lines, in the order of the lines, grouped as they arrive. */
  async *results(): AsyncGenerator<readonly LineResult[]> {
    const { service, dryRun } = this.#run;
    const answered = dryRun ? service.dryRun(this.#lines()) : service.bulk(this.#lines());
    for await (const answers of answered) {
      const lines = this.#underWay.splice(0, answers.length);
      const results = lines.map((line, index) => this.#resultOf(line, answers[index] as BulkAnswer));
      this.#results += results.length;
      if (this.#underWay.length === 0) this.#tellAnswered();
      yield results;
    }
  }

  /** Sends no more lines. Those under way are still answered. */
  stop(): void {
    this.#isStopping = true;
  }

  /** Whether lines were left out, because the batch was stopped, or failed together. */
  get isStopped(): boolean {
    const isAllFailed = this.#failures > 0 && this.#failures === this.#results;
    return this.#hasLeft || this.#hasFailed || isAllFailed;
  }

  /** Whether another rate table came into force after the preview. */
  get isTableReplaced(): boolean {
    return this.#isTableReplaced;
  }

  async *#lines(): AsyncGenerator<readonly BulkLine[]> {
    const { batch, stopOnError = false } = this.#run;
    for (const group of groupsOf(batch.lines(), stopOnError ? 1 : groupSize)) {
      if (this.#isStopping) {
        this.#hasLeft = true;
        return;
      }
      const keyed = group.map((line) => this.#keys.of(line)).filter((line) => !this.#isHeld(line));
      if (keyed.length > 0) yield keyed.map((line) => this.#take(line));
      if (stopOnError) await this.#answered();
    }
  }

  async #answered(): Promise<void> {
    if (this.#underWay.length === 0) return;
    await new Promise<void>((resolve) => {
      this.#tellAnswered = resolve;
    });
  }

  /** Whether an earlier line of the account has failed: without it, this one could be refused, and would stay so. */
  #isHeld({ request }: KeyedLine): boolean {
    if (request instanceof Error || !this.#held.has(request.pesel)) return false;
    this.#hasLeft = true;
    return true;
  }

  #take(keyed: KeyedLine): BulkLine {
    this.#underWay.push(keyed);
    return this.#isPinned(keyed) ? { ...keyed.request, table: this.#run.table } : keyed.request;
  }

  #isPinned(line: KeyedLine): line is KeyedLine & { readonly request: ExchangeOrder & { kind: "exchange" } } {
    const { request } = line;
    if (this.#run.table === undefined || request instanceof Error) return false;
    return request.kind === "exchange" && request.table === undefined;
  }

  #resultOf(line: KeyedLine, answer: BulkAnswer): LineResult {
    if (!("code" in answer)) {
      this.#failures = 0;
      return doneLine(line, answer);
    }
    if (answer.code === "rate-changed" && this.#isPinned(line)) return this.#replaced(line);
    if (isOfAnotherToken(line, answer)) {
      const failed = this.#failed(line, answer);
      return { ...failed, state: "unknown", failure: { ...failed.failure, exit: 8 } };
    }
    const mayBeDone = !this.#run.dryRun && !(line.request instanceof Error);
    return this.#failed(line, mayBeDone ? new RequestFailed(line.key, answer) : answer);
  }

  /** The key of the line is still free, so it is not a line to correct but one to run again. */
  #replaced(line: KeyedLine): FailedLine {
    this.#isTableReplaced = true;
    this.#hasFailed = true;
    this.stop();
    const message = "The rates have changed since the preview. Nothing was done.";
    const failure = { ...describeFailure(new FxError("rate-changed", message)), hint: null };
    return { line, state: "failed", failure };
  }

  #failed(line: KeyedLine, error: unknown): FailedLine {
    const failure = describeFailure(error);
    const isRefused = refusals.includes(failure.exit);
    if (!isRefused) {
      this.#failures += 1;
      if (!this.#run.dryRun && !(line.request instanceof Error)) this.#held.add(line.request.pesel);
      const isOfLine = undecided.some((code) => code === failure.code) && this.#failures <= mostOfLines;
      this.#hasFailed ||= !isOfLine;
    }
    // A kept refusal would stop each run again, and the rest would never be done.
    if (this.#hasFailed || (this.#run.stopOnError && !failure.replayed)) this.stop();
    const hint = failure.key === undefined ? failure.hint : "Run the same batch again to finish it.";
    const state = failure.key !== undefined ? "unknown" : isRefused ? "refused" : "failed";
    return { line, state, failure: { ...failure, hint } };
  }
}

function* groupsOf<T>(items: Iterable<T>, size: number): Generator<readonly T[]> {
  let group: T[] = [];
  for (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
