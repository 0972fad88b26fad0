import type { Settings } from "../config.ts";
import type { CurrentRates } from "../core/rates.ts";
import type { ExchangeService } from "../core/service.ts";
import type { Store } from "../ledger/store.ts";
import type { RatesEvent } from "../rates/live.ts";

/** The parts of an instance of fx in this process. Closing the service closes them all. */
export interface Ledger {
  readonly service: ExchangeService;
  readonly store: Store;
  readonly rates: CurrentRates;
}

/** The service that `settings.url` names. Without `rates`, an embedded one is not to be asked for any. */
export async function openService(
  settings: Settings,
  needs: { readonly rates: boolean },
): Promise<ExchangeService> {
  const { url } = settings;
  if (/^https?:/.test(url)) {
    const { openHttpService } = await import("../client/http-service.ts");
    return openHttpService(url);
  }
  if (needs.rates) return (await openLedger(url, settings)).service;
  const { LedgerService } = await import("../ledger/service.ts");
  return new LedgerService(await openStore(url), noRates);
}

/** An instance over the store at `place`, settling at the rates that `settings` name. */
export async function openLedger(
  place: string,
  settings: Settings,
  onEvent: (event: RatesEvent) => void = () => {},
): Promise<Ledger> {
  const store = await openStore(place);
  try {
    const { openRates } = await import("../rates/current.ts");
    const { rates: source, maxTableAge: maxAgeDays, acceptTable } = settings;
    const rates = await openRates({ source, archive: store, maxAgeDays, acceptTable, onEvent });
    const { LedgerService } = await import("../ledger/service.ts");
    return { service: new LedgerService(store, rates), store, rates };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openStore(place: string): Promise<Store> {
  if (/^postgres/.test(place)) {
    const { openPostgres } = await import("../ledger/postgres.ts");
    return openPostgres(place);
  }
  const { openSqlite } = await import("../ledger/sqlite.ts");
  return openSqlite(place === "memory:" ? ":memory:" : place.slice("sqlite:".length));
}

const noRates: CurrentRates = {
  inForce: () => {
    throw new Error("this command was opened without rates");
  },
  status: () => ({ source: "none", recorded: true, table: undefined, problem: undefined }),
  close: async () => {},
};
