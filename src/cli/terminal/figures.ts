import type { Account } from "../../core/account.ts";
import type { CurrencyCode } from "../../core/currency.ts";
import { formatDecimal } from "../../core/decimal.ts";
import type { Exchange, Quote } from "../../core/exchange.ts";
import type { Entry, Receipt } from "../../core/journal.ts";
import { maskPesels } from "../../core/mask.ts";
import type { Rate } from "../../core/rates.ts";
import type { RatesInForce } from "../../core/service.ts";
import { amountText, type Column, moneyText, type Pairs, rateText, timeText } from "./output.ts";
import type { Screen } from "./terminal.ts";

export function accountPairs(screen: Screen, account: Account): Pairs {
  return [
    ["holder", `${account.name} ${account.surname}`],
    ["pesel", maskPesels(account.pesel)],
    ...balancePairs(screen, account),
  ];
}

/** Each currency held, the amounts right-aligned at a terminal. */
export function balancePairs(screen: Screen, { balances }: Pick<Account, "balances">): Pairs {
  const amounts = balances.map((balance) => amountText(screen, balance));
  const widest = screen.rich ? Math.max(0, ...amounts.map(({ length }) => length)) : 0;
  return balances.map(({ currency }, index) => [currency, (amounts[index] ?? "").padStart(widest)]);
}

export function exchangePairs(screen: Screen, exchange: Exchange): Pairs {
  const { sold, bought, bid, ask, table, effectiveDate } = exchange;
  return [
    ["sold", moneyText(screen, sold)],
    ["bought", moneyText(screen, bought)],
    ...(bid === undefined ? [] : [["bid", `${rateText(screen, bid)} PLN for 1 ${sold.currency}`] as const]),
    ...(ask === undefined ? [] : [["ask", `${rateText(screen, ask)} PLN for 1 ${bought.currency}`] as const]),
    ["table", `${table} of ${effectiveDate}`],
  ];
}

export function quotePairs(screen: Screen, quote: Quote): Pairs {
  return [...exchangePairs(screen, quote), ["source", quote.source]];
}

export function receiptPairs(screen: Screen, receipt: Receipt): Pairs {
  const { id, kind, time, pesel, key, holder, note, debited, credited, exchange, reverses, reversedBy } =
    receipt;
  return [
    ["receipt", id],
    ["kind", kind],
    ["time", timeText(screen, time)],
    ["pesel", maskPesels(pesel)],
    ...optional("holder", holder && `${holder.name} ${holder.surname}`),
    ...(kind === "exchange" && exchange !== undefined
      ? exchangePairs(screen, exchange)
      : [
          ...optional("out", debited && moneyText(screen, debited)),
          ...optional("in", credited && moneyText(screen, credited)),
          ...optional("table", exchange && `${exchange.table} of ${exchange.effectiveDate}`),
        ]),
    ...optional(kind === "reversal" ? "reason" : "note", note),
    ...optional("reverses", reverses),
    ...optional("reversed by", reversedBy),
    ...optional("key", key && maskPesels(key)),
  ];
}

function optional(name: string, value: string | undefined): Pairs {
  return value === undefined ? [] : [[name, value]];
}

export const accountColumns: readonly Column[] = [
  { title: "PESEL" },
  { title: "Name" },
  { title: "Surname" },
  { title: "Balances", wraps: true },
];

export function accountCells(screen: Screen, account: Account): string[] {
  const { pesel, name, surname } = account;
  return [maskPesels(pesel), name, surname, balancesText(screen, account)];
}

/** The holder and the balances in a line. */
export function accountText(screen: Screen, account: Account): string {
  return `${account.name} ${account.surname}, ${balancesText(screen, account)}`;
}

export function balancesText(screen: Screen, { balances }: Pick<Account, "balances">): string {
  return balances.map((balance) => moneyText(screen, balance)).join(", ");
}

export const entryColumns: readonly Column[] = [
  { title: "#", align: "right" },
  { title: "Time" },
  { title: "Kind" },
  { title: "Out", align: "right" },
  { title: "In", align: "right" },
  { title: "Table", optional: true },
  { title: "Receipt", optional: true },
];

export function entryCells(screen: Screen, entry: Entry): string[] {
  const { id, kind, sequence, time, debited, credited, exchange } = entry;
  const [out, came] = [debited, credited].map((money) =>
    money === undefined ? "" : moneyText(screen, money),
  );
  return [String(sequence), timeText(screen, time), kind, out ?? "", came ?? "", exchange?.table ?? "", id];
}

export const rateColumns: readonly Column[] = [
  { title: "Code" },
  { title: "Bid", align: "right" },
  { title: "Ask", align: "right" },
  { title: "Change", align: "right" },
  { title: "Table", pipeOnly: true },
  { title: "Effective", pipeOnly: true },
  { title: "Trend", optional: true, terminalOnly: true },
  { title: "Currency", optional: true },
];

export function rateRows(
  screen: Screen,
  { table, previous }: RatesInForce,
  trends: ReadonlyMap<CurrencyCode, string>,
): string[][] {
  return [...table.rates.values()].map((rate) => {
    const before = previous?.rates.get(rate.currency);
    const change = before === undefined ? "" : changeText(screen, middle(before), middle(rate));
    const figures = [rateText(screen, rate.bid), rateText(screen, rate.ask), change];
    const trend = trends.get(rate.currency) ?? "";
    return [rate.currency, ...figures, table.number, table.effectiveDate, trend, rate.name];
  });
}

/** "Table 108/C/NBP/2026 of 2026-06-08, source: nbp". */
export function tableText({ table, recorded }: RatesInForce): string {
  return `Table ${table.number} of ${table.effectiveDate}, source: ${table.source}${recorded ? " (recorded)" : ""}`;
}

/** How much a rate has moved, in per cent, with a sign for when there is no colour. */
export function changeText({ rich, paint }: Screen, before: number, after: number): string {
  const hundredths = Math.round((after / before - 1) * 10_000);
  const text = `${hundredths > 0 ? "+" : ""}${(hundredths / 100).toFixed(2)}`;
  if (!rich) return text;
  return (hundredths > 0 ? paint.green : hundredths < 0 ? paint.red : paint.dim)(`${text} %`);
}

/** Between bid and ask, for the eye: not exact. */
export function middle({ bid, ask }: Pick<Rate, "bid" | "ask">): number {
  return (Number(formatDecimal(bid)) + Number(formatDecimal(ask))) / 2;
}
