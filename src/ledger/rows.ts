import type { CurrencyCode } from "../core/currency.ts";
import { FxError } from "../core/errors.ts";
import { balancesOf, balancesText, parseEntry } from "../core/journal.ts";
import { formatDecimal, requireDecimal } from "../core/money.ts";
import type { Pesel } from "../core/pesel.ts";
import type { Rate, RateTable } from "../core/rates.ts";
import type { SealedEntry, StoredAccount } from "./store.ts";

/** A row of the table `account`; in SQLite, with what its newest entry says. */
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

/** A row of the table `journal`: what the entry is found by, the text of it, and its hash. */
export interface JournalRow {
  /** Where the entry stands in the order of commits, and the account's entry before it, in a store that links them. */
  readonly position?: number;
  readonly previous?: number | null;
  /** In a store that has an index of ids. */
  readonly id?: string;
  readonly pesel: string;
  readonly sequence: number;
  readonly key: string | null;
  readonly entry: string;
  readonly hash: string;
}

/** A row of the table `rate_table`. */
export interface RateTableRow {
  readonly number: string;
  readonly trading_date: string;
  readonly effective_date: string;
  readonly rates: string;
}

export function encodeAccount(account: StoredAccount): AccountRow {
  const { pesel, name, surname, balances, sequence, hash } = account;
  return { pesel, name, surname, balances: balancesText(balances), sequence, hash };
}

/** Takes a row as the database gives it, too: see `accountRow`. */
export function decodeAccount(row: AccountRow): StoredAccount {
  const { name, surname, sequence, hash } = row;
  return {
    pesel: peselText(row.pesel) as Pesel,
    name,
    surname,
    balances: balancesOf(JSON.parse(row.balances)),
    sequence,
    hash,
  };
}

/**
 * @throws FxError internal if the row does not hold an entry
 */
export function decodeEntry({ entry: text, hash }: Pick<JournalRow, "entry" | "hash">): SealedEntry {
  try {
    return { entry: parseEntry(text), text, hash };
  } catch (cause) {
    throw new FxError("internal", "An entry of the journal cannot be read. Run fx audit.", { cause });
  }
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

/** A row as the database gives it: a PESEL is a number there, without the zeros before it. */
export function accountRow(row: object): AccountRow {
  return withPesel(row as AccountRow);
}

/** A row as the database gives it, like `accountRow`. */
export function journalRow(row: object): JournalRow {
  return withPesel(row as JournalRow);
}

function withPesel<Row extends { readonly pesel: string }>(row: Row): Row {
  return { ...row, pesel: peselText(row.pesel) };
}

function peselText(pesel: string | number): string {
  return pesel.toString().padStart(11, "0");
}

/** The largest number of 11 digits that does not sort after `text` as text, where PESELs are compared as texts. */
export function lastUpTo(text: string): number {
  const [digits = ""] = /^\d{0,11}/.exec(text) ?? [];
  if (digits.length === 11) return Number(digits);
  return (text[digits.length] ?? "") > "9"
    ? Number(digits.padEnd(11, "9"))
    : Number(digits.padEnd(11, "0")) - 1;
}
