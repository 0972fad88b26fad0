import type { Opening } from "../core/account.ts";
import { formatDecimal } from "../core/decimal.ts";
import { type ErrorCode, FxError } from "../core/errors.ts";
import type { ExchangeOrder } from "../core/exchange.ts";
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

/** The same text for every spelling of one order. The table it is pinned to is not part of it. */
export function orderBody({ from, to, side, amount }: ExchangeOrder): string {
  return JSON.stringify(["order", from, to, side, formatDecimal(amount)]);
}

/** The same text for every spelling of one opening. */
export function openingBody({ name, surname, initial }: Opening): string {
  return JSON.stringify(["opening", name, surname, formatDecimal(initial)]);
}

/** The refusal as it was answered. */
export function replayOf({ code, message }: Refusal): FxError {
  return new FxError(code, message, { replayed: true });
}

/** @throws FxError idempotency-key-reused */
export function requireSameRequest(same: boolean): asserts same {
  if (same) return;
  throw new FxError(
    "idempotency-key-reused",
    "This Idempotency-Key was used on this account for another request. Use a new key for a new request.",
  );
}
