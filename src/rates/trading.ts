import { addDays, type CalendarDate, warsawDate } from "../core/date.ts";
import type { RateTable, TableInForce } from "../core/rates.ts";
import { type HeldBack, newest } from "./judge.ts";
import type { RateSource } from "./source.ts";

/** What a process knows of the rates. */
export interface Known {
  /** What the ledger said last. */
  inForce: TableInForce | undefined;
  /** The source's last answer, oldest first, with tables that are not effective yet. */
  tables: readonly RateTable[];
  /** The source's tables that the ledger keeps, read where it trades at another source and this one is silent. */
  kept: readonly RateTable[] | undefined;
  /** The newest table that a check holds back. */
  heldBack: HeldBack | undefined;
  /** Why the source did not answer the last time, and why the ledger did not. */
  fetchFailure: string | undefined;
  ledgerFailure: string | undefined;
  /** How far this machine's clock is ahead of the source's. */
  clockAheadMs: number;
}

export function nothingKnown(): Known {
  return {
    inForce: undefined,
    tables: [],
    kept: undefined,
    heldBack: undefined,
    fetchFailure: undefined,
    ledgerFailure: undefined,
    clockAheadMs: 0,
  };
}

/** What decides whether orders are settled. */
export interface Facts {
  readonly source: Pick<RateSource, "name" | "recorded" | "isNamed">;
  /** The source that this process is to take the ledger over from, until it has. */
  readonly changeSource: string | undefined;
  readonly maxAgeDays: number;
  readonly now: Date;
  readonly known: Known;
  /** Whether this process asks its source. */
  readonly asksSource: boolean;
}

/** Why no order is settled. */
export interface Halt {
  readonly kind: "no table" | "other source" | "not effective" | "too old";
  readonly reason: string;
}

/** Why no order settles at the ledger's table; undefined if orders do. The one place that decides it. */
export function haltOf(inForce: TableInForce | undefined, facts: Facts): Halt | undefined {
  return sourceHalt(inForce, facts) ?? tableHalt(inForce?.table, facts);
}

/** Why nothing is settled or quoted at a table, whatever the ledger trades at. */
export function tableHalt(table: RateTable | undefined, facts: Facts): Halt | undefined {
  const { source, maxAgeDays, now, known } = facts;
  const today = warsawDate(now);
  const clock = clockProblem(known.clockAheadMs, source.name);
  if (table === undefined)
    return { kind: "no table", reason: `There is no rate table yet. ${newsOf(facts)}` };
  const { number, effectiveDate } = table;
  if (effectiveDate > today) {
    const cause = clock ?? "This clock is behind, or a process whose clock is ahead put the table in force.";
    const reason = `The rate table in force, ${number}, takes effect on ${effectiveDate}, and by this machine's clock it is ${today}. ${cause}`;
    return { kind: "not effective", reason };
  }
  if (source.recorded || today <= addDays(effectiveDate, maxAgeDays)) return undefined;
  const days = `${maxAgeDays} day${maxAgeDays === 1 ? "" : "s"}`;
  const reason = `The newest rate table, ${number}, is of ${effectiveDate}, and fx trades at a table for at most ${days}. ${newsOf(facts)}${clock === undefined ? "" : ` ${clock}`}`;
  return { kind: "too old", reason };
}

function sourceHalt(inForce: TableInForce | undefined, facts: Facts): Halt | undefined {
  const { source, changeSource } = facts;
  if (inForce === undefined || source.isNamed(inForce.table.source)) return undefined;
  const { name } = source;
  const theirs = inForce.table.source;
  const way =
    theirs === changeSource
      ? `The ledger changes to ${name} with its first table that may come into force. ${newsOf(facts)}`
      : `Use --rates ${theirs}, or change the ledger's source with fx serve --rates ${name} --change-source ${theirs}.`;
  const reason = `The ledger trades at the rates of ${theirs}, and this fx has those of ${name}, at which it only quotes. ${way}`;
  return { kind: "other source", reason };
}

/** Why there is no newer table, where something is wrong. */
export function problemOf({ heldBack, ledgerFailure, fetchFailure }: Known): string | undefined {
  if (heldBack === undefined) return ledgerFailure ?? fetchFailure;
  return `Table ${heldBack.table.number} is held back: ${heldBack.reason}.`;
}

/** Why there is no newer table. */
function newsOf({ source, known, now, asksSource }: Facts): string {
  const problem = problemOf(known);
  if (problem !== undefined) return problem;
  if (!asksSource) return "fx serve, or a command that settles an order, fetches a newer one.";
  const last = newest(known.tables);
  const isFirst = known.inForce === undefined;
  if (last === undefined) {
    return `${isFirst ? "The first" : "A newer one"} is being fetched from ${source.name}.`;
  }
  if (last.effectiveDate > warsawDate(now)) {
    return `The ${isFirst ? "first" : "next"} table of ${source.name}, ${last.number}, takes effect on ${last.effectiveDate}.`;
  }
  return `${source.name} has no newer one.`;
}

const clockToleranceMs = 5 * 60_000;

/** Whether a clock that is so far ahead of the source's, or behind it, is wrong. */
export function isClockOff(aheadMs: number): boolean {
  return Math.abs(aheadMs) > clockToleranceMs;
}

/** What is wrong with this machine's clock, which is `aheadMs` ahead of the source's. */
export function clockProblem(aheadMs: number, source: string): string | undefined {
  if (!isClockOff(aheadMs)) return undefined;
  const minutes = Math.round(Math.abs(aheadMs) / 60_000);
  const far = minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`;
  const side = aheadMs > 0 ? "ahead of" : "behind";
  return `This machine's clock is ${far} ${side} the time that ${source} tells. Synchronize it.`;
}

/** The day in Warsaw on which a table has to be effective to come into force: by the source's clock, too. */
export function dayOf(now: Date, aheadMs: number): CalendarDate {
  const theirs = isClockOff(aheadMs) ? new Date(now.getTime() - aheadMs) : now;
  return [warsawDate(now), warsawDate(theirs)].sort()[0] as CalendarDate;
}
