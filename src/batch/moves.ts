import { type CurrencyCode, pln } from "../core/currency.ts";
import { knownDigits, type Money, minorUnitsOf } from "../core/money.ts";
import type { KeyedLine } from "./keys.ts";

/** The outcome of a line, or of its dry run. */
export interface LineOutcome {
  readonly line: KeyedLine;
  readonly state: "done" | "replayed" | "refused" | "failed" | "unknown";
  readonly sold?: Money | undefined;
  readonly bought?: Money | undefined;
}

/** The sums that leave accounts and that come to them, in minor units. */
export type Sums = Map<CurrencyCode, { out: bigint; into: bigint }>;

/** The sums in each currency of the lines that are done now, or would be. */
export function sumsOf(results: readonly LineOutcome[], sums: Sums = new Map()): Sums {
  const add = (money: Money | undefined, side: "out" | "into") => {
    if (money === undefined) return;
    const sum = sums.get(money.currency) ?? { out: 0n, into: 0n };
    sum[side] += money.minor;
    sums.set(money.currency, sum);
  };
  for (const result of results) {
    if (result.state !== "done") continue;
    const { request } = result.line;
    add(result.sold, "out");
    add(result.bought, "into");
    if (request instanceof Error || request.kind === "exchange") continue;
    const [currency, amount] =
      request.kind === "opening"
        ? ([pln, request.initial] as const)
        : ([request.currency, request.amount] as const);
    const minor = minorUnitsOf(amount, knownDigits(currency));
    if (minor === undefined) throw new RangeError("an order that was done has whole minor units");
    if (minor > 0n) add({ currency, minor }, request.kind === "withdrawal" ? "out" : "into");
  }
  return sums;
}
