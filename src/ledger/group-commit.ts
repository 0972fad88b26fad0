import { setImmediate as nextTurn } from "node:timers/promises";
import type { Request } from "../core/change.ts";
import { FxError } from "../core/errors.ts";
import type { BulkAnswer, BulkLine, Commits, Recorded, Settlement } from "../core/service.ts";
import { type DecisionRules, Decisions, failureOf } from "./decision.ts";
import { limits } from "./limits.ts";
import { DamagedLedger } from "./rows.ts";
import type { Store } from "./store.ts";

/** A request that waits for its commit. */
interface Waiting {
  readonly request: Request;
  readonly queuedAtMs: number;
  readonly settle: (answer: BulkAnswer) => void;
}

/** The maximum number of requests in a group. */
const groupLimit = 256;
/** Requests of a group that are reserved for lines of batches, so that these are never starved. */
const batchShare = 64;
/** The maximum number of waiting single requests. */
const queueLimit = 16_384;

/**
 * Group commit: the requests that arrive in one turn of the event loop, or while a commit is under way, share the next
 * one, single requests before lines of batches. Each is decided on its own, and nobody is answered before the commit is
 * durable.
 */
export class GroupCommit implements Commits {
  readonly #store: Store;
  readonly #rules: () => DecisionRules;
  readonly #single: Waiting[] = [];
  readonly #lines: Waiting[] = [];
  #observer: Parameters<Commits["observe"]>[0] = () => {};
  #running: Promise<void> | undefined;

  /** @param rules asked once for each try of a commit */
  constructor(store: Store, rules: () => DecisionRules) {
    this.#store = store;
    this.#rules = rules;
  }

  /**
   * Carries out a single request.
   * @throws FxError overloaded, storage-unavailable, and whatever the request is refused with
   */
  run(request: Request): Promise<Settlement | Recorded> {
    if (this.#single.length >= queueLimit) {
      return Promise.reject(overloaded("Too many orders are waiting for the store. Try again in a moment."));
    }
    return new Promise((resolve, reject) => {
      this.#queue(this.#single, request, (answer) => {
        if (answer instanceof FxError) reject(answer);
        else resolve(answer);
      });
    });
  }

  /** Carries out lines of a batch in their order, and answers each in its place. An FxError is its own answer. */
  runAll(lines: readonly BulkLine[]): Promise<BulkAnswer[]> {
    const answers = lines.map((line) =>
      line instanceof FxError
        ? line
        : new Promise<BulkAnswer>((resolve) => this.#queue(this.#lines, line, resolve)),
    );
    return Promise.all(answers);
  }

  /** Resolves when everything that was taken in has been answered. */
  async drained(): Promise<void> {
    await this.#running;
  }

  observe(observer: (requests: number, seconds: number) => void): void {
    this.#observer = observer;
  }

  get waiting(): number {
    return this.#single.length + this.#lines.length;
  }

  #queue(queue: Waiting[], request: Request, settle: Waiting["settle"]): void {
    queue.push({ request, settle, queuedAtMs: performance.now() });
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    while (this.waiting > 0) {
      await nextTurn();
      await this.#settle(this.#inTime(this.#next()));
    }
    this.#running = undefined;
  }

  /** Takes the requests of the next commit out of the queues. */
  #next(): Waiting[] {
    const reserved = Math.min(this.#lines.length, batchShare);
    const single = this.#single.splice(0, groupLimit - reserved);
    return [...single, ...this.#lines.splice(0, groupLimit - single.length)];
  }

  /** Refuses those that have waited too long, and returns the others. */
  #inTime(group: readonly Waiting[]): readonly Waiting[] {
    const oldestMs = performance.now() - limits.queueWaitMs;
    return group.filter(({ queuedAtMs, settle }) => {
      if (queuedAtMs >= oldestMs) return true;
      const message = "The store was not ready in time: the order was not begun, and nothing was changed.";
      settle(overloaded(message));
      return false;
    });
  }

  /**
   * Commits the requests together. If the store meets damage in their writes, nothing is written, and the two halves are
   * committed by themselves, down to the damaged one.
   */
  async #settle(group: readonly Waiting[]): Promise<void> {
    if (group.length === 0) return;
    try {
      const answers = await this.#commit(group);
      for (const [index, { settle }] of group.entries()) settle(answers[index] as BulkAnswer);
    } catch (error) {
      if (error instanceof DamagedLedger && group.length > 1) {
        const middle = Math.ceil(group.length / 2);
        await this.#settle(group.slice(0, middle));
        await this.#settle(group.slice(middle));
        return;
      }
      const failure = failureOf(error);
      for (const { settle } of group) settle(failure);
    }
  }

  async #commit(group: readonly Waiting[]): Promise<BulkAnswer[]> {
    const startedMs = performance.now();
    const requests = group.map(({ request }) => request);
    try {
      return await this.#store.transact(requests, (view) => {
        const decisions = new Decisions(view, this.#rules());
        const answer = requests.map((request) => decisions.decide(request));
        return { writes: decisions.writes, answer };
      });
    } finally {
      this.#observer(group.length, (performance.now() - startedMs) / 1000);
    }
  }
}

function overloaded(message: string): FxError {
  return new FxError("overloaded", message, { retryAfterSeconds: 1 });
}
