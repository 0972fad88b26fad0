import { type CalendarDate, warsawDate } from "../core/date.ts";
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
import { effectiveOn, isNewer, newest } from "./judge.ts";
import { historyOf } from "./kept.ts";
import { LedgerFollower } from "./ledger-follower.ts";
import { commandLimits, type FetchLimits, fetchLimits, mostTables, openApi } from "./nbp.ts";
import { openRecorded } from "./recorded.ts";
import { isLive, type RateSource, sourceName } from "./source.ts";
import {
  clockProblem,
  dayOf,
  type Facts,
  type Halt,
  haltOf,
  isClockOff,
  nothingKnown,
  problemOf,
  tableHalt,
} from "./trading.ts";
import { within } from "./within.ts";

const longestCloseMs = 1000;
/** A ledger that trades at another source may be switched to this one, but probably not soon. */
const retryElsewhereSeconds = 60;

/** What became of the rates, for the log. */
export type RatesEvent =
  | { readonly kind: "in-force"; readonly table: RateTable; readonly from: "bank" | "recording" | "ledger" }
  | { readonly kind: "not-trading"; readonly problem: string }
  | { readonly kind: "refused"; readonly table: string; readonly problem: string }
  | { readonly kind: "failed"; readonly problem: string; readonly retryInMs: number }
  | { readonly kind: "history-failed"; readonly problem: string }
  | { readonly kind: "clock"; readonly problem: string };

export interface RatesOptions {
  /**
   * "nbp"; the http(s) base URL of an API of the same shape, which is asked for `<base>/exchangerates/tables/C/`;
   * the path of a JSON file of tables as the bank publishes them; or "demo", which is such a recording.
   */
  readonly source: string | RateSource;
  readonly ledger: TableLedger;
  /** Whether this process may put tables in force. Otherwise it writes nothing. */
  readonly trades: boolean;
  /** Whether this process goes on without a table, and looks again. One that does not waits for its source's first word. */
  readonly serves?: boolean;
  /** Another source: if the ledger trades at it, it is to trade at `source` from now on. */
  readonly changeSource?: string | undefined;
  readonly maxAgeDays?: number;
  readonly acceptTable?: string | undefined;
  /** Who answers for a table that `acceptTable` lets through. */
  readonly operator?: string;
  readonly now?: () => Date;
  readonly onEvent?: (event: RatesEvent) => void;
  /** How long to wait at most for the first refresh of a live source, where orders are settled without it. */
  readonly firstWaitMs?: number;
  /** How long a server waits for it where no order is settled without it. */
  readonly firstTableWaitMs?: number;
  readonly refreshMs?: number;
  /** The pause after a first failure. It doubles with each further one, up to `refreshMs`. */
  readonly retryMs?: number;
  /** How often to look in the ledger for the table in force. */
  readonly followMs?: number;
  readonly limits?: Partial<FetchLimits>;
}

const defaults = {
  serves: true,
  maxAgeDays: 7,
  operator: "unknown",
  now: () => new Date(),
  onEvent: (_event: RatesEvent) => {},
  firstWaitMs: 2000,
  firstTableWaitMs: 10_000,
  refreshMs: 5 * 60_000,
  retryMs: 1000,
  followMs: 1000,
};

/**
 * Opens the rates of a source. A live one opens whether the bank answers or not, and has its first table when it
 * does answer, or as soon as it does.
 * @throws FxError rates-unavailable if the source is not one of those, or its recording cannot be used
 */
export async function openRates(given: RatesOptions): Promise<CurrentRates> {
  const options = { ...defaults, ...given };
  const limits = { ...(options.serves ? fetchLimits : commandLimits), ...options.limits };
  const source = typeof given.source === "string" ? await openSource(given.source, limits) : given.source;
  const rates = new LedgerRates({ ...options, source });
  const started = rates.start();
  if (source.recorded) await started;
  else await within(started, options.firstWaitMs);
  if (!options.serves && !rates.hasFresh) await started;
  // A source that has not answered yet may take a minute.
  rates.tell();
  // Whoever starts a server sends it orders as soon as it listens.
  if (options.serves && !rates.status().trading.trading) await within(started, options.firstTableWaitMs);
  return rates;
}

