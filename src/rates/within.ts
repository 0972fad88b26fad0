import { setTimeout as pause } from "node:timers/promises";

/** Waits for the end of `work`, but not longer than this. */
export async function within(work: Promise<void>, ms: number): Promise<void> {
  const limit = new AbortController();
  await Promise.race([work, pause(ms, undefined, { signal: limit.signal })]).finally(() => limit.abort());
}
