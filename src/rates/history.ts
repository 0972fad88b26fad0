import type { CurrencyCode } from "../core/currency.ts";
import { addDays, type CalendarDate } from "../core/date.ts";
import type { RateOfTable, RateTable, TableLedger } from "../core/rates.ts";
import { isNewer, newest } from "./judge.ts";

/** Longer than any holidays, so the table before another is among those of these days. */
const daysToPrevious = 30;

/**
 * The rates of one currency up to those of `table`, from the day `since`, oldest first: those that the ledger keeps, and
 * of other tables that are known. Of several tables under one number, the one that was in force last.
 */
export async function historyOf(
  ledger: Pick<TableLedger, "rateHistory">,
  others: readonly RateTable[],
  {
    table,
    currency,
    since,
  }: { readonly table: RateTable; readonly currency: CurrencyCode; readonly since: CalendarDate },
): Promise<readonly RateOfTable[]> {
  const { source, effectiveDate: until } = table;
  const kept = await ledger.rateHistory({ source, currency, since, until });
  const known = [...others, table].flatMap((one): RateOfTable[] => {
    const { number, effectiveDate } = one;
    const rate = one.rates.get(currency);
    const isOfDays = one.source === source && effectiveDate >= since && effectiveDate <= until;
    return rate !== undefined && isOfDays ? [{ number, effectiveDate, bid: rate.bid, ask: rate.ask }] : [];
  });
  const byNumber = new Map([...known, ...kept].map((rate) => [rate.number, rate]));
  return [...byNumber.values()].sort((a, b) => (isNewer(a, b) ? 1 : -1));
}

/** The newest table of an earlier day than `table`, of the same source. */
export async function tableBefore(
  ledger: Pick<TableLedger, "tables">,
  others: readonly RateTable[],
  { source, effectiveDate }: RateTable,
): Promise<RateTable | undefined> {
  const since = addDays(effectiveDate, -daysToPrevious);
  const kept = await ledger.tables({ source, since, before: effectiveDate });
  const known = others.filter((table) => table.source === source && table.effectiveDate < effectiveDate);
  return newest([...known, ...kept]);
}
