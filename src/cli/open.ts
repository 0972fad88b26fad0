import { hostname, userInfo } from "node:os";
import type { CurrentRates } from "../core/rates.ts";
import type { ExchangeService } from "../core/service.ts";
import type { LedgerService } from "../ledger/service.ts";
import type { Access, OpenOptions, Store } from "../ledger/store.ts";
import type { RatesOptions } from "../rates/open.ts";
import type { RatesRole } from "../rates/trading.ts";
import type { Settings } from "./settings.ts";
import type { StoreTarget } from "./target.ts";

export type { RatesRole };

/** The parts of an instance of fx in this process. Closing the service closes them all. */
export interface Ledger {
  readonly service: LedgerService;
  readonly store: Store;
  readonly rates: CurrentRates;
}

/**
 * The service that `settings.url` names.
 * @param role without one, an embedded service has no rates
 */
export async function openService(
  settings: Settings,
  access: Access,
  role: RatesRole | undefined,
): Promise<ExchangeService> {
  const { url } = settings;
  if (url.kind === "server") {
    const { openHttpService } = await import("../client/http-service.ts");
    const { token, allowPlainHttp } = settings;
    return openHttpService(url.address, { token, allowPlainHttp });
  }
  if (role !== undefined) {
    const { service } = await openLedger(url, settings, { access, role });
    return service;
  }
  const { LedgerService } = await import("../ledger/service.ts");
  const store = await openStore(url, { access });
  return new LedgerService(store, noRates);
}

/** An instance over the store at `target`, settling at the rates that `settings` name. */
export async function openLedger(
  target: StoreTarget,
  settings: Settings,
  { role, onEvent, ...options }: OpenOptions & Pick<RatesOptions, "role" | "onEvent">,
): Promise<Ledger> {
  const store = await openStore(target, options);
  try {
    const { openRates } = await import("../rates/open.ts");
    const { rates: source, maxTableAge: maxAgeDays, acceptTable, changeSource } = settings;
    const rates = await openRates({
      source,
      ledger: store,
      role,
      changeSource,
      operator: operatorOf(),
      maxAgeDays,
      acceptTable,
      ...(onEvent && { onEvent }),
    });
    const { LedgerService } = await import("../ledger/service.ts");
    return { service: new LedgerService(store, rates, undefined, { rests: role === "serve" }), store, rates };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openStore(target: StoreTarget, options: OpenOptions): Promise<Store> {
  if (target.kind === "postgres") {
    const { openPostgres } = await import("../postgres/store.ts");
    return openPostgres(target.address, options);
  }
  const { openSqlite } = await import("../sqlite/store.ts");
  return openSqlite(target.kind === "memory" ? ":memory:" : target.path, options);
}

/** The user and the machine of this process, for the audit trail. */
function operatorOf(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // A container may run as a user that its system has no name for.
    return `uid ${process.getuid?.()}@${hostname()}`;
  }
}

function openedWithout(): never {
  throw new Error("this command was opened without rates");
}

const noRates = {
  forOrder: openedWithout,
  forQuote: openedWithout,
  latest: openedWithout,
  tables: openedWithout,
  close: async () => {},
};
