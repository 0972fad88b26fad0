import { setTimeout as pause } from "node:timers/promises";
import { FxError } from "../core/errors.ts";

const longestPauseMs = 25;

/**
 * Does work that writes, as soon as no other process holds the lock. SQLite itself would wait for that in this thread,
 * and reads with it, so its own time-out has to be 0.
 * @throws FxError overloaded if the lock is held for `waitMs`
 */
export async function whenUnlocked<T>(work: () => T, waitMs: number): Promise<T> {
  const end = performance.now() + waitMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return work();
    } catch (error) {
      if (!isLocked(error) || performance.now() > end) throw error;
    }
    await pause(pauseMs * (0.5 + Math.random()));
  }
}

function isLocked(error: unknown): boolean {
  return error instanceof FxError && error.code === "overloaded";
}
