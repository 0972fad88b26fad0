import { FxError } from "../core/errors.ts";
import type { CurrentRates, RatesStatus, RateTable } from "../core/rates.ts";
import { addDays, warsawDate } from "../warsaw.ts";
import { isFarAhead, isNewer, refusalOf } from "./acceptance.ts";
import { keepTable, type TableArchive } from "./archive.ts";

/** What became of the rates, for the log. */
export type RatesEvent =
  | { readonly kind: "in-force"; readonly table: RateTable; readonly from: "bank" | "archive" | "recording" }
  | {
      readonly kind: "refused";
      readonly table: string;
      readonly problem: string;
      readonly retryInMs: number;
    }
  | { readonly kind: "failed"; readonly problem: string; readonly retryInMs: number }
  | { readonly kind: "history-failed"; readonly problem: string };

export interface LiveOptions {
  /** What the status calls the source. */
  readonly source: string;
  /** The newest `count` tables, oldest first and at least one. */
  readonly fetch: (count: number, signal: AbortSignal) => Promise<readonly RateTable[]>;
  readonly archive: TableArchive;
  readonly now: () => Date;
  /** How many calendar days after its effective date a table is still traded on. */
  readonly maxAgeDays: number;
  /** The number of a table to believe although a rate in it moved by more than 30 %. */
  readonly acceptTable: string | undefined;
  readonly onEvent: (event: RatesEvent) => void;
  readonly refreshMs: number;
  /** The pause after a first failure. It doubles with each further one, up to `refreshMs`. */
  readonly retryMs: number;
  /** How many tables to ask for once, as the history. */
  readonly historyTables: number;
}

/**
 * The bank's newest table, kept in memory and looked for in the background, first in the archive, where a sister
 * process may have put it, then at the bank. Refreshes follow one another, so there is never more than one fetch
 * under way. A table comes into force only after it was checked and kept in the archive; until then, and after any
 * failure, the one before stays.
 */
export class LiveRates implements CurrentRates {
  readonly #options: LiveOptions;
  readonly #closing = new AbortController();
  #table: RateTable | undefined;
  /** The last date on which #table is traded on. */
  #lastDay = "";
  #problem: string | undefined;
  #failures = 0;
  #historyKept = false;
  #nextAttempt = 0;
  #timer: NodeJS.Timeout | undefined;
  #refreshing: Promise<void> = Promise.resolve();

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  /** Begins to refresh. Resolves when the first refresh is over, however it went. */
  start(): Promise<void> {
    this.#refreshing = this.#refresh();
    return this.#refreshing;
  }

  inForce(): RateTable {
    const { source, maxAgeDays, now } = this.#options;
    const table = this.#table;
    if (table !== undefined && warsawDate(now()) <= this.#lastDay) return table;
    const state =
      table === undefined
        ? `There is no rate table yet. ${this.#problem ?? `The first is being fetched from ${source}.`}`
        : `The newest rate table, ${table.number}, is of ${table.effectiveDate}, and a table is not traded on for more ` +
          `than ${maxAgeDays} days. ${this.#problem ?? `${source} has no newer one.`}`;
    const retryAfterSeconds = Math.max(1, Math.ceil((this.#nextAttempt - now().getTime()) / 1000));
    throw new FxError(
      "rates-unavailable",
      `${state} Try again in ${retryAfterSeconds} s, when it is looked for again.`,
      { retryAfterSeconds },
    );
  }

  status(): RatesStatus {
    return {
      source: this.#options.source,
      recorded: false,
      table: this.#table,
      problem: this.#problem,
    };
  }

  /** Resolves when nothing of it uses the archive any more. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await this.#refreshing;
  }

  async #refresh(): Promise<void> {
    const { now, onEvent } = this.#options;
    const fromArchive = await failureOf(() => this.#adoptArchived());
    const fromBank = await failureOf(() => this.#adoptFetched());
    if (this.#closing.signal.aborted) return;
    const failures = [fromArchive, fromBank].filter((failure) => failure !== undefined);
    this.#problem = failures.length === 0 ? undefined : failures.map(({ message }) => message).join(" ");
    this.#failures = failures.length === 0 ? 0 : this.#failures + 1;
    const pauseMs = this.#pauseMs();
    for (const failure of failures) {
      const report = { problem: failure.message, retryInMs: pauseMs };
      onEvent(
        failure instanceof Refusal
          ? { kind: "refused", table: failure.table, ...report }
          : { kind: "failed", ...report },
      );
    }
    if (fromBank === undefined && !this.#historyKept) await this.#keepHistory();
    if (this.#closing.signal.aborted) return;
    this.#nextAttempt = now().getTime() + pauseMs;
    this.#timer = setTimeout(() => this.start(), pauseMs).unref();
  }

  #pauseMs(): number {
    const { refreshMs, retryMs } = this.#options;
    if (this.#failures === 0) return refreshMs;
    const longest = Math.min(retryMs * 2 ** (this.#failures - 1), refreshMs);
    return Math.round(longest * (0.5 + Math.random() / 2));
  }

  async #adoptArchived(): Promise<void> {
    // A recording kept in the same database may reach into the future: pass it over.
    const today = warsawDate(this.#options.now());
    const newest = (await this.#options.archive.tables({ last: 10 })).findLast(
      (table) => !isFarAhead(table, today),
    );
    if (newest !== undefined) await this.#adopt(newest, "archive");
  }

  async #adoptFetched(): Promise<void> {
    const newest = (await this.#options.fetch(1, this.#closing.signal)).at(-1);
    if (newest !== undefined) await this.#adopt(newest, "bank");
  }

  async #adopt(table: RateTable, from: "bank" | "archive"): Promise<void> {
    const { archive, now, acceptTable, maxAgeDays, onEvent } = this.#options;
    const refusal = refusalOf(table, this.#table, warsawDate(now()), acceptTable);
    if (refusal !== undefined) throw new Refusal(table.number, refusal);
    if (table.number === this.#table?.number) return;
    await keepTable(archive, table);
    this.#table = table;
    this.#lastDay = addDays(table.effectiveDate, maxAgeDays);
    onEvent({ kind: "in-force", table, from });
  }

  /** Keeps the tables before the one in force. Without them there is less to look back on, and nothing else. */
  async #keepHistory(): Promise<void> {
    const { archive, fetch, historyTables, onEvent } = this.#options;
    const failure = await failureOf(async () => {
      const inForce = this.#table;
      const tables = await fetch(historyTables, this.#closing.signal);
      // Not the newer ones: what is in the archive has been checked.
      await archive.saveTables(tables.filter((table) => inForce !== undefined && isNewer(inForce, table)));
      this.#historyKept = true;
    });
    if (failure !== undefined && !this.#closing.signal.aborted) {
      onEvent({ kind: "history-failed", problem: failure.message });
    }
  }
}

/** A table of the right form that is not believed. */
class Refusal extends Error {
  readonly table: string;

  constructor(table: string, reason: string) {
    super(`Table ${table} is refused: ${reason}.`);
    this.table = table;
  }
}

async function failureOf(work: () => Promise<void>): Promise<Error | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
