import type { CurrencyCode } from "../core/currency.ts";
import type { CalendarDate } from "../core/date.ts";
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
import { historyOf, tableBefore } from "./history.ts";
import { effectiveOn, isNewer } from "./judge.ts";
import { mostTables } from "./nbp.ts";
import { type RatesEvent, RatesNews } from "./news.ts";
import { nextTable } from "./next-table.ts";
import { isLive, type RateSource, sourceName } from "./source.ts";
import {
  clockProblem,
  dayOf,
  type Halt,
  isClockOff,
  isOurs,
  type Known,
  pricesOf,
  problemOf,
  type RatesRole,
} from "./trading.ts";
import { within } from "./within.ts";

const longestCloseMs = 1000;
/** A ledger that trades at another source may be switched to this one, but probably not soon. */
const retryElsewhereSeconds = 60;
/** Each round puts a table in force, or loses to a process that does. */
const mostRounds = 100;

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
  readonly #closing = new AbortController();
  readonly #fetches = noFetches();
  /** The id of the last table that this process put in force. */
  #accepted: string | undefined;
  /** What the last judgement of the source's answer was about; there is no other until that changes. */
  #judged: string | undefined;
  #historyIsKept = false;
  #failures = 0;
  /** On the clock of `performance.now()`. */
  #nextRefresh = 0;
  /** Both clocks when the source was asked last. */
  #asked: { readonly wall: number; readonly steady: number };
  readonly #news: RatesNews;
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: LedgerRatesOptions) {
    const { role, source, maxAgeDays, acceptTable, changeSource } = options;
    this.#options = options;
    this.#news = new RatesNews(options.onEvent);
    this.#asked = { wall: options.now().getTime(), steady: performance.now() };
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
      // A recording may have other tables by now.
      this.#historyIsKept = false;
      return this.#takeTurn();
    });
    return this.#turn;
  }

  forOrder(inForce: TableInForce | undefined): RateTable {
    const { table, notTraded } = pricesOf({ ...this.#known, inForce }, this.#options.now());
    return table !== undefined && notTraded === undefined ? table : this.#refuse(notTraded);
  }

  async forQuote(): Promise<RateTable> {
    await this.#follow();
    const { table, notQuoted } = this.#prices();
    return table !== undefined && notQuoted === undefined ? table : this.#refuse(notQuoted);
  }

  async latest(): Promise<LatestTable> {
    await this.#follow();
    const { table = this.#known.inForce?.table, notTraded } = this.#prices();
    if (table === undefined) return this.#refuse(notTraded);
    return { table, recorded: !isLive(table.source), notTraded: notTraded?.reason };
  }

  before(table: RateTable): Promise<RateTable | undefined> {
    return tableBefore(this.#options.ledger, this.#known.tables, table);
  }

  history(table: RateTable, currency: CurrencyCode, since: CalendarDate): Promise<readonly RateOfTable[]> {
    return historyOf(this.#options.ledger, this.#known.tables, { table, currency, since });
  }

  status(): RatesStatus {
    const { source, heldBack, clockAheadMs } = this.#known;
    const { table, notTraded } = this.#prices();
    return {
      source: source.name,
      recorded: source.recorded,
      table,
      trading: notTraded === undefined ? { trading: true } : { trading: false, reason: notTraded.reason },
      problem: problemOf(this.#known),
      heldBack: heldBack?.table.number,
      clock: clockProblem(clockAheadMs, source.name),
      fetches: this.#fetches,
    };
  }

  /** Resolves when nothing of it uses the ledger any more, or when the ledger has not answered for a second. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await within(this.#turn, longestCloseMs);
  }

  #prices() {
    return pricesOf(this.#known, this.#options.now());
  }

  #tell(): void {
    this.#news.tell(this.#known, this.#prices(), this.#accepted, this.#options.followMs);
  }

  #refuse(halt: Halt | undefined): never {
    const { kind, reason } = halt as Halt;
    // A command looks once.
    if (this.#known.role !== "serve") throw new FxError("rates-unavailable", reason);
    const isElsewhere = kind === "other source";
    const untilRefresh = Math.max(1, Math.ceil((this.#nextRefresh - performance.now()) / 1000));
    const hint = isElsewhere ? "" : ` Try again in ${untilRefresh} s, when fx asks the source again.`;
    const retryAfterSeconds = isElsewhere ? retryElsewhereSeconds : untilRefresh;
    throw new FxError("rates-unavailable", reason + hint, { retryAfterSeconds });
  }

  async #takeTurn(): Promise<void> {
    const { now, followMs } = this.#options;
    const reads = this.#known.role === "read";
    const jumpedMs = now().getTime() - this.#asked.wall - (performance.now() - this.#asked.steady);
    // After a clock was set, or a machine slept, the source is asked first: its answer tells whether the day is right.
    const hasJumped = isClockOff(jumpedMs);
    if (!hasJumped) await this.#settle();
    const isDue = hasJumped || performance.now() >= this.#nextRefresh;
    if (isDue && !(reads && isOurs(this.#known))) await this.#refresh();
    if (reads || this.#closing.signal.aborted) return;
    this.#tell();
    const untilRefresh = Math.max(0, this.#nextRefresh - performance.now());
    this.#timer = setTimeout(
      () => {
        this.#turn = this.#takeTurn();
      },
      Math.min(followMs, untilRefresh),
    ).unref();
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
    const failure = await failureOf(async () => {
      for (let rounds = 0; rounds < mostRounds && (await this.#acceptNext()); rounds += 1);
    });
    this.#known.ledgerFailure = failure?.message;
    if (!this.#closing.signal.aborted && this.#prices().notTraded === undefined) this.#tell();
  }

  /** @returns whether there may be more to put in force */
  async #acceptNext(): Promise<boolean> {
    const { ledger, now, operator, source } = this.#options;
    const known = this.#known;
    const inForce = await this.#follow();
    const isOther = inForce !== undefined && !isOurs(known);
    if (known.role === "read" || (isOther && inForce.table.source !== known.changeSource)) {
      known.heldBack = undefined;
      return false;
    }
    const today = dayOf(now(), known.clockAheadMs);
    const { acceptTable } = known.rules;
    const question = `${today} ${inForce?.epoch} ${acceptTable}`;
    if (question === this.#judged) return false;
    const effective = effectiveOn(today, known.tables);
    const tables = { inForce, effective, acceptTable };
    const { accept, heldBack } = await nextTable(ledger, source.name, tables);
    known.heldBack = heldBack;
    if (accept === undefined) {
      this.#judged = question;
      return false;
    }
    const { table, overridden } = accept;
    const overriddenBy = overridden ? operator : undefined;
    if (await ledger.acceptTable(table, { epoch: inForce?.epoch ?? 0, at: now(), overriddenBy })) {
      if (isOther) known.changeSource = undefined;
      this.#accepted = table.id;
    }
    return true;
  }

  /** Asks the source, and judges what it answers. */
  async #refresh(): Promise<void> {
    const known = this.#known;
    const before = this.#accepted;
    const failure = await failureOf(() => this.#fetch());
    if (this.#closing.signal.aborted) return;
    known.fetchFailure = failure?.message;
    const hasFailed = failure !== undefined || known.ledgerFailure !== undefined;
    // Meanwhile there may be tables that this process never sees as the newest.
    if (hasFailed) this.#historyIsKept = false;
    this.#failures = hasFailed ? this.#failures + 1 : 0;
    const retryInMs = this.#pauseMs();
    this.#nextRefresh = performance.now() + retryInMs;
    if (hasFailed) this.#fetches.failed += 1;
    else if (this.#accepted !== before) this.#fetches.accepted += 1;
    else this.#fetches[known.heldBack === undefined ? "unchanged" : "refused"] += 1;
    if (failure !== undefined) this.#options.onEvent({ kind: "failed", problem: failure.message, retryInMs });
  }

  async #fetch(): Promise<void> {
    const { now, onEvent } = this.#options;
    const known = this.#known;
    if (known.role === "read") return this.#fetchAll();
    const latest = await this.#ask(1);
    // While the newest waits for its date, the one before it is needed. Until both are there, nothing is given up.
    if (effectiveOn(dayOf(now(), known.clockAheadMs), latest).length === 0) return this.#fetchAll();
    known.tables = latest;
    await this.#settle();
    if (known.heldBack === undefined && !this.#lacksHistory()) return;
    const failure = await failureOf(() => this.#fetchAll());
    if (failure !== undefined && !this.#closing.signal.aborted) {
      onEvent({ kind: "history-failed", problem: failure.message });
    }
  }

  /** Asks for the tables before the newest, too, and keeps those before the one in force for the history of rates. */
  async #fetchAll(): Promise<void> {
    const known = this.#known;
    known.tables = await this.#ask(mostTables);
    await this.#settle();
    const { inForce } = known;
    if (inForce === undefined || !isOurs(known) || !this.#lacksHistory()) return;
    await this.#options.ledger.saveTables(known.tables.filter((table) => isNewer(inForce.table, table)));
    this.#historyIsKept = true;
  }

  async #ask(count: number): Promise<readonly RateTable[]> {
    const { source, now } = this.#options;
    this.#asked = { wall: now().getTime(), steady: performance.now() };
    const { tables, date } = await source.tables(count, this.#closing.signal);
    if (date !== undefined) this.#known.clockAheadMs = now().getTime() - date.getTime();
    this.#judged = undefined;
    return tables;
  }

  #pauseMs(): number {
    const { refreshMs, retryMs } = this.#options;
    if (this.#failures === 0) return refreshMs;
    const longest = Math.min(retryMs * 2 ** (this.#failures - 1), refreshMs);
    return Math.round(longest * (0.5 + Math.random() / 2));
  }

  /** Whether to ask for the tables before the newest: once, and where the ledger does not keep them, each time. */
  #lacksHistory(): boolean {
    if (!isOurs(this.#known)) return true;
    return !this.#historyIsKept && (this.#known.role === "serve" || this.#accepted !== undefined);
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
