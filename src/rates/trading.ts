import { addDays, type CalendarDate, warsawDate } from "../core/date.ts";
import type { NotTraded, RateTable, TableInForce, TableRules } from "../core/rates.ts";
import { suspensionText } from "../core/suspension.ts";
import type { HeldBack } from "./judge.ts";
import type { RateSource } from "./source.ts";

/**
 * The part that a process takes in rates. A server ("serve") and a command that settles an order ("settle") trade: they put
 * rate tables in force. A command that reads ("read") quotes at the ledger's table, and judges and writes nothing; one that
 * stops or resumes trading ("first") does so, too, but puts a new ledger's first table in force.
 */
export type RatesRole = "serve" | "settle" | "read" | "first";

/** Whether a process leaves the table in force to others. */
export function isReader(role: RatesRole): boolean {
  return role === "read" || role === "first";
}

/** The facts about rates that a process knows. */
export interface Known {
  readonly role: RatesRole;
  readonly source: Pick<RateSource, "name" | "recorded">;
  rules: TableRules;
  /** The source to take the ledger over from, until that is done, here or by another process. */
  changeSource: string | undefined;
  /** The ledger's last answer. */
  inForce: TableInForce | undefined;
  /** The source's last answer, with tables that are not effective yet. */
  tables: readonly RateTable[];
  /** The newest table, if a check holds it back. */
  heldBack: HeldBack | undefined;
  /** Why the last refresh failed: the source, or the ledger. */
  failure: string | undefined;
  /** How far this machine's clock was ahead of the source's at its last answer that told the time. */
  aheadMs: number;
}

export interface Prices {
  /** The rate table to quote at, and the only one at which orders may settle. */
  readonly table: RateTable | undefined;
  /** Why nothing is quoted. */
  readonly notQuoted: string | undefined;
  /** Why no order could settle at it, even if trading is not suspended. */
  readonly unusable: string | undefined;
  /** Why no order settles. */
  readonly notTraded: NotTraded | undefined;
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
  const { inForce } = known;
  const table = isOurs(known) ? inForce?.table : quotable(known, now);
  const problem = problemWith(table, known, now);
  const unusable: NotTraded | undefined =
    inForce === undefined || isOurs(known)
      ? problem
      : { code: "other-source", reason: otherSource(inForce, known, now) };
  const notTraded: NotTraded | undefined = inForce?.suspension
    ? { code: "suspended", reason: suspensionText(inForce.suspension) }
    : unusable;
  return { table, notQuoted: problem?.reason, unusable: unusable?.reason, notTraded };
}

/** The table of this process's own source, where the ledger has none of it. */
function quotable({ inForce, role, tables }: Known, now: Date): RateTable | undefined {
  // One that trades has yet to put it in force. One that reads leaves that to others.
  if (inForce === undefined && !isReader(role)) return undefined;
  return effectiveOn(warsawDate(now), tables).at(-1);
}

function problemWith(table: RateTable | undefined, known: Known, now: Date): NotTraded | undefined {
  if (table === undefined) {
    return { code: "no-table", reason: `There is no rate table yet. ${noNewer(known, now)}` };
  }
  const { source } = known;
  const { maxAgeDays } = known.rules;
  const { number, effectiveDate } = table;
  const today = warsawDate(now);
  const clock = clockProblem(known.aheadMs, source.name);
  if (effectiveDate > today) {
    const cause = clock ?? "This clock is behind, or a process whose clock is ahead put the table in force.";
    const reason = `The rate table in force, ${number}, takes effect on ${effectiveDate}, and by this machine's clock it is ${today}. ${cause}`;
    return { code: "not-effective", reason };
  }
  if (source.recorded || today <= addDays(effectiveDate, maxAgeDays)) return undefined;
  const days = `${maxAgeDays} day${maxAgeDays === 1 ? "" : "s"}`;
  const old = `The newest rate table, ${number}, is of ${effectiveDate}, and fx trades at a table for at most ${days}.`;
  const reason = [old, noNewer(known, now), ...(clock === undefined ? [] : [clock])].join(" ");
  return { code: "too-old", reason };
}

