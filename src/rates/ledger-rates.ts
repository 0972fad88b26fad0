import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { addDays, type CalendarDate } from "../core/date.ts";
import { FxError } from "../core/errors.ts";
import {
  type CurrentRates,
  compareTables,
  type LatestTable,
  noFetches,
  type RatesStatus,
  type RateTable,
  type TableInForce,
  type TableLedger,
  type TableRules,
} from "../core/rates.ts";
import { nextTable } from "./judge.ts";
import { isLive, type RateSource, sourceName } from "./source.ts";
import {
  clockProblem,
  dayOf,
  effectiveOn,
  isElsewhere,
  isOurs,
  isReader,
  type Known,
  newsOf,
  type Prices,
  pricesOf,
  problemOf,
  type RatesEvent,
  type RatesRole,
} from "./trading.ts";

/** Longer than any holidays, so the table before another is among those of these days. */
const daysToPrevious = 30;
const longestCloseMs = 1000;

export interface LedgerRatesOptions extends TableRules {
  readonly role: RatesRole;
  readonly source: RateSource;
  readonly ledger: TableLedger;
  /** Another source: if the ledger trades at it, it is to trade at `source` from now on. */
  readonly changeSource: string | undefined;
  /** Who answers for a table that `acceptTable` lets through. */
  readonly operator: string;
  readonly now: () => Date;
  /** Milliseconds since some moment, on a clock that nobody sets. */
  readonly elapsedMs: () => number;
  readonly onEvent: (event: RatesEvent) => void;
  /** How long a start waits for a newer table, where orders settle at the one in force. */
  readonly newerTableMs: number;
  readonly refreshMs: number;
  /** The pause after a first failure. It doubles with each further one, up to `refreshMs`. */
  readonly retryMs: number;
}

/**
 * The table in force is what the ledger says: an order's transaction reads it there, and a quote looks there. A process
 * that trades asks its source every few minutes, and puts the newest table that is effective and passes the checks into
 * the ledger, and so in force for all. One that reads asks its source once, if the ledger has no table of it.
 */
export class LedgerRates implements CurrentRates {
  readonly #options: LedgerRatesOptions;
  readonly #known: Known;
  readonly #fetches = noFetches();
  readonly #closing = new AbortController();
  #lastNews: readonly RatesEvent[] = [];
  /** The refresh under way, or the last one. */
  #refreshing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  /** The time of the next refresh, on the clock of `performance.now()`. */
  #nextRefresh = 0;
  /** The time by the source at its last answer, and `elapsedMs` at that moment. */
  #sourceClock: { readonly time: number; readonly at: number } | undefined;
  /** Whether the last refresh put a table in force. */
  #hasAccepted = false;

