import { setTimeout as pause } from "node:timers/promises";

/**
 * Polls a condition. The limit is for what never comes: a test passes as soon as the condition holds, however busy the
 * machine. A test whose promise is a time measures it itself.
 */
export async function until(isSo: () => boolean | Promise<boolean>, timeoutMs = 120_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`Waited ${timeoutMs} ms in vain for ${isSo}`);
    await pause(5);
  }
}
