import type { TableLedger } from "../core/rates.ts";
import { effectiveOn, newest } from "./judge.ts";
import { LedgerFollower } from "./ledger-follower.ts";
import { openSource } from "./ledger-rates.ts";
import { commandLimits } from "./nbp.ts";
import { isLive } from "./source.ts";
import { clockProblem, dayOf, nothingKnown, problemOf } from "./trading.ts";

/** What a process that trades would make of the newest table of a source now. */
export interface Inspection {
  readonly recorded: boolean;
  /** The number of the source's newest table, if it answers. */
  readonly table: string | undefined;
  /** Why there is none, or why it would not come into force, with the way to let it through. */
  readonly problem: string | undefined;
  readonly clock: string | undefined;
}

/** Asks the source that an operator calls `name`, and judges its answer without putting anything in force. */
export async function inspectSource(
  name: string,
  ledger: TableLedger | undefined,
  now: () => Date,
): Promise<Inspection> {
  const known = nothingKnown();
  let table: string | undefined;
  try {
    const source = await openSource(name, commandLimits);
    const { tables, date } = await source.tables(1, AbortSignal.timeout(commandLimits.requestTimeoutMs));
    table = newest(tables)?.number;
    if (date !== undefined) known.clockAheadMs = now().getTime() - date.getTime();
    if (ledger !== undefined) {
      const options = { source, ledger, trades: true, operator: "", now };
      const follower = new LedgerFollower(options, known, undefined);
      const effective = effectiveOn(dayOf(now(), known.clockAheadMs), tables);
      const inForce = await follower.follow();
      if (follower.mayAccept(inForce)) {
        known.heldBack = (await follower.choose(effective, inForce, undefined)).heldBack;
      }
    }
  } catch (error) {
    known.fetchFailure = error instanceof Error ? error.message : String(error);
  }
  const clock = clockProblem(known.clockAheadMs, name);
  return { recorded: !isLive(name), table, problem: problemOf(known), clock };
}