  constructor(options: LedgerRatesOptions) {
    const { role, source, maxAgeDays, acceptTable, changeSource } = options;
    this.#options = options;
    this.#known = {
      role,
      source,
      rules: { maxAgeDays, acceptTable },
      changeSource: changeSource === undefined ? undefined : sourceName(changeSource),
      inForce: undefined,
      tables: [],
      heldBack: undefined,
      failure: undefined,
      aheadMs: 0,
    };
  }

  /** Resolves when the source has answered or failed once, or is slow and orders settle without it. */
  async start(): Promise<void> {
    this.#refreshing = this.#refresh();
    await within(this.#refreshing, this.#options.newerTableMs);
    if (this.#prices().unusable !== undefined) await this.#refreshing;
    this.#reportNews();
  }

  refresh(rules: TableRules): Promise<void> {
    this.#refreshing = this.#refreshing.then(() => {
      this.#known.rules = rules;
      return this.#refresh();
    });
    return this.#refreshing;
  }

  /** Resolves when nothing of it uses the ledger any more, or when the ledger has not answered for a second. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await within(this.#refreshing, longestCloseMs);
  }

  forOrder(inForce: TableInForce | undefined): RateTable {
    this.#see(inForce);
    const { table, unusable } = this.#prices();
    if (table === undefined || unusable !== undefined) throw this.#unavailable(unusable);
    return table;
  }

  async forQuote(): Promise<RateTable> {
    await this.#follow();
    const { table, notQuoted } = this.#prices();
    if (table === undefined || notQuoted !== undefined) throw this.#unavailable(notQuoted);
    return table;
  }

  async latest(): Promise<LatestTable> {
    const table = await this.#shown();
    const { source, effectiveDate } = table;
    const earlier = await this.#tablesOf(source, addDays(effectiveDate, -daysToPrevious), effectiveDate);
    const { notTraded } = this.#prices();
    const suspension = this.#known.inForce?.suspension;
    return { table, previous: earlier.at(-1), recorded: !isLive(source), notTraded, suspension };
  }

  async tables(days: number): Promise<readonly RateTable[]> {
    const { source, effectiveDate: until } = await this.#shown();
    const tables = await this.#tablesOf(source, addDays(until, 1 - days), addDays(until, 1));
    // The last of several tables under one number was in force last.
    const byNumber = new Map(tables.map((table) => [table.number, table]));
    return [...byNumber.values()].sort(compareTables);
  }

  status(): RatesStatus {
    const { source, heldBack } = this.#known;
    const { table, notTraded } = this.#prices();
    return {
      source: source.name,
      recorded: source.recorded,
      table,
      notTraded,
      problem: problemOf(this.#known),
      heldBack: heldBack?.table.number,
      clock: clockProblem(this.#known.aheadMs, source.name),
      fetches: this.#fetches,
    };
  }

  /** The table of a quote, or the last there is, however old. */
  async #shown(): Promise<RateTable> {
    const inForce = await this.#follow();
    const { table = inForce?.table, unusable } = this.#prices();
    if (table === undefined) throw this.#unavailable(unusable);
    return table;
  }

  /** Whether the ledger keeps a source's tables: those of the source that it trades at. */
  #isKept(source: string): boolean {
    return source === this.#known.inForce?.table.source;
  }

  /** The tables that took effect on the day `since` or later, and before the day `before`, oldest first. */
  async #tablesOf(source: string, since: CalendarDate, before: CalendarDate): Promise<readonly RateTable[]> {
    if (this.#isKept(source)) return this.#options.ledger.tables({ source, since, before });
    return this.#known.tables.filter(({ effectiveDate: day }) => day >= since && day < before);
  }

  #prices(): Prices {
    return pricesOf(this.#known, this.#options.now());
  }

  #unavailable(reason = ""): FxError {
    const untilRefresh = Math.max(1, Math.ceil((this.#nextRefresh - performance.now()) / 1000));
    // A command ends before it would ask its source again.
    const isServed = this.#known.role === "serve";
    return new FxError("rates-unavailable", reason, isServed ? { retryAfterSeconds: untilRefresh } : {});
  }

  /** Asks the source, puts what it has in force, and does so again after a pause. */
  async #refresh(): Promise<void> {
    clearTimeout(this.#timer);
    const known = this.#known;
    // Orders may settle at the ledger's table before a slow source has answered.
    await failureOf(() => this.#follow());
    if (isReader(known.role) && isOurs(known)) return;
    this.#hasAccepted = false;
    const unanswered = await failureOf(() => this.#ask());
    if (this.#closing.signal.aborted) return;
    known.aheadMs = this.#aheadMs();
    // Also after a failure: a table of the last answer may have come into effect.
    const unsettled = await failureOf(() => this.#acceptAll());
    if (this.#closing.signal.aborted) return;
    known.failure = unsettled ?? unanswered;
    this.#failures = known.failure === undefined ? 0 : this.#failures + 1;
    const retryInMs = this.#pauseMs();
    this.#nextRefresh = performance.now() + retryInMs;
    this.#fetches[this.#outcome()] += 1;
    this.#reportNews();
    if (known.failure !== undefined) {
      this.#options.onEvent({ kind: "failed", problem: known.failure, retryInMs });
    }
    if (isReader(known.role)) return;
    this.#timer = setTimeout(() => {
      this.#refreshing = this.#refresh();
    }, retryInMs).unref();
  }

  async #ask(): Promise<void> {
    const { tables, date } = await this.#options.source.tables(this.#closing.signal);
    // An answer without a date says nothing new of this clock.
    if (date !== undefined) this.#sourceClock = { time: date.getTime(), at: this.#options.elapsedMs() };
    this.#known.tables = tables;
  }

  /** How far this clock is ahead of the source's, which goes on while the source does not answer. */
  #aheadMs(): number {
    if (this.#sourceClock === undefined) return 0;
    const { now, elapsedMs } = this.#options;
    const { time, at } = this.#sourceClock;
    return Math.round(now().getTime() - (time + elapsedMs() - at));
  }

  #outcome(): keyof RatesStatus["fetches"] {
    const { failure, heldBack } = this.#known;
    if (failure !== undefined) return "failed";
    if (this.#hasAccepted) return "accepted";
    return heldBack === undefined ? "unchanged" : "refused";
  }

  #pauseMs(): number {
    const { refreshMs, retryMs } = this.#options;
    if (this.#failures === 0) return refreshMs;
    const longest = Math.min(retryMs * 2 ** (this.#failures - 1), refreshMs);
    return Math.round(longest * (0.5 + Math.random() / 2));
  }

  async #follow(): Promise<TableInForce | undefined> {
    const inForce = await this.#options.ledger.inForce();
    this.#see(inForce);
    return inForce;
  }

  /** Takes the ledger's answer, with which another process may have changed the source, or let a table through. */
  #see(inForce: TableInForce | undefined): void {
    const known = this.#known;
    known.inForce = inForce;
    if (inForce === undefined) return;
    const { id, source } = inForce.table;
    if (source !== known.changeSource) known.changeSource = undefined;
    if (id === known.heldBack?.table.id) known.heldBack = undefined;
  }

  /** Puts tables in force until there is none left, and keeps those before the last one for the history of rates. */
  async #acceptAll(): Promise<void> {
    const { ledger, now, operator } = this.#options;
    const known = this.#known;
    for (;;) {
      const inForce = await this.#follow();
      const isFirst = known.role === "first" && inForce === undefined;
      const isJudged = (isFirst || !isReader(known.role)) && !isElsewhere(known);
      const effective = isJudged ? effectiveOn(dayOf(now(), known.aheadMs), known.tables) : [];
      const { acceptTable } = known.rules;
      const { accept, heldBack } = await nextTable(ledger, effective, inForce?.table, acceptTable);
      known.heldBack = heldBack;
      if (accept === undefined) {
        const earlier = known.tables.filter((table) => inForce && compareTables(table, inForce.table) < 0);
        if (isJudged && inForce?.table.source === known.source.name) await ledger.saveTables(earlier);
        return;
      }
      const { table, overridden } = accept;
      const overriddenBy = overridden ? operator : undefined;
      if (await ledger.acceptTable(table, { epoch: inForce?.epoch ?? 0, at: now(), overriddenBy })) {
        known.changeSource = undefined;
        this.#hasAccepted = true;
      }
    }
  }

  #reportNews(): void {
    const news = newsOf(this.#known, this.#options.now());
    const wasReported = (event: RatesEvent) => this.#lastNews.some((last) => isDeepStrictEqual(last, event));
    for (const event of news) {
      if (!wasReported(event)) this.#options.onEvent(event);
    }
    this.#lastNews = news;
  }
}

async function failureOf(work: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Waits for the end of `work`, but not longer than this. */
async function within(work: Promise<void>, ms: number): Promise<void> {
  const limit = new AbortController();
  await Promise.race([work, pause(ms, undefined, { signal: limit.signal })]).finally(() => limit.abort());
}
