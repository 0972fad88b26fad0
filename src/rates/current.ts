import { setTimeout as pause } from "node:timers/promises";
import type { CurrentRates, TableLedger, TableRules } from "../core/rates.ts";
import { LedgerRates, type RatesEvent } from "./ledger-rates.ts";
import { commandLimits, type FetchLimits, mostTables, openApi } from "./nbp.ts";
import { openRecorded } from "./recorded.ts";
import { isLive, type RateSource, sourceName } from "./source.ts";

export interface RatesOptions extends Partial<TableRules> {
  /**
   * "nbp"; the http(s) base URL of an API of the same shape, which is asked for `<base>/exchangerates/tables/C/`;
   * the path of a JSON file of tables as the bank publishes them; or "demo", which is such a recording.
   */
  readonly source: string;
  readonly ledger: TableLedger;
  /** Whether this process may put tables in force. Otherwise it writes nothing. */
  readonly trades: boolean;
  /**
   * Whether this process goes on without a table, and looks again. One that does not ends with what the source said
   * first, and waits for it.
   */
  readonly serves?: boolean;
  /** Another source: if the ledger trades at it, it is to trade at `source` from now on. */
  readonly changeSource?: string | undefined;
  /** Who answers for a table that `acceptTable` lets through. */
  readonly operator?: string;
  readonly now?: () => Date;
  readonly onEvent?: ((event: RatesEvent) => void) | undefined;
  /** How long to wait at most for the first refresh of a live source, where there is a table without it. */
  readonly firstWaitMs?: number;
  readonly refreshMs?: number;
  /** The pause after a first failed refresh. */
  readonly retryMs?: number;
  /** How often to look in the ledger for the table in force. */
  readonly followMs?: number;
  readonly limits?: Partial<FetchLimits>;
}

/**
 * Opens the rates of a source. A live one opens whether the bank answers or not, and has its first table when it
 * does answer, or as soon as it does.
 * @throws FxError rates-unavailable if the source is not one of those, or its recording cannot be used
 */
export async function openRates(options: RatesOptions): Promise<CurrentRates> {
  const { serves = true, limits } = options;
  const source = await openSource(options.source, serves ? limits : { ...commandLimits, ...limits });
  const rates = new LedgerRates({
    source,
    ledger: options.ledger,
    trades: options.trades,
    serves,
    changeSource: options.changeSource === undefined ? undefined : sourceName(options.changeSource),
    operator: options.operator ?? "unknown",
    now: options.now ?? (() => new Date()),
    rules: { maxAgeDays: options.maxAgeDays ?? 7, acceptTable: options.acceptTable },
    onEvent: options.onEvent ?? (() => {}),
    refreshMs: options.refreshMs ?? 5 * 60_000,
    retryMs: options.retryMs ?? 1000,
    followMs: options.followMs ?? 1000,
    historyTables: mostTables,
  });
  const limit = new AbortController();
  const started = rates.start();
  const waited = source.recorded
    ? started
    : Promise.race([started, pause(options.firstWaitMs ?? 2000, undefined, { signal: limit.signal })]);
  await waited.finally(() => limit.abort());
  if (!serves && !rates.hasFresh) await started;
  return rates;
}

/** @throws FxError rates-unavailable */
function openSource(source: string, limits: Partial<FetchLimits> = {}): RateSource | Promise<RateSource> {
  return isLive(source) ? openApi(source, limits) : openRecorded(source);
}
