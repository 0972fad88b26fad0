import { type CurrencyCode, compareCurrencies, pln } from "../core/currency.ts";
import type { Money } from "../core/money.ts";
import type { Position } from "../core/service.ts";
import { type Pause, readEntries, TableReader } from "./journal-reader.ts";
import { spreadEarned, twiceSpreadOf } from "./spread.ts";
import type { Store } from "./store.ts";

/**
 * Derives the house's position from the journal alone, as it is or was.
 * @throws FxError storage-unavailable if an entry or a table cannot be read, internal if a table is missing
 */
export async function positionOf(store: Store, at?: Date, pause?: Pause): Promise<Position> {
  const tables = new TableReader(store);
  const customers = new Map<CurrencyCode, bigint>([[pln, 0n]]);
  const house = new Map<CurrencyCode, bigint>();
  let spread = 0n;
  for await (const entries of readEntries(store, at, pause)) {
    for (const entry of entries) {
      const { debited, credited, exchange } = entry;
      add(customers, credited);
      add(customers, debited, -1n);
      if (exchange === undefined) continue;
      add(house, debited);
      add(house, credited, -1n);
      spread += await twiceSpreadOf(entry, tables);
    }
  }
  const currencies = [...customers].sort(([one], [other]) => compareCurrencies(one, other));
  return {
    currencies: currencies.map(([currency, held]) => {
      return { currency, customers: held, house: house.get(currency) ?? 0n };
    }),
    spreadEarned: spreadEarned(spread),
  };
}

function add(totals: Map<CurrencyCode, bigint>, money: Money | undefined, times = 1n): void {
  if (money === undefined) return;
  const { currency, minor } = money;
  totals.set(currency, (totals.get(currency) ?? 0n) + times * minor);
}
