import { type CurrencyCode, pln } from "../core/currency.ts";
import type { CalendarDate } from "../core/date.ts";
import { type Decimal, formatDecimal } from "../core/decimal.ts";
import { housePlaceOf } from "../core/house.ts";
import { type Entry, namesHolder } from "../core/journal.ts";
import { decimalOfMoney, knownDigits, type Money } from "../core/money.ts";

/** An entry as double entry: its facts by name, and postings that add up to 0 in each currency. */
export interface Booking {
  readonly facts: Readonly<Partial<Record<Fact | PrivateFact, string | undefined>>>;
  readonly postings: readonly Posting[];
}

interface Posting {
  readonly account: string;
  /** The amount in units of the currency, with at least all of its decimals. */
  readonly amount: string;
  readonly currency: CurrencyCode;
}

export const factNames = ["id", "time", "date", "kind", "customer", "table", "reverses"] as const;
/** Facts of a full export only. */
export const privateFactNames = ["pesel", "key", "by", "name", "surname", "note"] as const;

type Fact = (typeof factNames)[number];
type PrivateFact = (typeof privateFactNames)[number];

const cash = "Assets:Cash";
const bank = "Assets:Bank";
const owner = "Equity:Owner";
const house = "Equity:House";
const spreadEquity = "Equity:Spread";
const spreadIncome = "Income:Spread";
/** Each customer has one more. */
export const houseAccounts = [cash, bank, owner, house, spreadEquity, spreadIncome] as const;

export function customerAccount(customer: string): string {
  return `Liabilities:Customers:${customer}`;
}

/**
 * @param customer the id; undefined for an entry of the house
 * @param spread in PLN, which an exchange earned or its reversal gave back
 * @param full whether private facts are included
 */
export function bookingOf(
  entry: Entry,
  {
    date,
    customer,
    spread,
    full,
  }: { date: CalendarDate; customer: string | undefined; spread: Decimal | undefined; full: boolean },
): Booking {
  const { id, time, kind, exchange, reverses, pesel, key, by, holder, note, debited, credited } = entry;
  const known = { id, time: time.toISOString(), date, kind, customer, table: exchange?.table, reverses };
  const names = namesHolder(kind) ? holder : {};
  const person = customer === undefined ? {} : { pesel, ...names };
  const own = full ? { ...person, key, by, note } : {};
  const account = customer === undefined ? owner : customerAccount(customer);
  // Exchanged money stays in the house: only its owner changes.
  const other = housePlaceOf(pesel) === "bank" ? bank : exchange === undefined ? cash : house;
  return {
    facts: { ...known, ...own },
    postings: [
      ...(debited === undefined ? [] : moved(debited, other, account)),
      ...(credited === undefined ? [] : moved(credited, account, other)),
      ...(spread === undefined ? [] : spreadPostings(spread)),
    ],
  };
}

/** The closing entry that rounds the spread of the export to whole grosze. */
export function roundingBooking(date: CalendarDate, lost: Decimal): Booking {
  const { coefficient, scale } = lost;
  return {
    facts: { date, kind: "rounding" },
    postings: spreadPostings({ coefficient: -coefficient, scale }),
  };
}

/**
 * The spread is a pair of its own, and not taken out of `Equity:House`: the house has what it earned in the currencies
 * of the exchange, and their value changes.
 */
function spreadPostings(spread: Decimal): Posting[] {
  return pair({ currency: pln, amount: spread }, spreadIncome, spreadEquity);
}

function moved(money: Money, from: string, to: string): Posting[] {
  return pair({ currency: money.currency, amount: decimalOfMoney(money) }, from, to);
}

function pair(
  { currency, amount: { coefficient, scale } }: { currency: CurrencyCode; amount: Decimal },
  from: string,
  to: string,
): Posting[] {
  const text = (signed: bigint) => formatDecimal({ coefficient: signed, scale }, knownDigits(currency));
  return [
    { account: to, amount: text(coefficient), currency },
    { account: from, amount: text(-coefficient), currency },
  ];
}
