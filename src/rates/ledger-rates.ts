import { setTimeout as pause } from "node:timers/promises";
import { addDays, type CalendarDate, warsawDate } from "../core/date.ts";
import { FxError } from "../core/errors.ts";
import {
  type CurrentRates,
  type LatestTable,
  noFetches,
  type RatesStatus,
  type RateTable,
  type TableInForce,
  type TableLedger,
  type TableRules,
} from "../core/rates.ts";
import { isNewer, judge, newest, newestEffective } from "./acceptance.ts";
import { KeptTables } from "./kept-tables.ts";
import { MemoryTables } from "./memory-tables.ts";
import { isLive, type RateSource } from "./source.ts";

const longestCloseMs = 1000;
/** A ledger that trades at another source may be switched to this one, but probably not soon. */
const retryElsewhereSeconds = 60;

/** What became of the rates, for the log. */
export type RatesEvent =
  | { readonly kind: "in-force"; readonly table: RateTable; readonly from: "bank" | "recording" | "ledger" }
  | { readonly kind: "not-trading"; readonly problem: string }
  | { readonly kind: "refused"; readonly table: string; readonly problem: string; readonly retryInMs: number }
  | { readonly kind: "failed"; readonly problem: string; readonly retryInMs: number }
  | { readonly kind: "history-failed"; readonly problem: string };

export interface LedgerRatesOptions {
  readonly source: RateSource;
  readonly ledger: TableLedger;
  readonly trades: boolean;
  readonly serves: boolean;
  readonly changeSource: string | undefined;
  readonly operator: string;
  readonly now: () => Date;
  readonly rules: TableRules;
  readonly onEvent: (event: RatesEvent) => void;
  readonly refreshMs: number;
  /** The pause after a first failure. It doubles with each further one, up to `refreshMs`. */
  readonly retryMs: number;
  readonly followMs: number;
  /** How many tables to ask for as the history. */
  readonly historyTables: number;
}

/**
 * The table in force is what the ledger says. This process looks there, often, and at its source, now and then: a newer
 * table that passes the checks is written into the ledger, and so comes into force for all processes at once.
 */
