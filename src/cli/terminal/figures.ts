import type { Account, ListedAccount } from "../../core/account.ts";
import type { CurrencyCode } from "../../core/currency.ts";
import { warsawTime } from "../../core/date.ts";
import { formatDecimal } from "../../core/decimal.ts";
import type { Exchange, Quote } from "../../core/exchange.ts";
import { housePlaceOf } from "../../core/house.ts";
import type { Entry, Receipt } from "../../core/journal.ts";
import { maskPesels } from "../../core/mask.ts";
import type { LatestTable, Rate } from "../../core/rates.ts";
import { amountText, type Cell, type Column, moneyText, type Pairs, rateText, timeText } from "./output.ts";
import type { Screen } from "./terminal.ts";

export function accountPairs(screen: Screen, account: Account): Pairs {
  return [...holderPairs(account), ...accountState(screen, account)];
}

export function holderPairs({ name, surname, pesel }: Pick<Account, "name" | "surname" | "pesel">): Pairs {
  const place = housePlaceOf(pesel);
  if (place !== undefined) return [["house", place]];
  return [
    ["holder", `${name} ${surname}`],
    ["pesel", maskPesels(pesel)],
  ];
}

/** Whether it is closed or blocked, and each currency held, the amounts right-aligned at a terminal. */
export function accountState(screen: Screen, { balances, closed, blocked }: Account): Pairs {
  const amounts = balances.map((balance) => amountText(screen, balance));
  const widest = screen.rich ? Math.max(0, ...amounts.map(({ length }) => length)) : 0;
  return [
    ...optional("account", closed ? "closed" : blocked ? "blocked" : undefined),
    ...balances.map(({ currency }, index) => [currency, (amounts[index] ?? "").padStart(widest)] as const),
  ];
}

export function blockPairs(screen: Screen, block: Entry | undefined): Pairs {
  if (block === undefined) return [];
  return [
    ["blocked since", timeText(screen, block.time)],
    ...optional("reason", block.note),
    ...optional("by", block.by),
  ];
}

function exchangePairs(screen: Screen, exchange: Exchange): Pairs {
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
  const { id, kind, time, pesel, key, by, holder, reversedBy } = receipt;
  return [
    ["receipt", id],
    ["kind", kind],
    ["time", timeText(screen, time)],
    ...holderPairs({ pesel, ...holder }).toReversed(),
    ...factPairs(screen, receipt),
    ...optional("reversed by", reversedBy),
    ...optional("key", key && maskPesels(key)),
    ...optional("by", by),
  ];
}

/** The facts that depend on the kind of an entry, made or to be made. */
export type EntryFacts = Pick<Entry, "kind"> &
  Partial<Pick<Entry, "holder" | "note" | "debited" | "credited" | "exchange" | "reverses">>;

export function factPairs(
  screen: Screen,
  { kind, holder, note, debited, credited, exchange, reverses }: EntryFacts,
): Pairs {
  if (kind === "exchange") return exchange === undefined ? [] : exchangePairs(screen, exchange);
  return [
    ...optional("new name", kind === "renaming" && holder ? `${holder.name} ${holder.surname}` : undefined),
    ...optional("out", debited && moneyText(screen, debited)),
    ...optional("in", credited && moneyText(screen, credited)),
    ...optional("table", exchange && `${exchange.table} of ${exchange.effectiveDate}`),
    ...optional(kind === "deposit" || kind === "withdrawal" ? "note" : "reason", note),
    ...optional("reverses", reverses),
  ];
}

/** A pair, or none where there is no value. */
export function optional(name: string, value: string | undefined): Pairs {
  return value === undefined ? [] : [[name, value]];
}

export const accountColumns: readonly Column<ListedAccount>[] = [
  { title: "PESEL", cell: ({ pesel }) => maskPesels(pesel) },
  { title: "Name", cell: ({ name }) => name },
  { title: "Surname", cell: ({ surname }) => surname },
  { title: "Balances", wraps: true, cell: (account, screen) => balancesText(screen, account) },
];

export function accountLine(screen: Screen, account: Account): string {
  return `${account.name} ${account.surname}, ${balancesText(screen, account)}`;
}

export function balancesText(
  screen: Screen,
  { balances, closed, blocked, damaged }: Pick<ListedAccount, "balances" | "closed" | "blocked" | "damaged">,
): string {
  if (damaged) return "damaged: run fx audit";
  if (closed) return "closed";
  const held = balances.map((balance) => moneyText(screen, balance)).join(", ");
  return blocked ? `blocked: ${held}` : held;
}

/** Characters of a UUIDv7 that hold its time: enough to find a receipt. */
const shortId = 13;

export const entryColumns: readonly Column<Entry>[] = [
  { title: "#", align: "right", cell: ({ sequence }) => String(sequence) },
  { title: "Time (Warsaw)", cell: ({ time }, { rich }) => (rich ? warsawTime(time) : time.toISOString()) },
  { title: "Kind", cell: ({ kind }) => kind },
  {
    title: "Out",
    align: "right",
    cell: ({ debited }, screen) => (debited ? moneyText(screen, debited) : ""),
  },
  {
    title: "In",
    align: "right",
    cell: ({ credited }, screen) => (credited ? moneyText(screen, credited) : ""),
  },
  { title: "Receipt", optional: true, cell: ({ id }, { rich }) => (rich ? id.slice(0, shortId) : id) },
  { title: "Table", optional: true, cell: ({ exchange }) => exchange?.table ?? "" },
  { title: "By", optional: true, sparse: true, cell: ({ by = "" }) => by },
];

export function rateColumns(
  { table, previous }: LatestTable,
  trends: ReadonlyMap<CurrencyCode, string>,
): readonly Column<Rate>[] {
  const change = (rate: Rate, screen: Screen) => {
    const before = previous?.rates.get(rate.currency);
    return before === undefined ? "" : changeText(screen, midRate(before), midRate(rate));
  };
  return [
    { title: "Code", cell: ({ currency }) => currency },
    { title: "Bid", align: "right", cell: ({ bid }, screen) => rateText(screen, bid) },
    { title: "Ask", align: "right", cell: ({ ask }, screen) => rateText(screen, ask) },
    { title: "Change", align: "right", cell: change },
    { title: "Table", pipeOnly: true, cell: () => table.number },
    { title: "Effective", pipeOnly: true, cell: () => table.effectiveDate },
    {
      title: "Trend",
      optional: true,
      sparse: true,
      cell: ({ currency }) => trends.get(currency) ?? "",
    },
    { title: "Currency", optional: true, cell: ({ name }) => name },
  ];
}

/** "Table 108/C/NBP/2026 of 2026-06-08, source: nbp". */
export function tableLine({ table, recorded }: LatestTable): string {
  return `Table ${table.number} of ${table.effectiveDate}, source: ${table.source}${recorded ? " (recorded)" : ""}`;
}

/** The change in percent, signed so that it reads without colour. */
export function changeText({ rich, paint }: Screen, before: number, after: number): Cell {
  const hundredths = Math.round((after / before - 1) * 10_000);
  const text = `${hundredths > 0 ? "+" : ""}${(hundredths / 100).toFixed(2)}`;
  if (!rich) return text;
  return { text: `${text} %`, paint: hundredths > 0 ? paint.green : hundredths < 0 ? paint.red : paint.dim };
}

/** The mid rate, for display only: not exact. */
export function midRate({ bid, ask }: Pick<Rate, "bid" | "ask">): number {
  return (Number(formatDecimal(bid)) + Number(formatDecimal(ask))) / 2;
}
