import { FxError } from "./errors.ts";
import { maskPesels } from "./mask.ts";
import type { Suspension, TableInForce } from "./rates.ts";

/** A request to suspend trading, or, without a reason, to resume it. */
export interface TradingRequest {
  readonly reason: string | undefined;
  /** The name of the token that the request came with. */
  readonly by: string | undefined;
}

/**
 * Decides the suspension that is in force after a request; undefined if trading is resumed. One that is in force already
 * keeps its beginning, and gets the new reason.
 * @returns `inForce.suspension` itself if the request changes nothing, so it can be sent again
 * @throws FxError rates-unavailable
 */
export function planSuspension(
  inForce: TableInForce | undefined,
  { reason: given, by }: TradingRequest,
  now: Date,
): Suspension | undefined {
  if (inForce === undefined) {
    throw new FxError(
      "rates-unavailable",
      "No rate table has been in force yet, so no order settles, and there is no trading to suspend or resume.",
      { retryAfterSeconds: 60 },
    );
  }
  const { suspension } = inForce;
  if (given === undefined) return undefined;
  // Everybody can read the reason.
  const reason = maskPesels(given);
  if (suspension?.reason === reason && suspension.by === by) return suspension;
  return { reason, by, since: suspension?.since ?? now };
}

/** @throws FxError trading-suspended */
export function requireTrading(suspension: Suspension | undefined): void {
  if (suspension !== undefined) throw new FxError("trading-suspended", suspensionText(suspension));
}

/** Why no order settles while trading is suspended. */
export function suspensionText({ reason, since }: Suspension): string {
  return `Trading has been suspended since ${since.toISOString()}: ${reason}`;
}
