import type { CurrentRates, TableLedger } from "../core/rates.ts";
import { nextTable } from "./judge.ts";
import { LedgerRates, type LedgerRatesOptions } from "./ledger-rates.ts";
import { openApi } from "./nbp.ts";
import { openRecorded } from "./recorded.ts";
import { isLive, type RateSource } from "./source.ts";
import { clockProblem, dayOf, effectiveOn, isElsewhere, problemOf } from "./trading.ts";

export interface RatesOptions
  extends Pick<LedgerRatesOptions, "role" | "ledger">,
    Partial<Omit<LedgerRatesOptions, "role" | "ledger" | "source">> {
  /**
   * "nbp"; the http(s) base URL of an API of the same shape, which is asked for `<base>/exchangerates/tables/C/last/67/`;
   * the path of a JSON file of tables as the bank publishes them; or "demo", which is such a recording.
   */
  readonly source: string | RateSource;
}

const defaults = {
  changeSource: undefined,
  acceptTable: undefined,
  maxAgeDays: 7,
  operator: "unknown",
  now: () => new Date(),
  elapsedMs: () => performance.now(),
  onEvent: () => {},
  newerTableMs: 2000,
  refreshMs: 5 * 60_000,
  retryMs: 1000,
};

/**
 * Opens the rates of a source. A process that trades has put its first table in force by then, if its source has
 * answered in time; a server goes on asking.
 * @throws FxError rates-unavailable if the source is not one of those, or its recording cannot be used
 */
export async function openRates(given: RatesOptions): Promise<CurrentRates> {
  const source = typeof given.source === "string" ? await openSource(given.source) : given.source;
  const rates = new LedgerRates({ ...defaults, ...given, source });
  await rates.start();
  return rates;
}

/** @throws FxError rates-unavailable */
async function openSource(source: string): Promise<RateSource> {
  return isLive(source) ? openApi(source) : openRecorded(source);
}

/** The answer of a source now, as a process that trades would judge it. */
export interface Inspection {
  readonly recorded: boolean;
  /** The number of the source's newest table, if it answers. */
  readonly table: string | undefined;
  /** Why there is no such table, or why it would not come into force, with the way to let it through. */
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
    const { tables, date } = await source.tables();
    const aheadMs = date === undefined ? 0 : now().getTime() - date.getTime();
    const inForce = await ledger?.inForce();
    const effective = effectiveOn(dayOf(now(), aheadMs), tables);
    const isJudged = ledger !== undefined && !isElsewhere({ inForce, source, changeSource: undefined });
    const choice = isJudged ? await nextTable(ledger, effective, inForce?.table, undefined) : {};
    const problem = problemOf({ heldBack: choice.heldBack, failure: undefined });
    return { recorded, table: tables.at(-1)?.number, problem, clock: clockProblem(aheadMs, name) };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { recorded, table: undefined, problem, clock: undefined };
  }
}