function otherSource({ table }: TableInForce, known: Known, now: Date): string {
  const { name } = known.source;
  const theirs = table.source;
  const way = isElsewhere(known)
    ? `Use --rates ${theirs}, or change the ledger's source with fx serve --rates ${name} --change-source ${theirs}.`
    : `The ledger changes to ${name} as soon as a table of that source may come into force. ${noNewer(known, now)}`;
  return `The ledger trades at the rates of ${theirs}, and this fx has those of ${name}, so it only quotes. ${way}`;
}

/** Why a newer table is held back, or why there was no answer. */
export function problemOf({ heldBack, failure }: Pick<Known, "heldBack" | "failure">): string | undefined {
  return heldBack === undefined
    ? failure
    : `Table ${heldBack.table.number} is held back: ${heldBack.reason}.`;
}

/** Why there is no newer table. */
function noNewer(known: Known, now: Date): string {
  const { source, role, inForce } = known;
  const problem = problemOf(known);
  if (problem !== undefined) return problem;
  if (isReader(role) && isOurs(known)) {
    return "fx serve, or a command that settles an order, fetches a newer one.";
  }
  const last = known.tables.at(-1);
  if (last === undefined) return `${source.name} has not answered yet.`;
  if (last.effectiveDate > warsawDate(now)) {
    return `The ${inForce === undefined ? "first" : "next"} table of ${source.name}, ${last.number}, takes effect on ${last.effectiveDate}.`;
  }
  return `${source.name} has no newer one.`;
}

/** The tables that have come into effect by `today`. */
export function effectiveOn(today: CalendarDate, tables: readonly RateTable[]): readonly RateTable[] {
  return tables.filter(({ effectiveDate }) => effectiveDate <= today);
}

const clockToleranceMs = 5 * 60_000;

/** The warning about this machine's clock, if that is wrong. */
export function clockProblem(aheadMs: number, source: string): string | undefined {
  if (Math.abs(aheadMs) <= clockToleranceMs) return undefined;
  const minutes = Math.round(Math.abs(aheadMs) / 60_000);
  const far = minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`;
  const side = aheadMs > 0 ? "ahead of" : "behind";
  return `This machine's clock is ${far} ${side} the time that ${source} tells. Synchronize it.`;
}

/** The day in Warsaw until which tables may come into force: by this machine's clock and by the source's. */
export function dayOf(now: Date, aheadMs: number): CalendarDate {
  return warsawDate(new Date(now.getTime() - Math.max(0, aheadMs)));
}

/** A fact about the rates, for the log. */
export type RatesEvent =
  | { readonly kind: "in-force"; readonly table: RateTable }
  | { readonly kind: "not-trading"; readonly problem: string }
  | { readonly kind: "refused"; readonly table: string; readonly problem: string }
  | { readonly kind: "failed"; readonly problem: string; readonly retryInMs: number }
  | { readonly kind: "clock"; readonly problem: string };

/** The news about the rates now, but for a refresh that failed. */
export function newsOf(known: Known, now: Date): readonly RatesEvent[] {
  const { source, inForce, heldBack } = known;
  const { notTraded } = pricesOf(known, now);
  const news: RatesEvent[] = [];
  if (notTraded !== undefined) news.push({ kind: "not-trading", problem: notTraded.reason });
  else if (inForce !== undefined) news.push({ kind: "in-force", table: inForce.table });
  if (heldBack !== undefined) {
    news.push({ kind: "refused", table: heldBack.table.number, problem: problemOf(known) ?? "" });
  }
  const clock = clockProblem(known.aheadMs, source.name);
  if (clock !== undefined) news.push({ kind: "clock", problem: clock });
  return news;
}