/** @throws FxError rates-unavailable */
export function openSource(source: string, limits: FetchLimits): RateSource | Promise<RateSource> {
  return isLive(source) ? openApi(source, limits) : openRecorded(source);
}

/**
 * The table in force is what the ledger says. A process looks there every second, and asks its source every few
 * minutes. One that trades puts the newest table that it knows, and that is effective and passes the checks, into the
 * ledger, and so in force for all. One that only reads, or whose ledger trades at another source, writes nothing; it
 * asks its source only where the ledger has no table of it, and quotes at the newest.
 */
class LedgerRates implements CurrentRates {
  readonly #options: RatesOptions & typeof defaults & { readonly source: RateSource };
  readonly #closing = new AbortController();
  readonly #known = nothingKnown();
  readonly #ledger: LedgerFollower;
  readonly #fetches = noFetches();
  #rules: TableRules;
  #historyIsKept = false;
  #failures = 0;
  /** On the clock of `performance.now()`. */
  #nextRefresh = 0;
  /** Both clocks when the source was asked last. */
  #asked: { readonly wall: number; readonly steady: number };
  readonly #told = new Map<string, unknown>();
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: RatesOptions & typeof defaults & { readonly source: RateSource }) {
    const { changeSource, maxAgeDays, acceptTable } = options;
    this.#options = options;
    const changed = changeSource === undefined ? undefined : sourceName(changeSource);
    this.#ledger = new LedgerFollower(options, this.#known, changed);
    this.#rules = { maxAgeDays, acceptTable };
    this.#asked = { wall: options.now().getTime(), steady: performance.now() };
  }

  /** Reads the ledger and begins to refresh. Resolves when the first refresh is over, however it went. */
  start(): Promise<void> {
    this.#turn = this.#takeTurn();
    return this.#turn;
  }

  refresh(rules: TableRules): Promise<void> {
    this.#turn = this.#turn.then(() => {
      clearTimeout(this.#timer);
      this.#rules = rules;
      this.#nextRefresh = 0;
      // A recording may have other tables by now.
      this.#historyIsKept = false;
      return this.#takeTurn();
    });
    return this.#turn;
  }

  forOrder(inForce: TableInForce | undefined): RateTable {
    const { table, halt } = this.#at(inForce);
    if (table === undefined || halt !== undefined) throw this.#unavailable(halt as Halt);
    return table;
  }

  async forQuote(): Promise<RateTable> {
    await this.#ledger.follow();
    const table = this.#quoted();
    const halt = tableHalt(table, this.#facts());
    if (table === undefined || halt !== undefined) throw this.#unavailable(halt as Halt);
    return table;
  }

  async latest(): Promise<LatestTable> {
    await this.#ledger.follow();
    const table = this.#quoted() ?? this.#known.inForce?.table;
    const halt = this.#halt();
    if (table === undefined) throw this.#unavailable(halt as Halt);
    return { table, recorded: !isLive(table.source), notTraded: halt?.reason };
  }

  history(table: RateTable, since: CalendarDate): Promise<readonly RateTable[]> {
    return historyOf(table, since, this.#known.tables, this.#options.ledger);
  }

  status(): RatesStatus {
    const { name, recorded } = this.#options.source;
    const halt = this.#halt();
    return {
      source: name,
      recorded,
      table: this.#quoted(),
      trading: halt === undefined ? { trading: true } : { trading: false, reason: halt.reason },
      problem: problemOf(this.#known),
      heldBack: this.#known.heldBack?.table.number,
      clock: clockProblem(this.#known.clockAheadMs, name),
      fetches: this.#fetches,
    };
  }

  /** Whether there is a table to quote at. */
  get hasFresh(): boolean {
    return tableHalt(this.#quoted(), this.#facts()) === undefined;
  }

  /** Resolves when nothing of it uses the ledger any more, or when the ledger has not answered for a second. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await within(this.#turn, longestCloseMs);
  }

  #facts(): Facts {
    const { source, now } = this.#options;
    return {
      source,
      changeSource: this.#ledger.changeSource,
      maxAgeDays: this.#rules.maxAgeDays,
      now: now(),
      known: this.#known,
      asksSource: this.#needsSource(),
    };
  }

  /** The table that an order settles at where the ledger has `inForce`, and why none does. */
  #at(inForce: TableInForce | undefined): { table: RateTable | undefined; halt: Halt | undefined } {
    const facts = this.#facts();
    const isNew = inForce === undefined && !this.#options.trades;
    if (!isNew) return { table: inForce?.table, halt: haltOf(inForce, facts) };
    // A new ledger gets the source's newest table from the first process that trades.
    const table = this.#quoted();
    return { table, halt: tableHalt(table, facts) };
  }

  #halt(): Halt | undefined {
    return this.#at(this.#known.inForce).halt;
  }

  #unavailable({ kind, reason }: Halt): FxError {
    // A command looks once.
    if (!this.#options.serves) return new FxError("rates-unavailable", reason);
    const seconds = Math.max(1, Math.ceil((this.#nextRefresh - performance.now()) / 1000));
    return kind === "other source"
      ? new FxError("rates-unavailable", reason, { retryAfterSeconds: retryElsewhereSeconds })
      : new FxError(
          "rates-unavailable",
          `${reason} Try again in ${seconds} s, when fx asks the source again.`,
          { retryAfterSeconds: seconds },
        );
  }

  /** The table of the ledger, if that trades at this process's source or has none; otherwise the source's own. */
  #quoted(): RateTable | undefined {
    const { inForce, tables, kept } = this.#known;
    if (this.#ledger.isOurs(inForce)) return inForce?.table;
    return newest(effectiveOn(warsawDate(this.#options.now()), tables.length > 0 ? tables : (kept ?? [])));
  }

  #needsSource(): boolean {
    return this.#options.trades || !this.#ledger.isOurs(this.#known.inForce);
  }

  async #takeTurn(): Promise<void> {
    const { now, followMs } = this.#options;
    const jumpedMs = now().getTime() - this.#asked.wall - (performance.now() - this.#asked.steady);
    // After a clock was set, or a machine slept, the source is asked first: its answer tells whether the day is right.
    const hasJumped = isClockOff(jumpedMs);
    if (!hasJumped) await this.#settle();
    const isDue = hasJumped || performance.now() >= this.#nextRefresh;
    if (isDue && this.#needsSource()) await this.#refresh();
    if (this.#closing.signal.aborted) return;
    this.tell();
    const untilRefresh = Math.max(0, this.#nextRefresh - performance.now());
    const waitMs = this.#needsSource() ? Math.min(followMs, untilRefresh) : followMs;
    this.#timer = setTimeout(() => {
      this.#turn = this.#takeTurn();
    }, waitMs).unref();
  }

  /** Asks the source, and judges what it answers. */
  async #refresh(): Promise<void> {
    const before = this.#ledger.accepted;
    const failure = await failureOf(() => this.#fetch());
    if (this.#closing.signal.aborted) return;
    const known = this.#known;
    known.fetchFailure = failure?.message;
    const hasFailed = failure !== undefined || known.ledgerFailure !== undefined;
    // Meanwhile there may be tables that this process never sees as the newest.
    if (hasFailed) this.#historyIsKept = false;
    this.#failures = hasFailed ? this.#failures + 1 : 0;
    const retryInMs = this.#pauseMs();
    this.#nextRefresh = performance.now() + retryInMs;
    if (hasFailed) this.#fetches.failed += 1;
    else if (this.#ledger.accepted !== before) this.#fetches.accepted += 1;
    else this.#fetches[known.heldBack === undefined ? "unchanged" : "refused"] += 1;
    if (failure !== undefined) this.#options.onEvent({ kind: "failed", problem: failure.message, retryInMs });
  }

  async #fetch(): Promise<void> {
    const { now, onEvent } = this.#options;
    const known = this.#known;
    const latest = await this.#ask(1);
    const isWaiting = effectiveOn(dayOf(now(), known.clockAheadMs), latest).length === 0;
    // While the newest waits for its date, the one before it is needed. Until both are there, nothing is given up.
    known.tables = isWaiting ? await this.#ask(mostTables) : latest;
    await this.#settle();
    if (!isWaiting && known.heldBack === undefined && !this.#lacksHistory()) return;
    const failure = await failureOf(async () => {
      if (!isWaiting) {
        known.tables = await this.#ask(mostTables);
        await this.#settle();
      }
      if (this.#lacksHistory()) await this.#keepHistory();
    });
    if (failure !== undefined && !this.#closing.signal.aborted) {
      onEvent({ kind: "history-failed", problem: failure.message });
    }
  }

  async #ask(count: number): Promise<readonly RateTable[]> {
    const { source, now } = this.#options;
    this.#asked = { wall: now().getTime(), steady: performance.now() };
    const { tables, date } = await source.tables(count, this.#closing.signal);
    if (date !== undefined) this.#known.clockAheadMs = now().getTime() - date.getTime();
    return tables;
  }

  #pauseMs(): number {
    const { refreshMs, retryMs } = this.#options;
    if (this.#failures === 0) return refreshMs;
    const longest = Math.min(retryMs * 2 ** (this.#failures - 1), refreshMs);
    return Math.round(longest * (0.5 + Math.random() / 2));
  }

  /** Whether to ask for the tables before the newest: once, and where they are in memory only, each time. */
  #lacksHistory(): boolean {
    const { trades, serves } = this.#options;
    if (!trades || !this.#ledger.isOurs(this.#known.inForce)) return true;
    return !this.#historyIsKept && (serves || this.#ledger.accepted !== undefined);
  }

  /** Keeps the tables before the one in force. Only the history of rates needs them. */
  async #keepHistory(): Promise<void> {
    const { inForce, tables } = this.#known;
    if (!this.#options.trades || inForce === undefined || !this.#ledger.isOurs(inForce)) return;
    await this.#options.ledger.saveTables(tables.filter((table) => isNewer(inForce.table, table)));
    this.#historyIsKept = true;
  }

  async #settle(): Promise<void> {
    this.#known.ledgerFailure = (
      await failureOf(() => this.#ledger.settle(this.#rules.acceptTable))
    )?.message;
    if (!this.#closing.signal.aborted && this.#halt() === undefined) this.tell();
  }

  /** Tells what has changed. */
  tell(): void {
    const { inForce, heldBack, ledgerFailure, clockAheadMs } = this.#known;
    const { source, followMs, onEvent } = this.#options;
    const halt = this.#halt();
    const table = inForce?.table;
    const from = table?.id !== this.#ledger.accepted ? "ledger" : source.recorded ? "recording" : "bank";
    const problem = problemOf(this.#known) ?? "";
    const clock = clockProblem(clockAheadMs, source.name);
    const news: Record<string, readonly [state: unknown, event: RatesEvent | undefined]> = {
      trading:
        halt === undefined
          ? [table?.id, table && { kind: "in-force", table, from }]
          : [`${halt.kind} ${table?.source}`, { kind: "not-trading", problem: halt.reason }],
      heldBack: [heldBack?.table.id, heldBack && { kind: "refused", table: heldBack.table.number, problem }],
      ledger: [
        ledgerFailure,
        ledgerFailure === undefined
          ? undefined
          : { kind: "failed", problem: ledgerFailure, retryInMs: followMs },
      ],
      clock: [clock !== undefined, clock === undefined ? undefined : { kind: "clock", problem: clock }],
    };
    for (const [what, [state, event]] of Object.entries(news)) {
      if (this.#told.get(what) === state) continue;
      this.#told.set(what, state);
      if (event !== undefined) onEvent(event);
    }
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
