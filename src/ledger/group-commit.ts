import { setImmediate as nextTurn } from "node:timers/promises";
import { FxError } from "../core/errors.ts";
import { Histogram, secondsBounds } from "../core/histogram.ts";
import type { CommitFigures } from "../core/service.ts";
import { DamagedLedger } from "./damage.ts";
import { limits } from "./limits.ts";
import { type RefusalRetention, refusalRetention } from "./refusal.ts";
import type { Store } from "./store.ts";
import { answerOf, type Command, Overlay, type Verdict, Work } from "./work.ts";

/** A command that waits for its commit. */
interface Waiting extends Command<unknown> {
  readonly queuedAtMs: number;
  readonly settle: (verdict: Verdict) => void;
}

/** Commands in a group at most. */
const groupLimit = 256;
/** Places in a group that single requests leave to lines of bulks, so that these are never starved. */
const bulkShare = 64;
/** Single requests that wait at most. */
const queueLimit = 16_384;
/** Bounds of the histogram of groups. */
const sizeBounds = [1, 2, 4, 8, 16, 32, 64, 128, groupLimit];

/**
 * Group commit: the commands that arrive in one turn of the event loop, or while a commit is under way, share the next
 * one, single requests before lines of bulks. Each is decided on its own, and nobody is answered before the commit is
 * durable.
 */
export class GroupCommit {
  readonly #store: Store;
  readonly #now: () => Date;
  readonly #retention: RefusalRetention;
  readonly #single: Waiting[] = [];
  readonly #lines: Waiting[] = [];
  readonly #sizes = new Histogram(sizeBounds);
  readonly #seconds = new Histogram(secondsBounds);
  #running: Promise<void> | undefined;

  constructor(store: Store, now: () => Date, retention: RefusalRetention = refusalRetention) {
    this.#store = store;
    this.#now = now;
    this.#retention = retention;
  }

  /**
   * Runs a single request's command.
   * @throws FxError overloaded, storage-unavailable, idempotency-key-reused, and whatever `decide` throws
   */
  run<T>(command: Command<T>): Promise<T> {
    if (this.#single.length >= queueLimit) {
      return Promise.reject(overloaded("Too many orders are waiting for the store. Try again in a moment."));
    }
    return new Promise<T>((resolve, reject) => {
      this.#queue(this.#single, command, (verdict) => {
        if ("refusal" in verdict) reject(verdict.refusal);
        else resolve(verdict.answer as T);
      });
    });
  }

  /** Runs lines of a bulk in their order. Answers each in its place; an FxError in place of a command is its own answer. */
  runAll<T>(commands: readonly (Command<T> | FxError)[]): Promise<(T | FxError)[]> {
    const answers = commands.map((command) =>
      command instanceof FxError
        ? command
        : new Promise<T | FxError>((resolve) => {
            this.#queue(this.#lines, command, (verdict) => resolve(answerOf<T>(verdict)));
          }),
    );
    return Promise.all(answers);
  }

  /** Resolves when everything that was taken in has been answered. */
  async drained(): Promise<void> {
    await this.#running;
  }

  get figures(): CommitFigures {
    return { waiting: this.#waiting, sizes: this.#sizes, seconds: this.#seconds };
  }

  get #waiting(): number {
    return this.#single.length + this.#lines.length;
  }

  #queue(queue: Waiting[], { request, decide }: Command<unknown>, settle: Waiting["settle"]): void {
    queue.push({ request, decide, settle, queuedAtMs: performance.now() });
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    while (this.#waiting > 0) {
      await nextTurn();
      await this.#settle(this.#inTime(this.#next()));
    }
    this.#running = undefined;
  }

  /** Takes the commands of the next commit out of the queues. */
  #next(): Waiting[] {
    const reserved = Math.min(this.#lines.length, bulkShare);
    const single = this.#single.splice(0, groupLimit - reserved);
    return [...single, ...this.#lines.splice(0, groupLimit - single.length)];
  }

  /** Refuses those that have waited too long, and returns the others. */
  #inTime(group: readonly Waiting[]): readonly Waiting[] {
    const oldestMs = performance.now() - limits.queueWaitMs;
    return group.filter(({ queuedAtMs, settle }) => {
      if (queuedAtMs >= oldestMs) return true;
      const message =
        "The store was not ready for the order in time: it was not begun, and nothing was changed.";
      settle({ refusal: overloaded(message) });
      return false;
    });
  }

  /**
   * Commits the commands together. If the store meets damage in their writes, nothing is written, and the two halves are
   * committed by themselves, down to the damaged one.
   */
  async #settle(group: readonly Waiting[]): Promise<void> {
    if (group.length === 0) return;
    try {
      const verdicts = await this.#commit(group);
      for (const [index, { settle }] of group.entries()) settle(verdicts[index] as Verdict);
    } catch (refusal) {
      if (refusal instanceof DamagedLedger && group.length > 1) {
        const middle = Math.ceil(group.length / 2);
        await this.#settle(group.slice(0, middle));
        await this.#settle(group.slice(middle));
        return;
      }
      for (const { settle } of group) settle({ refusal });
    }
  }

  async #commit(group: readonly Waiting[]): Promise<Verdict[]> {
    const startedMs = performance.now();
    try {
      return await this.#store.transact(
        group.map(({ request }) => request),
        (loaded) => {
          const work = new Work(loaded, new Overlay(), { time: this.#now(), retention: this.#retention });
          const answer = group.map((command) => work.take(command));
          return { writes: work.writes(), answer };
        },
      );
    } finally {
      this.#sizes.observe(group.length);
      this.#seconds.observe((performance.now() - startedMs) / 1000);
    }
  }
}

function overloaded(message: string): FxError {
  return new FxError("overloaded", message, { retryAfterSeconds: 1 });
}
