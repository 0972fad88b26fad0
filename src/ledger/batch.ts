import { setTimeout as pause } from "node:timers/promises";
import { FxError } from "../core/errors.ts";
import { Histogram, secondsBounds } from "../core/histogram.ts";
import type { CommitFigures } from "../core/service.ts";
import { DamagedLedger } from "./damage.ts";
import { gather } from "./gather.ts";
import { limits } from "./limits.ts";
import { type RefusalRetention, refusalRetention } from "./refusal.ts";
import type { Store } from "./store.ts";
import { answerOf, type Command, Overlay, type Verdict, Work } from "./work.ts";

/** A command that waits for its commit. */
interface Pending extends Command<unknown> {
  readonly queuedAtMs: number;
  readonly settle: (verdict: Verdict) => void;
}

/** Single commands in a commit at most. */
const batchLimit = 256;
/**
 * Commands of a bulk in a commit at most: the garbage collector copies what waits for one (docs/PERFORMANCE.md). While
 * there are single ones, few, so that these do not wait for long.
 */
const bulkLimit = { alone: 512, besideSingle: 64 };
const besideSingleMs = 1000;
/**
 * While there are single ones, each chunk of a bulk waits until the process has been idle for this share of the time, or
 * for so long.
 */
const idleBesideSingle = { share: 0.4, longestWaitMs: 50 };
/** A file's next lines take longer than a turn to be read, and a small commit costs each of its lines more. */
const bulkPatienceMs = 1;
const queueLimit = 16_384;
/** Of the histogram of batches. */
const sizeBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** Commits, one at a time. */
interface Lane {
  readonly bulk: Pending[];
  running?: Promise<void> | undefined;
}

/**
 * Collects the commands that arrive while each turn of the event loop brings more, or a commit is under way, into the
 * next commit, single ones before those of a bulk. Each is decided on its own, and nobody is answered before the commit
 * is durable. Commands of a bulk are spread over as many lanes as the store has transactions at once, by account.
 */
export class Batcher {
  readonly #store: Store;
  readonly #now: () => Date;
  readonly #retention: RefusalRetention;
  readonly #longestWaitMs: number;
  readonly #lanes: readonly Lane[];
  readonly #single: Pending[] = [];
  readonly #sizes = new Histogram(sizeBounds);
  readonly #seconds = new Histogram(secondsBounds);
  #lastSingleMs = Number.NEGATIVE_INFINITY;
  #utilization = performance.eventLoopUtilization();
  #idleDueMs = 0;

  constructor(
    store: Store,
    now: () => Date,
    options: {
      retention?: RefusalRetention | undefined;
      longestWaitMs?: number;
    } = {},
  ) {
    this.#store = store;
    this.#now = now;
    this.#retention = options.retention ?? refusalRetention;
    this.#longestWaitMs = options.longestWaitMs ?? limits.queueWaitMs;
    this.#lanes = Array.from({ length: store.transactionsAtOnce }, () => ({ bulk: [] }));
  }

