import { setTimeout as pause } from "node:timers/promises";
import { FxError } from "../core/errors.ts";
import type { CurrentRates } from "../core/rates.ts";
import type { TableArchive } from "./archive.ts";
import { LiveRates, type RatesEvent } from "./live.ts";
import { type FetchLimits, fetchLimits, fetchTables, mostTables, nbpBaseUrl, withoutSecrets } from "./nbp.ts";
import { openRecorded } from "./recorded.ts";

export interface RatesOptions {
  /**
   * "nbp"; the http(s) base URL of an API of the same shape, which is asked for `<base>/exchangerates/tables/C/`;
   * the path of a JSON file of tables as the bank publishes them; or "demo", which is such a recording.
   */
  readonly source: string;
  readonly archive: TableArchive;
  readonly now?: () => Date;
  /** How many calendar days after its effective date a table is still traded on. Recordings do not age. */
  readonly maxAgeDays?: number | undefined;
  /** The number of a table to believe although a rate in it moved by more than 30 %. */
  readonly acceptTable?: string | undefined;
  readonly onEvent?: (event: RatesEvent) => void;
  /** How long to wait at most for the first refresh of a live source. */
  readonly firstWaitMs?: number;
  readonly refreshMs?: number;
  /** The pause after a first failed refresh. */
  readonly retryMs?: number;
  readonly limits?: Partial<FetchLimits>;
}

/**
 * Opens the rates of a source. A live one opens whether the bank answers or not, and has its first table when it
 * does answer, or as soon as it does.
 * @throws FxError rates-unavailable if the source makes no sense or its recording cannot be used, and
 *   storage-unavailable if that cannot be kept
 */
export async function openRates(options: RatesOptions): Promise<CurrentRates> {
  const { source, archive, onEvent = () => {} } = options;
  const baseUrl = source === "nbp" ? nbpBaseUrl : source;
  if (!/^https?:/i.test(baseUrl)) {
    const rates = await openRecorded(source, archive);
    onEvent({ kind: "in-force", table: rates.inForce(), from: "recording" });
    return rates;
  }
  if (!URL.canParse(baseUrl)) {
    throw new FxError("rates-unavailable", `No rates from ${source}: it is not an http(s) address.`);
  }
  const limits = { ...fetchLimits, ...options.limits };
  const rates = new LiveRates({
    source: source === "nbp" ? source : withoutSecrets(new URL(baseUrl)),
    fetch: (count, signal) => fetchTables(baseUrl, count, signal, limits),
    archive,
    now: options.now ?? (() => new Date()),
    maxAgeDays: options.maxAgeDays ?? 7,
    acceptTable: options.acceptTable,
    onEvent,
    refreshMs: options.refreshMs ?? 5 * 60_000,
    retryMs: options.retryMs ?? 1000,
    historyTables: mostTables,
  });
  await Promise.race([rates.start(), pause(options.firstWaitMs ?? 2000, undefined, { ref: false })]);
  return rates;
}
