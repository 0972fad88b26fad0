import { csvCell } from "../core/csv.ts";
import type { CurrencyCode } from "../core/currency.ts";
import { warsawTime } from "../core/date.ts";
import { formatDecimal, requireDecimal } from "../core/decimal.ts";
import { knownDigits } from "../core/money.ts";
import { visible } from "../core/visible.ts";
import type { EntryJson } from "./entries.ts";
import type { MoneyJson } from "./fields.ts";

/**
 * A customer's statement for accountants: amounts and rates exact, the balances those after the entry. Without the reasons
 * of blocks, which the law can forbid to tell the customer.
 */
export const statementHeadings: readonly string[] = [
  "Entry",
  "Date",
  "Time",
  "Kind",
  "Out",
  "Out currency",
  "Out balance",
  "In",
  "In currency",
  "In balance",
  "Bid",
  "Ask",
  "Table",
  "Note",
  "Receipt",
  "Reverses",
  "Reversed by receipt",
  "Key",
  "By",
];

export function statementCells(entry: EntryJson): string[] {
  const { sequence, time, kind, id, key, by, currencies } = entry;
  const moved = movedBy(entry);
  const exchange = kind === "exchange" ? entry : kind === "reversal" ? entry.exchange : null;
  const note = isOfBlock(entry) ? null : noteOf(entry);
  const [date = "", clock = ""] = warsawTime(new Date(time)).split(" ");
  return [
    ...[String(sequence), date, clock, kind],
    ...moneyCells(moved.out, currencies),
    ...moneyCells(moved.in, currencies),
    ...[exchange?.bid, exchange?.ask].map((rate) => (rate == null ? "" : decimalText(rate))),
    ...[exchange?.table ?? "", note ?? "", id, kind === "reversal" ? entry.reverses : ""],
    ...["reversedBy" in entry ? (entry.reversedBy ?? "") : "", key ?? "", by ?? ""],
  ];
}

/** The facts that entries of some kinds have. */
interface Facts extends Pick<EntryJson, "kind"> {
  readonly note?: string | null;
  readonly reason?: string;
  readonly initial?: MoneyJson;
  readonly sold?: MoneyJson;
  readonly bought?: MoneyJson;
  readonly debited?: MoneyJson | null;
  readonly credited?: MoneyJson | null;
}

/** The note or the reason that was given with an entry. */
export function noteOf({ note, reason }: Facts): string | null {
  return note ?? reason ?? null;
}

/** Whether an entry's reason is for the office, and not for the customer's papers. */
export function isOfBlock({ kind }: Facts): boolean {
  return kind === "block" || kind === "unblock";
}

/** The money that an entry took out of the account, and the money that it put in. */
export function movedBy({ initial, sold, bought, debited, credited }: Facts) {
  return { out: debited ?? sold, in: credited ?? bought ?? initial };
}

/** The amount, the currency, and the balance in it. */
function moneyCells(moved: MoneyJson | undefined, balances: readonly MoneyJson[]): string[] {
  if (moved === undefined) return ["", "", ""];
  const { symbol } = moved;
  const digits = knownDigits(symbol as CurrencyCode);
  const left = balances.find((each) => each.symbol === symbol)?.amount ?? 0;
  return [decimalText(moved.amount, digits), symbol, decimalText(left, digits)];
}

function decimalText(value: number, digits = 0): string {
  return formatDecimal(requireDecimal(String(value)), digits);
}

/** A line of CSV as in RFC 4180, with its line end. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => csvCell(visible(cell))).join(",")}\r\n`;
}
