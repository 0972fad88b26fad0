import { addDays, type CalendarDate, warsawDate } from "../core/date.ts";
import type { RateTable, TableInForce, TableRules } from "../core/rates.ts";
import { effectiveOn, type HeldBack, newest } from "./judge.ts";
import type { RateSource } from "./source.ts";

/**
 * What a process does with rates. A server ("serve") and a command that settles an order ("settle") trade: they put
 * tables in force. A command that reads ("read") quotes at the ledger's table, and judges and writes nothing.
 */
export type RatesRole = "serve" | "settle" | "read";

/** What a process knows of the rates. */
export interface Known {
  readonly role: RatesRole;
  readonly source: Pick<RateSource, "name" | "recorded">;
  rules: TableRules;
  /** The source to take the ledger over from, until that is done, here or by another process. */
  changeSource: string | undefined;
  /** What the ledger said last. */
  inForce: TableInForce | undefined;
  /** The source's last answer, oldest first, with tables that are not effective yet. */
  tables: readonly RateTable[];
  /** The newest table that a check holds back. */
  heldBack: HeldBack | undefined;
  /** Why the source did not answer the last time, and why the ledger did not. */
  fetchFailure: string | undefined;
  ledgerFailure: string | undefined;
  /** How far this machine's clock is ahead of the source's. */
  clockAheadMs: number;
}

export interface Prices {
  /** The table to quote at, and the only one at which orders may settle. */
  readonly table: RateTable | undefined;
  /** Why nothing is quoted. */
  readonly notQuoted: string | undefined;
  /** Why no order settles. */
  readonly notTraded: string | undefined;
}

/** Whether the ledger trades at this process's source. */
export function isOurs({ inForce, source }: Pick<Known, "inForce" | "source">): boolean {
  return inForce?.table.source === source.name;
}

/** Whether the ledger trades at another source, and is not to be changed to this process's. */
export function isElsewhere(known: Pick<Known, "inForce" | "source" | "changeSource">): boolean {
  const { inForce, changeSource } = known;
  return inForce !== undefined && !isOurs(known) && inForce.table.source !== changeSource;
}

/** Decides at which table a process quotes and settles orders now, and why it does not. The one place that does. */
export function pricesOf(known: Known, now: Date): Prices {
  const { inForce, role } = known;
  if (inForce !== undefined && isOurs(known)) {
    const { table } = inForce;
    const problem = problemWith(table, known, now);
    return { table, notQuoted: problem, notTraded: problem };
  }
  const table = newest(effectiveOn(warsawDate(now), known.tables));
  const notQuoted = problemWith(table, known, now);
  if (inForce !== undefined) return { table, notQuoted, notTraded: otherSource(inForce, known, now) };
  // A dry run is priced at the table that the run itself would put in force.
  return { table, notQuoted, notTraded: role === "read" ? notQuoted : noTable(known, now) };
}

function problemWith(table: RateTable | undefined, known: Known, now: Date): string | undefined {
  if (table === undefined) return noTable(known, now);
  const { source, clockAheadMs } = known;
  const { maxAgeDays } = known.rules;
  const { number, effectiveDate } = table;
  const today = warsawDate(now);
  const clock = clockProblem(clockAheadMs, source.name);
  if (effectiveDate > today) {
    const cause = clock ?? "This clock is behind, or a process whose clock is ahead put the table in force.";
    return `The rate table in force, ${number}, takes effect on ${effectiveDate}, and by this machine's clock it is ${today}. ${cause}`;
  }
  if (source.recorded || today <= addDays(effectiveDate, maxAgeDays)) return undefined;
  const days = `${maxAgeDays} day${maxAgeDays === 1 ? "" : "s"}`;
  const old = `The newest rate table, ${number}, is of ${effectiveDate}, and fx trades at a table for at most ${days}.`;
  return [old, noNewer(known, now), ...(clock === undefined ? [] : [clock])].join(" ");
}

function noTable(known: Known, now: Date): string {
  return `There is no rate table yet. ${noNewer(known, now)}`;
}

function otherSource({ table }: TableInForce, known: Known, now: Date): string {
  const { name } = known.source;
  const theirs = table.source;
  const way = isElsewhere(known)
    ? `Use --rates ${theirs}, or change the ledger's source with fx serve --rates ${name} --change-source ${theirs}.`
    : `The ledger changes to ${name} with its first table that may come into force. ${noNewer(known, now)}`;
  return `The ledger trades at the rates of ${theirs}, and this fx has those of ${name}, at which it only quotes. ${way}`;
}

/** Why there is no newer table, where something is wrong. */
export function problemOf({
  heldBack,
  ledgerFailure,
  fetchFailure,
}: Partial<Pick<Known, "heldBack" | "ledgerFailure" | "fetchFailure">>): string | undefined {
  if (heldBack === undefined) return ledgerFailure ?? fetchFailure;
  return `Table ${heldBack.table.number} is held back: ${heldBack.reason}.`;
}

/** Why there is no newer table. */
function noNewer(known: Known, now: Date): string {
  const { source, role, inForce } = known;
  const problem = problemOf(known);
  if (problem !== undefined) return problem;
  if (role === "read" && isOurs(known)) {
    return "fx serve, or a command that settles an order, fetches a newer one.";
  }
  const last = newest(known.tables);
  if (last === undefined) {
    return `${inForce === undefined ? "The first" : "A newer one"} is being fetched from ${source.name}.`;
  }
  if (last.effectiveDate > warsawDate(now)) {
    return `The ${inForce === undefined ? "first" : "next"} table of ${source.name}, ${last.number}, takes effect on ${last.effectiveDate}.`;
  }
  return `${source.name} has no newer one.`;
}

const clockToleranceMs = 5 * 60_000;

/** Whether a clock that is so far ahead of another, or behind it, is wrong. */
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