  /**
   * A refusal that could turn out differently later is kept under the request's key, and is its answer from then on.
   * @throws FxError overloaded, storage-unavailable, idempotency-key-reused, and whatever `decide` throws
   */
  run<T>({ request, decide }: Command<T>): Promise<T> {
    if (this.#single.length >= queueLimit) {
      return Promise.reject(
        new FxError("overloaded", "Too many orders are waiting for the store. Try again in a moment.", {
          retryAfterSeconds: 1,
        }),
      );
    }
    return new Promise<T>((resolve, reject) => {
      const queuedAtMs = performance.now();
      this.#lastSingleMs = queuedAtMs;
      this.#single.push({
        request,
        decide,
        queuedAtMs,
        settle: (verdict) => {
          if ("refusal" in verdict) reject(verdict.refusal);
          else resolve(verdict.answer as T);
        },
      });
      this.#start(this.#lanes[0] as Lane);
    });
  }

  /**
   * Runs commands of a bulk, those of one account in their order, after the single ones that wait. Answers each in its
   * place, with what it came to or with its FxError. An FxError in place of a command is its own answer.
   */
  runAll<T>(commands: readonly (Command<T> | FxError)[]): Promise<(T | FxError)[]> {
    return new Promise((resolve) => {
      const queuedAtMs = performance.now();
      const answers = [...commands] as (T | FxError)[];
      let left = 1;
      const settled = () => {
        left -= 1;
        if (left === 0) resolve(answers);
      };
      for (const [index, command] of commands.entries()) {
        if (command instanceof FxError) continue;
        left += 1;
        const settle = (verdict: Verdict) => {
          answers[index] = answerOf<T>(verdict);
          settled();
        };
        const { request, decide } = command;
        // By its check digit.
        const lane = this.#lanes[request.pesel.charCodeAt(10) % this.#lanes.length] as Lane;
        lane.bulk.push({ request, decide, queuedAtMs, settle });
        this.#start(lane);
      }
      settled();
    });
  }

  /** Resolves when a bulk may bring more: at once or, beside single ones, when the process has been idle enough. */
  async admit(): Promise<void> {
    const now = performance.eventLoopUtilization();
    const { active, idle } = performance.eventLoopUtilization(now, this.#utilization);
    this.#utilization = now;
    const { share, longestWaitMs } = idleBesideSingle;
    this.#idleDueMs = Math.max(0, this.#idleDueMs + (active * share) / (1 - share) - idle);
    if (this.#isAlone()) this.#idleDueMs = 0;
    else await pause(Math.min(longestWaitMs, this.#idleDueMs));
  }

  /** Resolves when everything that was taken in has been answered. */
  async drained(): Promise<void> {
    await Promise.all(this.#lanes.map(({ running }) => running));
  }

  get figures(): CommitFigures {
    const waiting = this.#lanes.reduce((sum, { bulk }) => sum + bulk.length, this.#single.length);
    return { waiting, sizes: this.#sizes, seconds: this.#seconds };
  }

  #start(lane: Lane): void {
    lane.running ??= this.#drain(lane);
  }

  async #drain(lane: Lane): Promise<void> {
    // Single ones stay in one lane: in smaller batches each would cost more.
    const single = lane === this.#lanes[0] ? this.#single : [];
    const waiting = () => single.length + lane.bulk.length;
    while (waiting() > 0) {
      await gather(waiting, this.#limit(), () => (single.length === 0 ? bulkPatienceMs : 0));
      const batch = this.#inTime(this.#next(single, lane.bulk));
      await this.#settle(batch);
    }
    lane.running = undefined;
  }

  /**
   * Commits the commands together. If the store meets damage in their writes, nothing is written, and the two halves are
   * committed by themselves, down to the damaged one.
   */
  async #settle(batch: readonly Pending[]): Promise<void> {
    try {
      const verdicts = await this.#commit(batch);
      for (const [index, { settle }] of batch.entries()) settle(verdicts[index] as Verdict);
    } catch (refusal) {
      if (refusal instanceof DamagedLedger && batch.length > 1) {
        const middle = Math.ceil(batch.length / 2);
        await this.#settle(batch.slice(0, middle));
        await this.#settle(batch.slice(middle));
        return;
      }
      for (const { settle } of batch) settle({ refusal });
    }
  }

  #isAlone(): boolean {
    return performance.now() - this.#lastSingleMs > besideSingleMs;
  }

  #limit(): number {
    return this.#isAlone() ? bulkLimit.alone : batchLimit;
  }

  /** Takes the commands of the next commit out of the queues. */
  #next(single: Pending[], bulk: Pending[]): Pending[] {
    const first = single.splice(0, batchLimit);
    return [...first, ...bulk.splice(0, this.#isAlone() ? bulkLimit.alone : bulkLimit.besideSingle)];
  }

  /** Refuses those that have waited too long, and returns the others. */
  #inTime(batch: readonly Pending[]): readonly Pending[] {
    const oldestMs = performance.now() - this.#longestWaitMs;
    return batch.filter(({ queuedAtMs, settle }) => {
      if (queuedAtMs >= oldestMs) return true;
      const message =
        "The store was not ready for the order in time: it was not begun, and nothing was changed.";
      settle({ refusal: new FxError("overloaded", message, { retryAfterSeconds: 1 }) });
      return false;
    });
  }

  async #commit(batch: readonly Pending[]): Promise<Verdict[]> {
    const startedMs = performance.now();
    try {
      return await this.#transact(batch);
    } finally {
      this.#sizes.observe(batch.length);
      this.#seconds.observe((performance.now() - startedMs) / 1000);
    }
  }

  #transact(batch: readonly Pending[]): Promise<Verdict[]> {
    return this.#store.transact(
      batch.map(({ request }) => request),
      (loaded) => {
        const time = this.#now();
        const work = new Work(loaded, new Overlay(), { time, retention: this.#retention });
        const answer = batch.map((pending) => work.take(pending));
        return { writes: work.writes(), answer };
      },
    );
  }
}
