import { setTimeout as pause } from "node:timers/promises";
import type { CurrencyCode } from "../core/currency.ts";
import { addDays, type CalendarDate } from "../core/date.ts";
import { FxError } from "../core/errors.ts";
import {
  type CurrentRates,
  type LatestTable,
  noFetches,
  type RateOfTable,
  type RatesStatus,
  type RateTable,
  type TableInForce,
  type TableLedger,
  type TableRules,
} from "../core/rates.ts";
import { effectiveOn, isNewer, newest, nextTable } from "./judge.ts";
import { mostTables } from "./nbp.ts";
import { type RatesEvent, RatesNews } from "./news.ts";
import { isLive, type RateSource, sourceName } from "./source.ts";
import {
  clockProblem,
  dayOf,
  isClockOff,
  isElsewhere,
  isOurs,
  type Known,
  type Prices,
  pricesOf,
  problemOf,
  type RatesRole,
} from "./trading.ts";

/** How many tables continue an answer of some minutes ago: two weeks, of which all may have been held back. */
export const recentTables = 10;
/** Longer than any holidays, so the table before another is among those of these days. */
const daysToPrevious = 30;
const longestCloseMs = 1000;
/** A ledger that trades at another source may be switched to this one, but probably not soon. */
const retryElsewhereSeconds = 60;

export interface LedgerRatesOptions extends TableRules {
  readonly role: RatesRole;
  readonly source: RateSource;
  readonly ledger: TableLedger;
  /** Another source: if the ledger trades at it, it is to trade at `source` from now on. */
  readonly changeSource: string | undefined;
  /** Who answers for a table that `acceptTable` lets through. */
  readonly operator: string;
  readonly now: () => Date;
  readonly onEvent: (event: RatesEvent) => void;
  /** How long a process that trades waits for its source at its start: for the newest table, and for any at all. */
  readonly waits: { readonly newestMs: number; readonly anyMs: number };
  readonly refreshMs: number;
  /** The pause after a first failure. It doubles with each further one, up to `refreshMs`. */
  readonly retryMs: number;
  /** How often to look in the ledger for the table in force. */
  readonly followMs: number;
}

/**
 * The table in force is what the ledger says. A process that trades looks there every second, asks its source every few
 * minutes, and puts the newest table that is effective and passes the checks into the ledger, and so in force for all.
 * One that reads looks when it is asked. It asks its source once, if the ledger has no table of it.
 */
export class LedgerRates implements CurrentRates {
  readonly #options: LedgerRatesOptions;
  readonly #known: Known;
  readonly #news: RatesNews;
  readonly #fetches = noFetches();
  readonly #closing = new AbortController();
  #turn: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  /** By how much the clock was ahead of `performance.now()` when the source was asked last. */
  #clockWhenAsked: number;
  #failures = 0;
  /** On the clock of `performance.now()`. */
  #nextRefresh = 0;
  /** What the source's last answer was judged against; it is judged again when that changes. */
  #judged: string | undefined;
  /** The id of the last table that this process put in force. */
  #accepted: string | undefined;

