import { isReversible } from "../core/change.ts";
import { type Decimal, formatDecimal } from "../core/decimal.ts";
import { type Exchange, priceExchange } from "../core/exchange.ts";
import type { Entry } from "../core/journal.ts";
import { decimalOfMoney, formatMoney, type Money } from "../core/money.ts";
import { holderWords } from "../core/names.ts";
import type { RateTable } from "../core/rates.ts";
import { limits } from "./limits.ts";
import type { AccountRow, FoundEntry } from "./store.ts";

/** What an audit finds: the problem by name, what is recorded, and what should be. */
export type Discrepancy = readonly [problem: string, recorded: string, recomputed: string];

/** One where what is recorded is not what is right, and otherwise none. */
export function differing(problem: string, recorded: string, right: string): Discrepancy[] {
  return recorded === right ? [] : [[problem, recorded, right]];
}

/** Nothing in the ledger is from later than now. */
export function notLater(problem: string, timeMs: number, nowMs: number): Discrepancy[] {
  return timeMs <= nowMs + limits.clockToleranceMs ? [] : [[problem, timeText(timeMs), "not later than now"]];
}

/** A time that no date can hold is shown as its number. */
export function timeText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}

/** Computes an exchange again, from the order and the stored table. */
export function exchangeDiscrepancies(exchange: Exchange, table: RateTable): Discrepancy[] {
  let right: ReturnType<typeof recompute>;
  try {
    right = recompute(exchange, table);
  } catch (error) {
    return [["exchange", (error as Error).message, "one that the rate table allows"]];
  }
  return [
    ...differing("table number", exchange.table, right.table),
    ...differing("sold", formatMoney(exchange.sold), formatMoney(right.sold)),
    ...differing("bought", formatMoney(exchange.bought), formatMoney(right.bought)),
    ...differing("bid", rateOrNone(exchange.bid), rateOrNone(right.bid)),
    ...differing("ask", rateOrNone(exchange.ask), rateOrNone(right.ask)),
    ...differing("effective date", exchange.effectiveDate, right.effectiveDate),
  ];
}

function recompute({ side, sold, bought }: Exchange, table: RateTable) {
  const fixed = side === "toSell" ? sold : bought;
  return priceExchange(
    { from: sold.currency, to: bought.currency, side, amount: decimalOfMoney(fixed) },
    table,
  );
}

/** A reversal is the opposite of an earlier entry of its account, which no other undoes. */
export function reversalDiscrepancies(reversal: Entry, found: FoundEntry | undefined): Discrepancy[] {
  const { id, pesel, sequence, reverses = "", debited, credited, exchange } = reversal;
  const undone = found?.entry;
  const isEarlier = undone?.pesel === pesel && undone.sequence < sequence && isReversible(undone.kind);
  if (!isEarlier) {
    return [["entry that is undone", reverses, "an earlier exchange, deposit or withdrawal of the account"]];
  }
  return [
    ...differing("link to the reversal", found?.reversedBy ?? "none", id),
    ...differing("taken by the reversal", moneyOrNone(debited), moneyOrNone(undone.credited)),
    ...differing("given by the reversal", moneyOrNone(credited), moneyOrNone(undone.debited)),
    ...differing("exchange that is undone", exchangeText(exchange), exchangeText(undone.exchange)),
  ];
}

function moneyOrNone(money: Money | undefined): string {
  return money === undefined ? "nothing" : formatMoney(money);
}

function exchangeText(exchange: Exchange | undefined): string {
  if (exchange === undefined) return "none";
  const { side, sold, bought, bid, ask, table, tableId, effectiveDate } = exchange;
  const rates = `${rateOrNone(bid)}, ${rateOrNone(ask)}, table ${table} (${tableId}) of ${effectiveDate}`;
  return `${side} ${formatMoney(sold)} for ${formatMoney(bought)} at ${rates}`;
}

function rateOrNone(decimal: Decimal | undefined): string {
  return decimal === undefined ? "none" : formatDecimal(decimal);
}

/** Both have the same currencies, in the same order, and the same amounts of them. */
export function balanceDiscrepancies(recorded: readonly Money[], right: readonly Money[]): Discrepancy[] {
  return differing("balances after the entry", balancesText(recorded), balancesText(right));
}

/** As the entry's text has them. */
function balancesText(balances: readonly Money[]): string {
  return `{${balances.map(({ currency, minor }) => `"${currency}":${minor}`).join(",")}}`;
}

/** The words that an account is found by are those of its names. */
export function wordDiscrepancies(row: AccountRow): Discrepancy[] {
  const [found, right] = [row.words.split(" "), holderWords(row)].map((words) => words.sort().join(" "));
  return differing("words of the names", found as string, right as string);
}
