import type { CurrencyCode } from "../core/currency.ts";
import { formatDecimal, requireDecimal } from "../core/decimal.ts";
import { knownDigits } from "../core/money.ts";
import type { EntryJson } from "./entry-schemas.ts";
import type { MoneyJson } from "./schemas.ts";

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

export function statementCells(entry: EntryJson): string[] {
  const { sequence, time, kind, id, key, by, currencies } = entry;
  const moved = movedBy(entry);
  const exchange = kind === "exchange" ? entry : kind === "reversal" ? entry.exchange : null;
  const note = kind === "reversal" ? entry.reason : "note" in entry ? entry.note : null;
  const [date = "", clock = ""] = inWarsaw.format(new Date(time)).split(" ");
  return [
    ...[String(sequence), date, clock, kind],
    ...moneyCells(moved.out, currencies),
    ...moneyCells(moved.in, currencies),
    ...[exchange?.bid, exchange?.ask].map((rate) => (rate == null ? "" : decimalText(rate))),
    ...[exchange?.table ?? "", note ?? "", id, kind === "reversal" ? entry.reverses : ""],
    ...["reversedBy" in entry ? (entry.reversedBy ?? "") : "", key ?? "", by ?? ""],
  ];
}

/** What left the account with an entry, and what came to it. */
export function movedBy(entry: EntryJson): { readonly out?: MoneyJson; readonly in?: MoneyJson } {
  switch (entry.kind) {
    case "opening":
      return { in: entry.initial };
    case "exchange":
      return { out: entry.sold, in: entry.bought };
    case "deposit":
      return { in: entry.credited };
    case "withdrawal":
      return { out: entry.debited };
    case "reversal":
      return {
        ...(entry.debited !== null && { out: entry.debited }),
        ...(entry.credited !== null && { in: entry.credited }),
      };
    case "renaming":
    case "closing":
      return {};
  }
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
