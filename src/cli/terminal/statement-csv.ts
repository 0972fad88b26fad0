import { formatDecimal } from "../../core/decimal.ts";
import type { Receipt } from "../../core/journal.ts";
import { decimalOfMoney, knownDigits, type Money } from "../../core/money.ts";

const inWarsaw = new Intl.DateTimeFormat("sv-SE", {
  timeZone: "Europe/Warsaw",
  dateStyle: "short",
  timeStyle: "medium",
});

/** A statement for accountants: amounts and rates exact, the balances those after the entry. */
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
  "Reversed by",
  "Key",
  "By",
];

export function statementCells(entry: Receipt): string[] {
  const { sequence, time, kind, debited, credited, exchange, balances } = entry;
  const { note = "", id, reverses = "", reversedBy = "", key = "", by = "" } = entry;
  const [date = "", clock = ""] = inWarsaw.format(time).split(" ");
  return [
    ...[String(sequence), date, clock, kind],
    ...moneyCells(debited, balances),
    ...moneyCells(credited, balances),
    ...[exchange?.bid, exchange?.ask].map((rate) => (rate === undefined ? "" : formatDecimal(rate))),
    ...[exchange?.table ?? "", note, id, reverses, reversedBy, key, by],
  ];
}

/** The amount, the currency, and the balance in it. */
function moneyCells(moved: Money | undefined, balances: readonly Money[]): string[] {
  if (moved === undefined) return ["", "", ""];
  const { currency } = moved;
  const balance = balances.find((each) => each.currency === currency) ?? { currency, minor: 0n };
  const [amount = "", left = ""] = [moved, balance].map((money) =>
    formatDecimal(decimalOfMoney(money), knownDigits(currency)),
  );
  return [amount, currency, left];
}
