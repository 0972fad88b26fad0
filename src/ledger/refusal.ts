import { type ErrorCode, FxError } from "../core/errors.ts";
import type { Refusal } from "./store.ts";

/**
 * Refusals that depend on the account, the rates or the funds. Sent again, the request could be carried out although
 * its sender knows it as refused, so the answer is kept. An order at a replaced table may be sent again, under its key,
 * for the next table. A request that is wrong in itself is always refused.
 */
const finalCodes: readonly ErrorCode[] = [
  "account-not-found",
  "account-exists",
  "insufficient-funds",
  "balance-limit",
  "unsupported-currency",
  "amount-too-small",
  "underage",
  "already-reversed",
  "account-closed",
  "account-not-empty",
];

/** How long refusals are kept, and at most how many. */
export interface RefusalRetention {
  readonly days: number;
  readonly most: number;
}

export const refusalRetention: RefusalRetention = { days: 30, most: 1_000_000 };

/** Whether what was thrown is a refusal to be kept under the request's key. */
export function isFinal(thrown: unknown): thrown is FxError {
  return thrown instanceof FxError && !thrown.replayed && finalCodes.includes(thrown.code);
}

/** The refusal as it was answered. */
export function replayOf({ code, message }: Refusal): FxError {
  return new FxError(code, message, { replayed: true });
}

/** @throws FxError idempotency-key-reused */
export function requireSameRequest(same: boolean): asserts same {
  if (!same) throw keyReused();
}

export function keyReused(): FxError {
  return new FxError(
    "idempotency-key-reused",
    "This Idempotency-Key was used on this account for another request. Use a new key for a new request.",
  );
}
