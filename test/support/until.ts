import { setTimeout as pause } from "node:timers/promises";

/** Polls a condition. Throws after the timeout. */
export async function until(isSo: () => boolean, timeoutMs = 60_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error(`Waited ${timeoutMs} ms in vain for ${isSo}`);
    await pause(5);
  }
}
