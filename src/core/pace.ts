import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";

/** Of the thread's time: what long reads do besides, to caches and to the heap, costs orders as much again. */
const share = 0.125;
/** Of a pause: below that the thread has nothing else to do. */
const idleShare = 0.1;

/**
 * What takes long in the thread of orders is done in parts: those of one pace together take an eighth of the thread's
 * time, and more only while it has nothing else to do.
 */
export class Pace {
  /** When the next part may begin. */
  #freeAt = 0;

  /** Resolves when a part may begin. */
  async free(): Promise<void> {
    const left = this.#freeAt - performance.now();
    if (left > 0) await pause(left);
  }

  /** Resolves when the next part may begin, after one that took so long. */
  async rest(tookMs: number): Promise<void> {
    const before = performance.eventLoopUtilization();
    this.#freeAt = Math.max(performance.now(), this.#freeAt) + tookMs * (1 / share - 1);
    await pause(tookMs / 4);
    if (performance.eventLoopUtilization(before).utilization < idleShare) this.#freeAt = 0;
    await this.free();
  }
}
