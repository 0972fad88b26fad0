import { csvCell } from "../core/csv.ts";
import { pln } from "../core/currency.ts";
import { endOfTime, warsawTime } from "../core/date.ts";
import { type Decimal, formatDecimal, powerOfTen } from "../core/decimal.ts";
import type { Exchange } from "../core/exchange.ts";
import type { Entry } from "../core/journal.ts";
import { decimalOfMoney, knownDigits, type Money } from "../core/money.ts";
import type { ExportRequest } from "../core/service.ts";
import { visible } from "../core/visible.ts";
import { type Pause, readEntries } from "./journal-reader.ts";
import type { Store } from "./store.ts";

const headings = [
  ...["Lp.", "Data", "Godzina", "Rodzaj", "Waluta", "Ilość", "Kurs", "Wartość w PLN", "Tabela kursów"],
  ...["Dowód", "Storno dowodu"],
];
/** Personal data, in a full export only. */
const privateHeadings = ["PESEL", "Imię", "Nazwisko", "Wykonał", "Klucz", "Uwagi"];

/**
 * The register of purchases and sales of foreign currency that a Polish exchange office keeps: CSV as Excel in Poland
 * opens it, in the order of commits. Lines are numbered through each year of Warsaw's calendar, also those outside of the
 * period, which may stand between its own: so a line has the same number in every export.
 * @throws DamagedLedger if an entry is missing or was changed
 */
export async function* exportRegister(
  store: Store,
  { full, from = "", to = endOfTime, at }: ExportRequest,
  pause?: Pause,
): AsyncGenerator<string> {
  const columns = full ? [...headings, ...privateHeadings] : headings;
  const numbers = new Map<string, number>();
  let count = 0;
  yield `\ufeff${line(columns)}`;
  for await (const entries of readEntries(store, undefined, pause)) {
    let text = "";
    for (const { entry } of entries) {
      const [date = "", clock = ""] = warsawTime(entry.time).split(" ");
      const isWithin = date >= from && date <= to && (at === undefined || entry.time <= at);
      const year = date.slice(0, 4);
      for (const cells of lineCells(entry)) {
        const number = (numbers.get(year) ?? 0) + 1;
        numbers.set(year, number);
        if (!isWithin) continue;
        text += line([String(number), date, clock, ...cells, ...(full ? privateCells(entry) : [])]);
        count += 1;
      }
    }
    yield text;
  }
  yield line([`koniec ewidencji: ${count}`, ...columns.slice(1).map(() => "")]);
}

function line(cells: readonly string[]): string {
  return `${cells.join(";")}\r\n`;
}

/**
 * The cells of each line of an entry, from "Rodzaj" on. Only exchanges, and reversals of them, have lines. Customers who
 * exchange foreign currencies sell one and buy one.
 */
function lineCells({ id, kind, exchange, reverses = "" }: Entry): string[][] {
  if (exchange === undefined) return [];
  const { sold, bought, bid, ask, table } = exchange;
  const isUndone = kind === "reversal";
  const [purchase, sale] = isUndone ? ["storno kupna", "storno sprzedaży"] : ["kupno", "sprzedaż"];
  const sign = isUndone ? -1n : 1n;
  const value = plnValue(exchange);
  const cells = (name: string, money: Money, rate: Decimal | undefined) => {
    if (rate === undefined) return [];
    const amounts = [amount(money, sign), decimal(rate, 4), amount(value, sign)];
    return [[name, money.currency, ...amounts, csvCell(table, ";"), id, reverses]];
  };
  return [...cells(purchase, sold, bid), ...cells(sale, bought, ask)];
}

/** The side in PLN; between two foreign currencies the value of the sold one, rounded down as if it were paid out. */
function plnValue({ sold, bought, bid }: Exchange): Money {
  if (sold.currency === pln) return sold;
  if (bought.currency === pln || bid === undefined) return bought;
  const grosze = sold.minor * bid.coefficient * powerOfTen(knownDigits(pln));
  return { currency: pln, minor: grosze / powerOfTen(bid.scale + knownDigits(sold.currency)) };
}

function amount(money: Money, sign: bigint): string {
  const { coefficient, scale } = decimalOfMoney(money);
  return decimal({ coefficient: sign * coefficient, scale }, scale);
}

function decimal(value: Decimal, places: number): string {
  return formatDecimal(value, places).replace(".", ",");
}

function privateCells({ pesel, holder, by = "", key = "", note = "" }: Entry): string[] {
  return [pesel, holder.name, holder.surname, by, key, note].map((text) => csvCell(visible(text), ";"));
}
