import { type CurrencyCode, compareCurrencies, pln } from "../core/currency.ts";
import { type HousePlace, housePlaceOf } from "../core/house.ts";
import type { Money } from "../core/money.ts";
import type { Position } from "../core/service.ts";
import { type Pause, readEntries, TableReader } from "./journal-reader.ts";
import { spreadEarned, spreadOf } from "./spread.ts";
import type { Store } from "./store.ts";

/**
 * Derives the house's position from the journal alone, as it is or was.
 * @throws DamagedLedger if an entry or a rate table is missing or was changed
 */
export async function positionOf(store: Store, at?: Date, pause?: Pause): Promise<Position> {
  const tables = new TableReader(store);
  const customers = new Map<CurrencyCode, bigint>([[pln, 0n]]);
  const house = new Map<CurrencyCode, bigint>();
  const own: Record<HousePlace, Map<CurrencyCode, bigint>> = { cash: new Map(), bank: new Map() };
  let spread = 0n;
  for await (const entries of readEntries(store, at, pause)) {
    for (const { entry } of entries) {
      const { debited, credited, exchange } = entry;
      const place = housePlaceOf(entry.pesel);
      const holders = place === undefined ? customers : own[place];
      add(holders, credited);
      add(holders, debited, -1n);
      if (exchange === undefined) continue;
      add(house, debited);
      add(house, credited, -1n);
      spread += await spreadOf(entry, tables);
    }
  }
  const all = new Set([customers, own.cash, own.bank].flatMap((totals) => [...totals.keys()]));
  return {
    currencies: [...all].sort(compareCurrencies).map((currency) => {
      const of = (totals: ReadonlyMap<CurrencyCode, bigint>) => totals.get(currency) ?? 0n;
      // The drawer has all the money that customers brought and did not take, also what they have exchanged since.
      const cash = of(customers) + of(house) + of(own.cash);
      return { currency, customers: of(customers), house: of(house), cash, bank: of(own.bank) };
    }),
    spreadEarned: spreadEarned(spread),
  };
}

function add(totals: Map<CurrencyCode, bigint>, money: Money | undefined, times = 1n): void {
  if (money === undefined) return;
  const { currency, minor } = money;
  totals.set(currency, (totals.get(currency) ?? 0n) + times * minor);
}
