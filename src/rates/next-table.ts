import type { CurrencyCode } from "../core/currency.ts";
import { endOfTime } from "../core/date.ts";
import type { AcceptedTable, Rate, RateTable, TableInForce, TableLedger } from "../core/rates.ts";
import { type Choice, candidates, choose } from "./judge.ts";

/**
 * Which of a source's effective tables comes into force next in a ledger, and which a check holds back. Writes nothing.
 * @param acceptTable the number or id of a table that an operator lets through
 */
export async function nextTable(
  ledger: Pick<TableLedger, "acceptedTables" | "rateHistory">,
  source: string,
  {
    inForce: current,
    effective,
    acceptTable,
  }: {
    readonly inForce: TableInForce | undefined;
    readonly effective: readonly RateTable[];
    readonly acceptTable: string | undefined;
  },
): Promise<Choice> {
  const inForce = current?.table;
  const changesSource = inForce !== undefined && inForce.source !== source;
  const tables = candidates(effective, inForce, changesSource);
  if (tables.length === 0) return { accept: undefined, heldBack: undefined };
  const accepted = await ledger.acceptedTables();
  const earlier = await earlierRates(ledger, accepted, inForce, tables);
  return choose(tables, { inForce, changesSource, accepted, earlier }, acceptTable);
}

/** The last rates that were in force of currencies that `tables` quote and the table in force does not. */
async function earlierRates(
  ledger: Pick<TableLedger, "rateHistory">,
  accepted: readonly AcceptedTable[],
  inForce: RateTable | undefined,
  tables: readonly RateTable[],
): Promise<ReadonlyMap<CurrencyCode, Pick<Rate, "bid" | "ask">>> {
  const earlier = new Map<CurrencyCode, Pick<Rate, "bid" | "ask">>();
  if (inForce === undefined) return earlier;
  const quoted = new Set(tables.flatMap((table) => [...table.rates.keys()]));
  const sources = new Set(accepted.map(({ source }) => source));
  for (const currency of quoted) {
    if (inForce.rates.has(currency)) continue;
    const rates = new Map<string, Pick<Rate, "bid" | "ask">>();
    for (const source of sources) {
      const history = await ledger.rateHistory({ source, currency, since: "0001-01-01", until: endOfTime });
      for (const rate of history) rates.set(`${rate.number} ${source}`, rate);
    }
    const last = accepted.findLast(({ number, source }) => rates.has(`${number} ${source}`));
    const rate = last && rates.get(`${last.number} ${last.source}`);
    if (rate !== undefined) earlier.set(currency, rate);
  }
  return earlier;
}
