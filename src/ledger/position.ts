import { type CurrencyCode, compareCurrencies, pln } from "../core/currency.ts";
import type { Position } from "../core/service.ts";
import { type Pause, readJournal, TableReader } from "./journal-reader.ts";
import { decodeEntry } from "./rows.ts";
import { spreadEarned, twiceSpread } from "./spread.ts";
import type { Store } from "./store.ts";

/** All exchanges of one currency for another at one table, less those that were reversed. */
interface Flow {
  /** Its id. */
  readonly table: string;
  readonly from: CurrencyCode;
  readonly to: CurrencyCode;
  sold: bigint;
  bought: bigint;
}

/**
 * Derives the house's position from the journal alone, as it is or was.
 * @throws FxError internal if an entry cannot be read, or a table that an exchange was settled at is missing
 */
export async function positionOf(store: Store, at?: Date, pause?: Pause): Promise<Position> {
  const deposited = new Map<CurrencyCode, bigint>([[pln, 0n]]);
  const flows = new Map<string, Flow>();
  for await (const rows of readJournal(store, pause)) {
    for (const row of rows) {
      const { entry } = decodeEntry(row);
      if (at !== undefined && entry.time > at) continue;
      const { debited, credited, exchange } = entry;
      if (exchange === undefined) {
        if (credited !== undefined) add(deposited, credited.currency, credited.minor);
        if (debited !== undefined) add(deposited, debited.currency, -debited.minor);
        continue;
      }
      const { sold, bought, tableId: table } = exchange;
      const [from, to] = [sold.currency, bought.currency];
      const key = `${table} ${from} ${to}`;
      let flow = flows.get(key);
      if (flow === undefined) {
        flow = { table, from, to, sold: 0n, bought: 0n };
        flows.set(key, flow);
      }
      const times = entry.kind === "reversal" ? -1n : 1n;
      flow.sold += times * sold.minor;
      flow.bought += times * bought.minor;
    }
  }
  const house = new Map<CurrencyCode, bigint>([[pln, 0n]]);
  const tables = new TableReader(store);
  let spread = 0n;
  for (const { table: id, from, to, sold, bought } of flows.values()) {
    const table = await tables.required(id);
    add(house, from, sold);
    add(house, to, -bought);
    spread += twiceSpread({ currency: from, minor: sold }, { currency: to, minor: bought }, table);
  }
  const currencies = [...new Set([...deposited.keys(), ...house.keys()])].sort(compareCurrencies);
  return {
    currencies: currencies.map((currency) => {
      const long = house.get(currency) ?? 0n;
      return { currency, customers: (deposited.get(currency) ?? 0n) - long, house: long };
    }),
    spreadEarned: spreadEarned(spread),
  };
}

function add(totals: Map<CurrencyCode, bigint>, currency: CurrencyCode, minor: bigint): void {
  totals.set(currency, (totals.get(currency) ?? 0n) + minor);
}
