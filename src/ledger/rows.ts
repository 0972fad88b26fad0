import type { CurrencyCode } from "../core/currency.ts";
import type { Entry } from "../core/journal.ts";
import { type Decimal, formatDecimal, type Money, parseDecimal } from "../core/money.ts";
import type { Pesel } from "../core/pesel.ts";
import type { Rate, RateTable } from "../core/rates.ts";
import type { SealedEntry, StoredAccount } from "./store.ts";

/** A row of the table `account`; in SQLite, with what its newest entry says. Amounts are minor units, below 10^15 and so exact as numbers. */
export interface AccountRow {
  readonly pesel: string;
  readonly name: string;
  readonly surname: string;
  readonly balances: string;
  readonly sequence: number;
  readonly hash: string;
  /** The position of its newest entry, in a store that links entries. */
  readonly newest?: number;
}

/** A row of the table `journal`. An opening "buys" its initial balance and sells nothing. */
export interface JournalRow {
  /** Where the entry stands in the order of commits, and the account's entry before it, in a store that links them. */
  readonly position?: number;
  readonly previous?: number | null;
  readonly pesel: string;
  readonly sequence: number;
  readonly id: string;
  readonly time: number;
  readonly key: string | null;
  readonly kind: string;
  readonly name: string | null;
  readonly surname: string | null;
  readonly side: string | null;
  readonly sold_currency: string | null;
  readonly sold: number | null;
  readonly bought_currency: string;
  readonly bought: number;
  readonly bid: string | null;
  readonly ask: string | null;
  readonly table_number: string | null;
  readonly effective_date: string | null;
  readonly balances: string;
  readonly hash: string;
}

/** The columns of `journal` that every store has, in the order in which `encodeEntry` gives them. */
export const journalColumns = [
  "pesel",
  "sequence",
  "id",
  "time",
  "key",
  "kind",
  "name",
  "surname",
  "side",
  "sold_currency",
  "sold",
  "bought_currency",
  "bought",
  "bid",
  "ask",
  "table_number",
  "effective_date",
  "balances",
  "hash",
] as const satisfies readonly (keyof JournalRow)[];

type JournalColumn = (typeof journalColumns)[number];

/** A row of the table `rate_table`. */
export interface RateTableRow {
  readonly number: string;
  readonly trading_date: string;
  readonly effective_date: string;
  readonly rates: string;
}

/** Balances as JSON text, `{"PLN":90000,"USD":1000}`: minor units by currency, in the order of the account. */
export function encodeBalances(balances: readonly Money[]): string {
  return `{${balances.map(({ currency, minor }) => `"${currency}":${minor}`).join(",")}}`;
}

export function decodeBalances(text: string): Money[] {
  return Object.entries(JSON.parse(text) as Record<string, number>).map(([currency, minor]) => ({
    currency: currency as CurrencyCode,
    minor: BigInt(minor),
  }));
}

export function encodeAccount(account: StoredAccount): AccountRow {
  const { pesel, name, surname, balances, sequence, hash } = account;
  return { pesel, name, surname, balances: encodeBalances(balances), sequence, hash };
}

export function decodeAccount(row: AccountRow): StoredAccount {
  const { name, surname, sequence, hash } = row;
  return { pesel: row.pesel as Pesel, name, surname, balances: decodeBalances(row.balances), sequence, hash };
}

export function encodeEntry({ entry, hash }: SealedEntry): Record<JournalColumn, string | number | null> {
  const { pesel, sequence, id, kind } = entry;
  const exchange = entry.kind === "exchange" ? entry : undefined;
  const opening = entry.kind === "opening" ? entry : undefined;
  const bought = entry.kind === "exchange" ? entry.bought : entry.initial;
  return {
    pesel: Number(pesel),
    sequence,
    id,
    time: entry.time.getTime(),
    key: entry.key ?? null,
    kind,
    name: opening?.name ?? null,
    surname: opening?.surname ?? null,
    side: exchange?.side ?? null,
    sold_currency: exchange?.sold.currency ?? null,
    sold: exchange === undefined ? null : Number(exchange.sold.minor),
    bought_currency: bought.currency,
    bought: Number(bought.minor),
    bid: exchange?.bid === undefined ? null : formatDecimal(exchange.bid),
    ask: exchange?.ask === undefined ? null : formatDecimal(exchange.ask),
    table_number: exchange?.table ?? null,
    effective_date: exchange?.effectiveDate ?? null,
    balances: encodeBalances(entry.balances),
    hash,
  };
}

export function decodeEntry(row: JournalRow): SealedEntry {
  const head = {
    id: row.id,
    pesel: row.pesel as Pesel,
    sequence: row.sequence,
    time: new Date(row.time),
    key: row.key ?? undefined,
    balances: decodeBalances(row.balances),
  };
  const bought = money(row.bought_currency, row.bought);
  const entry: Entry =
    row.kind === "opening"
      ? { kind: "opening", ...head, name: row.name ?? "", surname: row.surname ?? "", initial: bought }
      : {
          kind: "exchange",
          ...head,
          side: row.side === "toBuy" ? "toBuy" : "toSell",
          sold: money(row.sold_currency ?? "", row.sold ?? 0),
          bought,
          bid: decodeDecimal(row.bid),
          ask: decodeDecimal(row.ask),
          table: row.table_number ?? "",
          effectiveDate: row.effective_date ?? "",
        };
  return { entry, hash: row.hash };
}

export function encodeTable(table: RateTable): RateTableRow {
  return {
    number: table.number,
    trading_date: table.tradingDate,
    effective_date: table.effectiveDate,
    rates: JSON.stringify(
      [...table.rates.values()].map(({ currency, name, bid, ask }) => [
        currency,
        name,
        formatDecimal(bid),
        formatDecimal(ask),
      ]),
    ),
  };
}

export function decodeTable(row: RateTableRow): RateTable {
  const rates = JSON.parse(row.rates) as [string, string, string, string][];
  return {
    number: row.number,
    tradingDate: row.trading_date,
    effectiveDate: row.effective_date,
    rates: new Map(
      rates.map(([code, name, bid, ask]): [CurrencyCode, Rate] => {
        const currency = code as CurrencyCode;
        return [currency, { currency, name, bid: requireDecimal(bid), ask: requireDecimal(ask) }];
      }),
    ),
  };
}

function money(currency: string, minor: number): Money {
  return { currency: currency as CurrencyCode, minor: BigInt(minor) };
}

function decodeDecimal(text: string | null): Decimal | undefined {
  return text === null ? undefined : requireDecimal(text);
}

function requireDecimal(text: string): Decimal {
  const decimal = parseDecimal(text);
  if (decimal === undefined) throw new RangeError(`${JSON.stringify(text)} in the store is not a decimal`);
  return decimal;
}

/** A row as the database gives it: a PESEL is a number there, without the zeros before it. */
export function accountRow(row: object): AccountRow {
  return withPesel(row as AccountRow);
}

/** A row as the database gives it, like `accountRow`. */
export function journalRow(row: object): JournalRow {
  return withPesel(row as JournalRow);
}

function withPesel<Row extends { readonly pesel: string }>(row: Row): Row {
  return { ...row, pesel: row.pesel.toString().padStart(11, "0") };
}

/** The largest number of 11 digits that does not sort after `text` as text, where PESELs are compared as texts. */
export function lastUpTo(text: string): number {
  const [digits = ""] = /^\d{0,11}/.exec(text) ?? [];
  if (digits.length === 11) return Number(digits);
  return (text[digits.length] ?? "") > "9"
    ? Number(digits.padEnd(11, "9"))
    : Number(digits.padEnd(11, "0")) - 1;
}
