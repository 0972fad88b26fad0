import { setImmediate as nextTurn } from "node:timers/promises";
import type { CurrencyCode } from "../core/currency.ts";
import { addDays, type CalendarDate } from "../core/date.ts";
import type { AcceptedTable, Rate, RateTable, TableLedger } from "../core/rates.ts";
import { isNewer } from "./judge.ts";

/** Days of tables that are read before the event loop has its turn: some 3 ms, in which orders wait. */
const sliceDays = 128;

/**
 * The tables up to `table` that took effect on or after a date, oldest first: those that the ledger keeps, and others
 * that are known. Of several under one number, the last that was in force.
 */
export async function historyOf(
  table: RateTable,
  since: CalendarDate,
  others: readonly RateTable[],
  ledger: TableLedger,
): Promise<readonly RateTable[]> {
  const { source, effectiveDate } = table;
  const tables = others.filter((other) => other.source === source);
  for (let from = since; from <= effectiveDate; from = addDays(from, sliceDays)) {
    tables.push(...(await ledger.tables({ source, since: from, before: addDays(from, sliceDays) })));
    await nextTurn();
  }
  const byNumber = new Map([...tables, table].map((one) => [one.number, one]));
  return [...byNumber.values()]
    .filter((one) => one.effectiveDate >= since && one.effectiveDate <= effectiveDate)
    .sort((a, b) => (isNewer(a, b) ? 1 : -1));
}

/** The last rates that were in force of currencies that `tables` quote and the table in force does not. */
export async function earlierRates(
  ledger: TableLedger,
  accepted: readonly AcceptedTable[],
  inForce: RateTable | undefined,
  tables: readonly RateTable[],
): Promise<ReadonlyMap<CurrencyCode, Rate>> {
  const rates = new Map<CurrencyCode, Rate>();
  const quoted = new Set(tables.flatMap((table) => [...table.rates.keys()]));
  const wanted = [...quoted].filter((currency) => !inForce?.rates.has(currency));
  if (inForce === undefined || wanted.length === 0) return rates;
  const byId = new Map<string, RateTable>();
  for (const source of new Set(accepted.map((one) => one.source))) {
    for (const table of await ledger.tables({ source, since: "0001-01-01" })) byId.set(table.id, table);
  }
  for (const { id } of accepted) {
    for (const currency of wanted) {
      const rate = byId.get(id)?.rates.get(currency);
      if (rate !== undefined) rates.set(currency, rate);
    }
  }
  return rates;
}
