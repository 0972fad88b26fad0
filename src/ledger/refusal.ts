import { type ErrorCode, FxError } from "../core/errors.ts";
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

/** Whether what was thrown is a refusal to be kept under the request's key. */
export function isFinal(thrown: unknown): thrown is FxError {
  return thrown instanceof FxError && !thrown.replayed && isFinalCode(thrown.code);
}

export function isFinalCode(code: string): code is ErrorCode {
  return (finalCodes as readonly string[]).includes(code);
}

/** @throws FxError idempotency-key-reused */
export function requireSameRequest(same: boolean): void {
  if (!same) throw keyReused();
}

/**
 * Whoever asks without a token is asked for none, and can see every entry.
 * @throws FxError idempotency-key-reused if the earlier request came with another token, whatever it asked for
 */
export function requireSameToken(earlier: { readonly by: string | undefined }, by: string | undefined): void {
  if (earlier.by === undefined || by === undefined || earlier.by === by) return;
  throw keyReused("with another token. See what was done with it before you use a new key.");
}

export function keyReused(how = "for another request. Use a new key for a new request."): FxError {
  return new FxError("idempotency-key-reused", `This Idempotency-Key was used on this account ${how}`);
}
