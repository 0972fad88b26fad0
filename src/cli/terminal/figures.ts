import type { Account } from "../../core/account.ts";
import type { CurrencyCode } from "../../core/currency.ts";
import { formatDecimal } from "../../core/decimal.ts";
import type { Exchange, Quote } from "../../core/exchange.ts";
import type { Entry, Receipt } from "../../core/journal.ts";
import { maskPesels } from "../../core/mask.ts";
import type { LatestTable, Rate } from "../../core/rates.ts";
import { amountText, type Cell, type Column, moneyText, type Pairs, rateText, timeText } from "./output.ts";
import type { Screen } from "./terminal.ts";

export function accountPairs(screen: Screen, account: Account): Pairs {
  return [...holderPairs(account), ...accountState(screen, account)];
}

export function holderPairs({ name, surname, pesel }: Account): Pairs {
  return [
    ["holder", `${name} ${surname}`],
    ["pesel", maskPesels(pesel)],
  ];
}

/** Whether it is closed, and each currency held, the amounts right-aligned at a terminal. */
export function accountState(screen: Screen, { balances, closed }: Account): Pairs {
  const amounts = balances.map((balance) => amountText(screen, balance));
  const widest = screen.rich ? Math.max(0, ...amounts.map(({ length }) => length)) : 0;
  return [
    ...optional("account", closed ? "closed" : undefined),
    ...balances.map(({ currency }, index) => [currency, (amounts[index] ?? "").padStart(widest)] as const),
  ];
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
  const { id, kind, time, pesel, key, by, reversedBy } = receipt;
  return [
    ["receipt", id],
    ["kind", kind],
    ["time", timeText(screen, time)],
    ["pesel", maskPesels(pesel)],
    ...factPairs(screen, receipt),
    ...optional("reversed by", reversedBy),
    ...optional("key", key && maskPesels(key)),
    ...optional("by", by),
  ];
}

/** What an entry says beside what all of them say. */
export function factPairs(
  screen: Screen,
  { kind, holder, note, debited, credited, exchange, reverses }: Pick<Entry, "kind"> & Partial<Entry>,
): Pairs {
  if (kind === "exchange" && exchange !== undefined) return exchangePairs(screen, exchange);
  return [
    ...optional(kind === "renaming" ? "new name" : "holder", holder && `${holder.name} ${holder.surname}`),
    ...optional("out", debited && moneyText(screen, debited)),
    ...optional("in", credited && moneyText(screen, credited)),
    ...optional("table", exchange && `${exchange.table} of ${exchange.effectiveDate}`),
    ...optional(kind === "reversal" ? "reason" : "note", note),
    ...optional("reverses", reverses),
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

export function balancesText(
  screen: Screen,
  { balances, closed }: Pick<Account, "balances" | "closed">,
): string {
  if (closed) return "closed";
  return balances.map((balance) => moneyText(screen, balance)).join(", ");
}

export const entryColumns: readonly Column[] = [
  { title: "#", align: "right" },
  { title: "Time" },
  { title: "Kind" },
  { title: "Out", align: "right" },
  { title: "In", align: "right" },
  { title: "Receipt", optional: true },
  { title: "Table", optional: true },
  { title: "By", optional: true, sparse: true },
];

/** Of an id: its time, which at a terminal is enough to find a receipt by. */
const shortId = 13;

export function entryCells(screen: Screen, entry: Entry): string[] {
  const { id, kind, sequence, time, debited, credited, exchange, by = "" } = entry;
  const [out, came] = [debited, credited].map((money) =>
    money === undefined ? "" : moneyText(screen, money),
  );
  const receipt = screen.rich ? id.slice(0, shortId) : id;
  const table = exchange?.table ?? "";
  return [String(sequence), timeText(screen, time), kind, out ?? "", came ?? "", receipt, table, by];
}

export const rateColumns: readonly Column[] = [
  { title: "Code" },
  { title: "Bid", align: "right" },
  { title: "Ask", align: "right" },
  { title: "Change", align: "right" },
  { title: "Table", pipeOnly: true },
  { title: "Effective", pipeOnly: true },
  { title: "Trend", optional: true, terminalOnly: true, sparse: true },
  { title: "Currency", optional: true },
];

export function rateRows(
  screen: Screen,
  { table, previous }: LatestTable,
  trends: ReadonlyMap<CurrencyCode, string>,
): Cell[][] {
  return [...table.rates.values()].map((rate) => {
    const before = previous?.rates.get(rate.currency);
    const change = before === undefined ? "" : changeText(screen, middle(before), middle(rate));
    const figures = [rateText(screen, rate.bid), rateText(screen, rate.ask), change];
    const trend = trends.get(rate.currency) ?? "";
    return [rate.currency, ...figures, table.number, table.effectiveDate, trend, rate.name];
  });
}

/** "Table 108/C/NBP/2026 of 2026-06-08, source: nbp". */
export function tableText({ table, recorded }: LatestTable): string {
  return `Table ${table.number} of ${table.effectiveDate}, source: ${table.source}${recorded ? " (recorded)" : ""}`;
}

/** How much a rate has moved, in per cent, with a sign for when there is no colour. */
export function changeText({ rich, paint }: Screen, before: number, after: number): Cell {
  const hundredths = Math.round((after / before - 1) * 10_000);
  const text = `${hundredths > 0 ? "+" : ""}${(hundredths / 100).toFixed(2)}`;
  if (!rich) return text;
  return { text: `${text} %`, paint: hundredths > 0 ? paint.green : hundredths < 0 ? paint.red : paint.dim };
}

/** Between bid and ask, for the eye: not exact. */
export function middle({ bid, ask }: Pick<Rate, "bid" | "ask">): number {
  return (Number(formatDecimal(bid)) + Number(formatDecimal(ask))) / 2;
}
