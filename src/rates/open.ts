import type { CurrentRates } from "../core/rates.ts";
import { LedgerRates, type LedgerRatesOptions } from "./ledger-rates.ts";
import { openApi } from "./nbp.ts";
import { openRecorded } from "./recorded.ts";
import { isLive, type RateSource } from "./source.ts";

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
  onEvent: () => {},
  waits: { newestMs: 2000, anyMs: 10_000 },
  refreshMs: 5 * 60_000,
  retryMs: 1000,
  followMs: 1000,
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
export async function openSource(source: string): Promise<RateSource> {
  return isLive(source) ? openApi(source) : openRecorded(source);
}
