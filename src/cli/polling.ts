import { setTimeout as pause } from "node:timers/promises";
import { describeFailure } from "./errors.ts";

/**
 * Looks at files again and again until the signal. Polled, because the system's events miss a link that is set to another
 * folder, as containers have it.
 * @param onFault told once, as long as the same is wrong
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