export class LedgerRates implements CurrentRates {
  readonly #options: LedgerRatesOptions;
  readonly #closing = new AbortController();
  /** Judged by this process alone. */
  readonly #own = new MemoryTables();
  readonly #kept: KeptTables;
  /** What the ledger said last. */
  #inForce: TableInForce | undefined;
  /** Published and not effective yet. */
  #held: RateTable | undefined;
  #changeSource: string | undefined;
  #rules: TableRules;
  #history: readonly RateTable[] | undefined;
  #historyIn: TableLedger | undefined;
  #problem: string | undefined;
  /** Whether the source has answered yet. */
  #answered = false;
  #failures = 0;
  readonly #fetches = noFetches();
  /** On the clock of `performance.now()`. */
  #nextRefresh = 0;
  #announced = "";
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: LedgerRatesOptions) {
    this.#options = options;
    this.#kept = new KeptTables(options.ledger);
    this.#changeSource = options.changeSource;
    this.#rules = options.rules;
  }

  /** Reads the ledger and begins to refresh. Resolves when the first refresh is over, however it went. */
  start(): Promise<void> {
    this.#turn = this.#takeTurn();
    return this.#turn;
  }

  refresh(rules: TableRules): Promise<void> {
    this.#rules = rules;
    this.#turn = this.#turn.then(() => {
      clearTimeout(this.#timer);
      this.#nextRefresh = 0;
      // A recording may have other tables by now.
      this.#history = undefined;
      this.#historyIn = undefined;
      return this.#takeTurn();
    });
    return this.#turn;
  }

  forOrder(inForce: TableInForce | undefined): RateTable {
    const elsewhere = this.#tradesElsewhere(inForce);
    if (elsewhere !== undefined) {
      throw new FxError("rates-unavailable", elsewhere, { retryAfterSeconds: retryElsewhereSeconds });
    }
    return this.#fresh(inForce?.table ?? this.#own.current?.table);
  }

  async forQuote(): Promise<RateTable> {
    this.#follow(await this.#options.ledger.inForce());
    return this.#fresh(this.#quoted());
  }

  async latest(): Promise<LatestTable> {
    this.#follow(await this.#options.ledger.inForce());
    const table = this.#quoted() ?? this.#inForce?.table;
    if (table === undefined) return this.#fresh(table);
    return {
      table,
      recorded: !isLive(table.source),
      notTraded: this.#tradesElsewhere(this.#inForce) ?? this.#objectionTo(table),
    };
  }

  async history(table: RateTable, since: CalendarDate): Promise<readonly RateTable[]> {
    const range = { source: table.source, since, through: table.effectiveDate };
    const known = [...(await this.#own.tables(range)), ...(await this.#kept.tables(range))];
    const byNumber = new Map([...known, table].map((one) => [one.number, one]));
    return [...byNumber.values()]
      .filter(({ effectiveDate }) => effectiveDate >= since && effectiveDate <= table.effectiveDate)
      .sort((a, b) => (isNewer(a, b) ? 1 : -1));
  }

  status(): RatesStatus {
    const { name, recorded } = this.#options.source;
    const reason = this.#tradesElsewhere(this.#inForce) ?? this.#objectionTo(this.#quoted());
    return {
      source: name,
      recorded,
      table: this.#quoted(),
      trading: reason === undefined ? { trading: true } : { trading: false, reason },
      problem: this.#tradesElsewhere(this.#inForce) ?? this.#problem,
      clock: undefined,
      fetches: this.#fetches,
    };
  }

  /** Resolves when nothing of it uses the ledger any more, or when the ledger has not answered for a second. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    const limit = new AbortController();
    await Promise.race([this.#turn, pause(longestCloseMs, undefined, { signal: limit.signal })]);
    limit.abort();
  }

  /** The table of the ledger; this process's own, where the ledger has none of its source that is young enough. */
  #quoted(): RateTable | undefined {
    const own = this.#own.current?.table;
    if (this.#inForce?.table.source !== this.#options.source.name) return own;
    const isOwnNewer = !this.#options.trades && own !== undefined && !this.#isFresh(this.#inForce.table);
    return isOwnNewer ? own : this.#inForce.table;
  }

  #tradesElsewhere(inForce: TableInForce | undefined): string | undefined {
    const { name } = this.#options.source;
    if (inForce === undefined || inForce.table.source === name) return undefined;
    const { source } = inForce.table;
    const way =
      source === this.#changeSource
        ? `The ledger changes to ${name} when its first table is there.`
        : `Use --rates ${source}, or change the ledger's source with fx serve --rates ${name} --change-source ${source}.`;
    return `The ledger trades at the rates of ${source}, and this fx has those of ${name}, at which it only quotes. ${way}`;
  }

  #isFresh({ effectiveDate }: RateTable): boolean {
    const { source, now } = this.#options;
    return source.recorded || warsawDate(now()) <= addDays(effectiveDate, this.#rules.maxAgeDays);
  }

  /** Whether there is a table to quote at. */
  get hasFresh(): boolean {
    const table = this.#quoted();
    return table !== undefined && this.#isFresh(table);
  }

  /** @throws FxError rates-unavailable */
  #fresh(table: RateTable): RateTable;
  #fresh(table: undefined): never;
  #fresh(table: RateTable | undefined): RateTable;
  #fresh(table: RateTable | undefined): RateTable {
    const objection = this.#objectionTo(table);
    if (table !== undefined && objection === undefined) return table;
    // A command looks once.
    if (!this.#options.serves) throw new FxError("rates-unavailable", `${objection}`);
    const retryAfterSeconds = Math.max(1, Math.ceil((this.#nextRefresh - performance.now()) / 1000));
    throw new FxError(
      "rates-unavailable",
      `${objection} Try again in ${retryAfterSeconds} s, when fx asks the source again.`,
      { retryAfterSeconds },
    );
  }

  /** Why a table of this source, or none, is not traded at. */
  #objectionTo(table: RateTable | undefined): string | undefined {
    const { name } = this.#options.source;
    if (table === undefined) {
      const elsewhere = this.#tradesElsewhere(this.#inForce);
      const reason = this.#problem ?? `The first is being fetched from ${name}.`;
      return `There is no rate table yet. ${reason}${elsewhere === undefined ? "" : ` ${elsewhere}`}`;
    }
    if (this.#isFresh(table)) return undefined;
    const { maxAgeDays } = this.#rules;
    const outcome = this.#answered
      ? `${name} has no newer one.`
      : `A newer one is being fetched from ${name}.`;
    return (
      `The newest rate table, ${table.number}, is of ${table.effectiveDate}, and fx trades at a table for at most ` +
      `${maxAgeDays} day${maxAgeDays === 1 ? "" : "s"}. ${this.#problem ?? outcome}`
    );
  }

  #follow(inForce: TableInForce | undefined): void {
    this.#inForce = inForce;
    if (inForce === undefined) return;
    const { source } = inForce.table;
    if (source !== this.#changeSource) this.#changeSource = undefined;
    const elsewhere = this.#tradesElsewhere(inForce);
    if (elsewhere === undefined) this.#announce(inForce.table, "ledger");
    else if (this.#announced !== source && this.#changeSource === undefined) {
      this.#announced = source;
      this.#options.onEvent({ kind: "not-trading", problem: elsewhere });
    }
  }

  #announce(table: RateTable, from: "bank" | "recording" | "ledger"): void {
    if (this.#announced === table.id) return;
    this.#announced = table.id;
    // Another process may have accepted the table that this one refused.
    this.#problem = undefined;
    this.#options.onEvent({ kind: "in-force", table, from });
  }

  async #takeTurn(): Promise<void> {
    const { ledger, now, followMs } = this.#options;
    // If the ledger cannot be read, orders fail and say so.
    await failureOf(async () => this.#follow(await ledger.inForce()));
    if (performance.now() >= this.#nextRefresh) await this.#refresh();
    else if (this.#held !== undefined && this.#held.effectiveDate <= warsawDate(now())) {
      const held = this.#held;
      this.#held = undefined;
      const failure = await failureOf(() => this.#consider([held]));
      if (failure !== undefined) this.#report(failure, this.#nextRefresh - performance.now());
    }
    if (this.#closing.signal.aborted) return;
    const untilRefresh = Math.max(0, this.#nextRefresh - performance.now());
    this.#timer = setTimeout(
      () => {
        this.#turn = this.#takeTurn();
      },
      Math.min(followMs, untilRefresh),
    ).unref();
  }

  async #refresh(): Promise<void> {
    const failure = this.#isServedByLedger() ? undefined : await failureOf(() => this.#fetch());
    if (this.#closing.signal.aborted) return;
    if (failure !== undefined) this.#fetches[failure instanceof Refusal ? "refused" : "failed"] += 1;
    this.#problem = failure?.message;
    this.#failures = failure === undefined ? 0 : this.#failures + 1;
    const pauseMs = this.#pauseMs();
    this.#nextRefresh = performance.now() + pauseMs;
    if (failure !== undefined) this.#report(failure, pauseMs);
    else if (!this.#isServedByLedger()) await this.#keepHistory();
  }

  /** Whether this process only reads, and finds a usable table in the ledger. */
  #isServedByLedger(): boolean {
    const { trades, source } = this.#options;
    const table = this.#inForce?.table;
    return !trades && table?.source === source.name && this.#isFresh(table);
  }

  #pauseMs(): number {
    const { refreshMs, retryMs } = this.#options;
    if (this.#failures === 0) return refreshMs;
    const longest = Math.min(retryMs * 2 ** (this.#failures - 1), refreshMs);
    return Math.round(longest * (0.5 + Math.random() / 2));
  }

  #report(failure: Error, retryInMs: number): void {
    const report = { problem: failure.message, retryInMs: Math.round(retryInMs) };
    this.#options.onEvent(
      failure instanceof Refusal
        ? { kind: "refused", table: failure.table, ...report }
        : { kind: "failed", ...report },
    );
  }

  async #fetch(): Promise<void> {
    const { source, now, historyTables } = this.#options;
    const { signal } = this.#closing;
    const today = warsawDate(now());
    const latest = newest(await source.tables(1, signal)) as RateTable;
    const isHeld = latest.effectiveDate > today;
    // The newest is not effective yet, so the one before it is needed.
    const tables = isHeld ? await source.tables(historyTables, signal) : [latest];
    this.#answered = true;
    this.#held = isHeld ? latest : undefined;
    this.#fetches[(await this.#consider(tables)) ? "accepted" : "unchanged"] += 1;
  }

  /**
   * Puts the newest effective table in force, unless a check holds it back.
   * @returns whether it is a new one
   */
  async #consider(tables: readonly RateTable[]): Promise<boolean> {
    const { source, ledger, trades, now, operator } = this.#options;
    const table = newestEffective(tables, warsawDate(now()));
    if (table === undefined) {
      const { number, effectiveDate } = newest(tables) as RateTable;
      if (this.#quoted() !== undefined) return false;
      throw new Error(`The first table of ${source.name}, ${number}, takes effect on ${effectiveDate}.`);
    }
    for (;;) {
      const inForce = await ledger.inForce();
      this.#follow(inForce);
      const ledgerSource = inForce?.table.source;
      const changes =
        ledgerSource !== undefined && ledgerSource !== source.name && ledgerSource === this.#changeSource;
      const place = trades && (changes || ledgerSource === source.name) ? ledger : this.#own;
      const before = place === ledger ? inForce : (this.#own.current ?? this.#seed(inForce));
      const verdict =
        before === undefined || changes
          ? "accept"
          : judge(
              table,
              { inForce: before.table, accepted: await place.acceptedTables() },
              this.#rules.acceptTable,
            );
      if (verdict === "in force") return false;
      if (typeof verdict !== "string") throw new Refusal(table.number, verdict.refusal);
      const isOverridden = verdict === "overridden";
      const overriddenBy = isOverridden ? operator : undefined;
      const accepted = { epoch: before?.epoch ?? 0, at: now(), overriddenBy };
      if (!(await place.acceptTable(table, accepted))) continue;
      if (isOverridden) this.#rules = { ...this.#rules, acceptTable: undefined };
      if (changes) this.#changeSource = undefined;
      this.#inForce = await ledger.inForce();
      // Where the ledger trades elsewhere, it is only quoted at.
      if (this.#tradesElsewhere(this.#inForce) === undefined) {
        this.#announce(table, source.recorded ? "recording" : "bank");
      }
      return true;
    }
  }

  /** A process that only reads judges by what the ledger has, as an order would. */
  #seed(inForce: TableInForce | undefined): TableInForce | undefined {
    return inForce?.table.source === this.#options.source.name ? inForce : undefined;
  }

  /** Keeps the tables before the one in force. Only the history of rates needs them. */
  async #keepHistory(): Promise<void> {
    const { source, ledger, trades, historyTables, onEvent } = this.#options;
    const inForce = this.#quoted();
    const place = trades && this.#inForce?.table.source === source.name ? ledger : this.#own;
    if (inForce === undefined || place === this.#historyIn) return;
    const failure = await failureOf(async () => {
      this.#history ??= await source.tables(historyTables, this.#closing.signal);
      await place.saveTables(this.#history.filter((table) => isNewer(inForce, table)));
      this.#historyIn = place;
    });
    if (failure !== undefined && !this.#closing.signal.aborted) {
      onEvent({ kind: "history-failed", problem: failure.message });
    }
  }
}

/** A well-formed table that fails a check. */
class Refusal extends Error {
  readonly table: string;

  constructor(table: string, reason: string) {
    super(`Table ${table} is refused: ${reason}.`);
    this.table = table;
  }
}

async function failureOf(work: () => Promise<unknown>): Promise<Error | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
