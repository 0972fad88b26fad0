import { type CurrencyCode, minorUnitDigits } from "../../../core/currency.ts";
import type { LatestTable, RateOfTable } from "../../../core/rates.ts";
import type { ExchangeService } from "../../../core/service.ts";
import { middle, rateColumns, rateRows } from "../../terminal/figures.ts";
import { writeTable, writeText } from "../../terminal/output.ts";
import { type Screen, write } from "../../terminal/terminal.ts";
import { sparkline } from "./chart.ts";

/** The table in force, and how each currency came to it. */
export interface Board {
  readonly inForce: LatestTable;
  /** A row of bars each, where there is room for it. */
  readonly trends: ReadonlyMap<CurrencyCode, string>;
}

const trendTables = 20;
/** Enough for 20 tables, over the longest holidays. */
const trendDays = 35;
const trendFits = 60;

export async function readBoard(
  service: ExchangeService,
  screen: Screen,
  before?: Board | undefined,
): Promise<Board> {
  const inForce = await service.rates();
  if (!screen.rich || !screen.unicode || screen.columns < trendFits) return { inForce, trends: new Map() };
  // A published table never changes, so neither do the trends that end with it.
  const isKnown = before?.trends.size && before.inForce.table.number === inForce.table.number;
  return { inForce, trends: isKnown ? before.trends : await readTrends(service, inForce) };
}

export async function writeBoard(screen: Screen, { inForce, trends }: Board): Promise<void> {
  await writeTable(screen, rateColumns, rateRows(screen, inForce, trends));
  if (!screen.rich || inForce.previous === undefined) return;
  const { number, effectiveDate } = inForce.previous;
  const trend = trends.size === 0 ? "" : `; trend: the last ${trendTables} tables`;
  write(screen, "");
  writeText(screen, `Change: against table ${number} of ${effectiveDate}${trend}`, screen.paint.dim);
}

/** All currencies at once, to save round trips. */
async function readTrends(
  service: ExchangeService,
  { table }: LatestTable,
): Promise<ReadonlyMap<CurrencyCode, string>> {
  // Each is a request. A server that is not fx could name any number.
  const known = [...table.rates.keys()].filter((currency) => minorUnitDigits(currency) !== undefined);
  const trends = known.map(async (currency) => {
    // The board is whole without its trends.
    const history: readonly RateOfTable[] = await service.rateHistory(currency, trendDays).catch(() => []);
    return [currency, sparkline(history.slice(-trendTables).map(middle))] as const;
  });
  return new Map((await Promise.all(trends)).filter(([, trend]) => trend !== ""));
}
