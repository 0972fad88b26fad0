import { setTimeout as pause } from "node:timers/promises";
import { describeFailure } from "./errors.ts";

/**
 * Polls files until the signal is aborted. The system's own events miss a link that is switched to another folder, as
 * containers do.
 * @param onFault called once for each fault, however long it lasts
 */
export async function poll(
  everyMs: number,
  signal: AbortSignal,
  look: () => void | Promise<void>,
  onFault: (reason: string) => void,
): Promise<void> {
  let fault: string | undefined;
  for (;;) {
    await pause(everyMs, undefined, { signal, ref: false }).catch(() => {});
    if (signal.aborted) return;
    try {
      await look();
      fault = undefined;
    } catch (error) {
      const { message } = describeFailure(error);
      if (message !== fault) onFault(message);
      fault = message;
    }
  }
}
