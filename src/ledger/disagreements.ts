import { isReversible } from "../core/change.ts";
import { compareDecimals, type Decimal, formatDecimal } from "../core/decimal.ts";
import { type Exchange, priceExchange } from "../core/exchange.ts";
import type { Entry } from "../core/journal.ts";
import { decimalOfMoney, formatMoney, type Money } from "../core/money.ts";
import { holderWords } from "../core/names.ts";
import type { RateTable } from "../core/rates.ts";
import type { AccountRow, FoundEntry } from "./store.ts";

/** What an audit finds: the problem by name, what is recorded, and what should be. */
export type Disagreement = readonly [problem: string, recorded: string, recomputed: string];

/** Computes an exchange again, from the order and the stored table. */
export function exchangeDisagreements(exchange: Exchange, table: RateTable): Disagreement[] {
  let right: ReturnType<typeof recompute>;
  try {
    right = recompute(exchange, table);
  } catch (error) {
    return [["exchange", (error as Error).message, "one that the rate table allows"]];
  }
  const found: Disagreement[] = [];
  if (exchange.table !== right.table) found.push(["table number", exchange.table, right.table]);
  for (const name of ["sold", "bought"] as const) {
    const [recorded, recomputed] = [exchange[name], right[name]];
    if (recorded.minor !== recomputed.minor)
      found.push([name, formatMoney(recorded), formatMoney(recomputed)]);
  }
  for (const name of ["bid", "ask"] as const) {
    const [recorded, recomputed] = [exchange[name], right[name]];
    if (!isSameRate(recorded, recomputed)) found.push([name, rateOrNone(recorded), rateOrNone(recomputed)]);
  }
  if (exchange.effectiveDate !== right.effectiveDate)
    found.push(["effective date", exchange.effectiveDate, right.effectiveDate]);
  return found;
}

function recompute({ side, sold, bought }: Exchange, table: RateTable) {
  const fixed = side === "toSell" ? sold : bought;
  return priceExchange(
    { from: sold.currency, to: bought.currency, side, amount: decimalOfMoney(fixed) },
    table,
  );
}

function isSameRate(one: Decimal | undefined, other: Decimal | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return compareDecimals(one, other) === 0;
}

/** A reversal is the opposite of an earlier entry of its account, which no other undoes. */
export function reversalDisagreements(reversal: Entry, found: FoundEntry | undefined): Disagreement[] {
  const { id, pesel, sequence, reverses = "", debited, credited, exchange } = reversal;
  const undone = found?.entry;
  const isEarlier = undone?.pesel === pesel && undone.sequence < sequence && isReversible(undone.kind);
  if (!isEarlier) {
    return [["entry that is undone", reverses, "an earlier exchange, deposit or withdrawal of the account"]];
  }
  const pairs: Disagreement[] = [
    ["link to the reversal", found?.reversedBy ?? "none", id],
    ["taken by the reversal", moneyOrNone(debited), moneyOrNone(undone.credited)],
    ["given by the reversal", moneyOrNone(credited), moneyOrNone(undone.debited)],
    ["exchange that is undone", exchangeText(exchange), exchangeText(undone.exchange)],
  ];
  return pairs.filter(([, recorded, right]) => recorded !== right);
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

/** Whether both have the same currencies, in the same order, and the same amounts of them. */
export function haveSameAmounts(some: readonly Money[], others: readonly Money[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ currency, minor }, at) => currency === others[at]?.currency && minor === others[at].minor)
  );
}

/** The words that an account is found by are those of its names. */
export function misplacedWords(
  row: Pick<AccountRow, "name" | "surname" | "words">,
): Disagreement | undefined {
  const [found, right] = [row.words.split(" ").sort().join(" "), holderWords(row).sort().join(" ")];
  return found === right ? undefined : ["words of the names", found, right];
}
