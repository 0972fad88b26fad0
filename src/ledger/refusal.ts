import { FxError } from "../core/errors.ts";
import type { Refusal } from "./store.ts";

/** How long refusals are kept, and at most how many. */
export interface RefusalRetention {
  readonly days: number;
  readonly most: number;
}

export const refusalRetention: RefusalRetention = { days: 30, most: 1_000_000 };

/** The refusal as it was answered. */
export function replayOf({ code, message }: Refusal): FxError {
  return new FxError(code, message, { replayed: true });
}
