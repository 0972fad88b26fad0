import type { TableLedger } from "../core/rates.ts";
import { effectiveOn, newest, nextTable } from "./judge.ts";
import { recentTables } from "./ledger-rates.ts";
import { openSource } from "./open.ts";
import { isLive } from "./source.ts";
import { clockProblem, dayOf, isElsewhere, problemOf } from "./trading.ts";

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
  const recorded = !isLive(name);
  try {
    const source = await openSource(name);
    const { tables, date } = await source.tables(recentTables);
    const aheadMs = date === undefined ? 0 : now().getTime() - date.getTime();
    const inForce = await ledger?.inForce();
    const effective = effectiveOn(dayOf(now(), aheadMs), tables);
    const isJudged = ledger !== undefined && !isElsewhere({ inForce, source, changeSource: undefined });
    const choice = isJudged ? await nextTable(ledger, effective, inForce?.table, undefined) : undefined;
    const problem = problemOf({ heldBack: choice?.heldBack });
    return { recorded, table: newest(tables)?.number, problem, clock: clockProblem(aheadMs, name) };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { recorded, table: undefined, problem, clock: undefined };
  }
}