  constructor(options: LedgerRatesOptions) {
    const { role, source, maxAgeDays, acceptTable, changeSource } = options;
    this.#options = options;
    this.#news = new RatesNews(options.onEvent);
    this.#clockWhenAsked = this.#clock();
    this.#known = {
      role,
      source,
      rules: { maxAgeDays, acceptTable },
      changeSource: changeSource === undefined ? undefined : sourceName(changeSource),
      inForce: undefined,
      tables: [],
      heldBack: undefined,
      fetchFailure: undefined,
      ledgerFailure: undefined,
      clockAheadMs: 0,
    };
  }

  async start(): Promise<void> {
    const { role, waits } = this.#options;
    this.#turn = this.#takeTurn();
    if (role === "read") return this.#turn;
    await within(this.#turn, waits.newestMs);
    // Orders come as soon as a server listens, and a command sends its own.
    if (this.#prices().notTraded !== undefined) await within(this.#turn, waits.anyMs);
    this.#tell();
  }

  refresh(rules: TableRules): Promise<void> {
    this.#turn = this.#turn.then(() => {
      clearTimeout(this.#timer);
      this.#known.rules = rules;
      this.#nextRefresh = 0;
      return this.#takeTurn();
    });
    return this.#turn;
  }

  /** Resolves when nothing of it uses the ledger any more, or when the ledger has not answered for a second. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await within(this.#turn, longestCloseMs);
  }

  forOrder(inForce: TableInForce | undefined): RateTable {
    const { table, notTraded } = this.#prices({ ...this.#known, inForce });
    if (table !== undefined && notTraded === undefined) return table;
    const isOther = inForce !== undefined && inForce.table.source !== this.#known.source.name;
    throw this.#unavailable(notTraded, isOther ? retryElsewhereSeconds : undefined);
  }

  async forQuote(): Promise<RateTable> {
    await this.#follow();
    const { table, notQuoted } = this.#prices();
    if (table !== undefined && notQuoted === undefined) return table;
    throw this.#unavailable(notQuoted);
  }

  async latest(): Promise<LatestTable> {
    const table = await this.#shown();
    const { source, effectiveDate: before } = table;
    const since = addDays(before, -daysToPrevious);
    const kept = await this.#options.ledger.tables({ source, since, before });
    const previous = newest([...this.#fetched(source, since, addDays(before, -1)), ...kept]);
    return { table, previous, recorded: !isLive(table.source), notTraded: this.#prices().notTraded };
  }

  async history(currency: CurrencyCode, days: number): Promise<readonly RateOfTable[]> {
    const { source, effectiveDate: until } = await this.#shown();
    const since = addDays(until, 1 - days);
    const kept = await this.#options.ledger.rateHistory({ source, currency, since, until });
    const fetched = this.#fetched(source, since, until).flatMap(({ number, effectiveDate, rates }) => {
      const rate = rates.get(currency);
      return rate === undefined ? [] : [{ number, effectiveDate, bid: rate.bid, ask: rate.ask }];
    });
    // Of several tables under one number, the ledger has the one that was in force last.
    const byNumber = new Map([...fetched, ...kept].map((rate) => [rate.number, rate]));
    return [...byNumber.values()].sort((a, b) => (isNewer(a, b) ? 1 : -1));
  }

  status(): RatesStatus {
    const { source, heldBack, clockAheadMs } = this.#known;
    const { table, notTraded } = this.#prices();
    return {
      source: source.name,
      recorded: source.recorded,
      table,
      notTraded,
      problem: problemOf(this.#known),
      heldBack: heldBack?.table.number,
      clock: clockProblem(clockAheadMs, source.name),
      fetches: this.#fetches,
    };
  }

  /** The table of a quote, or the last there is, however old. */
  async #shown(): Promise<RateTable> {
    const inForce = await this.#follow();
    const { table = inForce?.table, notTraded } = this.#prices();
    if (table === undefined) throw this.#unavailable(notTraded);
    return table;
  }

  /** The source's tables of these days. A process that only quotes keeps none in the ledger. */
  #fetched(source: string, since: CalendarDate, until: CalendarDate): readonly RateTable[] {
    return this.#known.tables.filter(
      (table) => table.source === source && table.effectiveDate >= since && table.effectiveDate <= until,
    );
  }

  #prices(known = this.#known): Prices {
    return pricesOf(known, this.#options.now());
  }

  /** @param elsewhere after how many seconds to try again, where no answer of the source helps */
  #unavailable(reason = "", elsewhere?: number): FxError {
    // A command looks once.
    if (this.#known.role !== "serve") return new FxError("rates-unavailable", reason);
    const untilRefresh = Math.max(1, Math.ceil((this.#nextRefresh - performance.now()) / 1000));
    const hint = ` Try again in ${untilRefresh} s, when fx asks the source again.`;
    const text = elsewhere === undefined ? reason + hint : reason;
    return new FxError("rates-unavailable", text, { retryAfterSeconds: elsewhere ?? untilRefresh });
  }

  async #takeTurn(): Promise<void> {
    const { role, followMs } = this.#options;
    // After a clock was set, or a machine slept, the source is asked first: its answer tells whether the day is right.
    const hasJumped = isClockOff(this.#clock() - this.#clockWhenAsked);
    if (!hasJumped) await this.#settle();
    const isDue = hasJumped || performance.now() >= this.#nextRefresh;
    if (isDue && !(role === "read" && isOurs(this.#known))) await this.#refresh();
    if (role === "read" || this.#closing.signal.aborted) return;
    this.#tell();
    const untilRefresh = Math.max(0, this.#nextRefresh - performance.now());
    this.#timer = setTimeout(
      () => {
        this.#turn = this.#takeTurn();
      },
      Math.min(followMs, untilRefresh),
    ).unref();
  }

  #clock(): number {
    return this.#options.now().getTime() - performance.now();
  }

  async #refresh(): Promise<void> {
    const known = this.#known;
    const before = this.#accepted;
    const problem = await failureOf(() => this.#ask());
    if (this.#closing.signal.aborted) return;
    known.fetchFailure = problem;
    const hasFailed = problem !== undefined || known.ledgerFailure !== undefined;
    this.#failures = hasFailed ? this.#failures + 1 : 0;
    const retryInMs = this.#pauseMs();
    this.#nextRefresh = performance.now() + retryInMs;
    const unlessAccepted = known.heldBack === undefined ? "unchanged" : "refused";
    this.#fetches[hasFailed ? "failed" : this.#accepted === before ? unlessAccepted : "accepted"] += 1;
    if (problem !== undefined) this.#options.onEvent({ kind: "failed", problem, retryInMs });
  }

  async #ask(): Promise<void> {
    const { source, now } = this.#options;
    const known = this.#known;
    this.#clockWhenAsked = this.#clock();
    const continues = known.tables.length > 0 && this.#failures === 0;
    const { tables, date } = await source.tables(continues ? recentTables : mostTables, this.#closing.signal);
    if (date !== undefined) known.clockAheadMs = now().getTime() - date.getTime();
    known.tables = tables;
    this.#judged = undefined;
    await this.#settle();
  }

  #pauseMs(): number {
    const { refreshMs, retryMs } = this.#options;
    if (this.#failures === 0) return refreshMs;
    const longest = Math.min(retryMs * 2 ** (this.#failures - 1), refreshMs);
    return Math.round(longest * (0.5 + Math.random() / 2));
  }

  async #follow(): Promise<TableInForce | undefined> {
    const inForce = await this.#options.ledger.inForce();
    const known = this.#known;
    known.inForce = inForce;
    if (inForce !== undefined && inForce.table.source !== known.changeSource) known.changeSource = undefined;
    return inForce;
  }

  /**
   * Follows the ledger, and puts tables in force there. Nothing that is known is given up before the ledger has it, so a
   * ledger that fails is asked again the next time.
   */
  async #settle(): Promise<void> {
    this.#known.ledgerFailure = await failureOf(async () => {
      while (await this.#acceptNext());
    });
  }

  /**
   * Puts the next table in force; or, if there is none, keeps those before the one in force for the history of rates.
   * @returns whether there may be more to put in force
   */
  async #acceptNext(): Promise<boolean> {
    const { ledger, now, operator } = this.#options;
    const known = this.#known;
    const inForce = await this.#follow();
    if (known.role === "read" || isElsewhere(known)) {
      known.heldBack = undefined;
      return false;
    }
    const today = dayOf(now(), known.clockAheadMs);
    const { acceptTable } = known.rules;
    const question = `${today} ${inForce?.epoch} ${acceptTable}`;
    if (question === this.#judged) return false;
    const effective = effectiveOn(today, known.tables);
    const { accept, heldBack } = await nextTable(ledger, effective, inForce?.table, acceptTable);
    known.heldBack = heldBack;
    if (accept === undefined) {
      if (inForce !== undefined && isOurs(known)) {
        await ledger.saveTables(known.tables.filter((table) => isNewer(inForce.table, table)));
      }
      this.#judged = question;
      return false;
    }
    const { table, overridden } = accept;
    const overriddenBy = overridden ? operator : undefined;
    if (await ledger.acceptTable(table, { epoch: inForce?.epoch ?? 0, at: now(), overriddenBy })) {
      known.changeSource = undefined;
      this.#accepted = table.id;
    }
    // Either way the table in force is another one by now.
    return true;
  }

  #tell(): void {
    this.#news.tell(this.#known, this.#prices().notTraded, this.#accepted, this.#options.followMs);
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
