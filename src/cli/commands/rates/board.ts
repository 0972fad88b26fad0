import type { CurrencyCode } from "../../../core/currency.ts";
import type { LatestTable } from "../../../core/rates.ts";
import type { ExchangeService } from "../../../core/service.ts";
import { midRate, rateColumns } from "../../terminal/figures.ts";
import { proseText, sections, tableText } from "../../terminal/output.ts";
import type { Screen } from "../../terminal/terminal.ts";

export interface Board {
  readonly inForce: LatestTable;
  /** A sparkline for each currency; none where there is no room for them. */
  readonly trends: ReadonlyMap<CurrencyCode, string>;
}

const trendTables = 20;
/** Days that hold 20 tables even over the longest holidays. */
const trendDays = 35;
/** Columns of a terminal that has room for trends. */
const trendColumns = 60;

export async function readBoard(service: ExchangeService, screen: Screen): Promise<Board> {
  const hasTrends = screen.rich && screen.unicode && screen.columns >= trendColumns;
  return { inForce: await service.rates(), trends: hasTrends ? await readTrends(service) : new Map() };
}

export function boardText(screen: Screen, { inForce, trends }: Board): string {
  const { table, previous } = inForce;
  const rates = tableText(screen, rateColumns(inForce, trends), [...table.rates.values()]);
  if (!screen.rich || previous === undefined) return rates;
  const trend = trends.size === 0 ? "" : `; trend: the last ${trendTables} tables`;
  const change = `Change: against table ${previous.number} of ${previous.effectiveDate}${trend}`;
  return sections(screen, rates, proseText(screen, change, screen.paint.dim));
}

async function readTrends(service: ExchangeService): Promise<ReadonlyMap<CurrencyCode, string>> {
  // The board is useful without trends, so a failure leaves them out.
  const tables = await service.rateTables(trendDays).catch(() => []);
  const values = new Map<CurrencyCode, number[]>();
  for (const { rates } of tables.slice(-trendTables)) {
    for (const [currency, rate] of rates) {
      values.set(currency, [...(values.get(currency) ?? []), midRate(rate)]);
    }
  }
  return new Map([...values].map(([currency, midRates]) => [currency, sparkline(midRates)]));
}

const bars = "▁▂▃▄▅▆▇█";

/** The values as one row of bars, the lowest to the highest over the whole height. */
export function sparkline(values: readonly number[]): string {
  const low = Math.min(...values);
  // All of several equal values are the lowest.
  const span = Math.max(...values) - low || 1;
  return values.map((value) => bars[Math.round(((value - low) / span) * (bars.length - 1))]).join("");
}
