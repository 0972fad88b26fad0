import type { Acceptance, RateTable } from "../core/rates.ts";
import type { Decision, Loaded } from "./store.ts";

/** Decides a transaction that puts `table` in force if the table of `epoch` still is, and answers whether it did. */
export function planAcceptance(
  table: RateTable,
  { epoch, ...acceptance }: Acceptance,
): (loaded: Loaded) => Decision<boolean> {
  return ({ inForce }) => {
    const isCurrent = (inForce()?.epoch ?? 0) === epoch;
    const accepted = isCurrent ? { table, ...acceptance } : undefined;
    return { writes: { accounts: [], entries: [], accepted }, answer: isCurrent };
  };
}
