import type { Account, Opening } from "./account.ts";
import type { CurrencyCode } from "./currency.ts";
import { compareDecimals, type Decimal, formatDecimal, requireDecimal } from "./decimal.ts";
import type { Exchange, ExchangeOrder } from "./exchange.ts";
import { decimalOfMoney, type Money } from "./money.ts";
import type { Pesel } from "./pesel.ts";

interface EntryHead {
  /** A UUID, version 7. It is the receipt's, too. */
  readonly id: string;
  readonly pesel: Pesel;
  /** 1 for the opening, then one more for each entry of the account, without gaps. */
  readonly sequence: number;
  readonly time: Date;
  /** The idempotency key that the request carried. */
  readonly key: string | undefined;
  /** The whole account after the entry. */
  readonly balances: readonly Money[];
}

export interface OpeningEntry extends EntryHead {
  readonly kind: "opening";
  readonly name: string;
  readonly surname: string;
  readonly initial: Money;
}

export interface ExchangeEntry extends EntryHead, Exchange {
  readonly kind: "exchange";
}

/** One line of the append-only journal. */
export type Entry = OpeningEntry | ExchangeEntry;

/** An entry as JSON has it: money as "1230 PLN" in minor units, the time in milliseconds since 1970. */
type EntryJson = Pick<Entry, "id" | "pesel" | "sequence"> & {
  readonly time: number;
  readonly key: string | null;
  readonly balances: Record<string, number>;
} & (
    | (Pick<OpeningEntry, "kind" | "name" | "surname"> & { readonly initial: string })
    | (Pick<ExchangeEntry, "kind" | "side" | "table" | "effectiveDate"> & {
        readonly sold: string;
        readonly bought: string;
        readonly bid: string | null;
        readonly ask: string | null;
        /** Absent in entries from before fx kept the sources of tables. */
        readonly tableId?: string;
      })
  );

/**
 * The text of an entry that the ledger keeps and takes the hash of: an object of JSON in one line, the same for the
 * same entry. Built by hand, because JSON.stringify is slower (docs/PERFORMANCE.md).
 */
export function entryText(entry: Entry): string {
  const { id, pesel, sequence, time, key, kind } = entry;
  const head =
    `"id":"${id}","pesel":"${pesel}","sequence":${sequence},"time":${time.getTime()},` +
    `"key":${key === undefined ? null : jsonString(key)},"kind":"${kind}"`;
  const facts =
    entry.kind === "opening"
      ? `"name":${jsonString(entry.name)},"surname":${jsonString(entry.surname)},` +
        `"initial":"${moneyText(entry.initial)}"`
      : `"side":"${entry.side}","sold":"${moneyText(entry.sold)}","bought":"${moneyText(entry.bought)}",` +
        `"bid":${rateJson(entry.bid)},"ask":${rateJson(entry.ask)},` +
        `"table":${jsonString(entry.table)},${entry.tableId === undefined ? "" : `"tableId":"${entry.tableId}",`}` +
        `"effectiveDate":"${entry.effectiveDate}"`;
  return `{${head},${facts},"balances":${balancesJson(entry.balances)}}`;
}

/**
 * Reads what `entryText` gives.
 * @throws SyntaxError, TypeError or RangeError if it is not the text of an entry
 */
export function parseEntry(text: string): Entry {
  const json = JSON.parse(text) as EntryJson;
  const { id, pesel, sequence } = json;
  const time = new Date(json.time);
  const key = json.key ?? undefined;
  const balances = balancesOf(json.balances);
  switch (json.kind) {
    case "opening": {
      const { kind, name, surname } = json;
      const initial = moneyOf(json.initial);
      return { kind, id, pesel, sequence, time, key, balances, name, surname, initial };
    }
    case "exchange": {
      const { kind, side, table, tableId, effectiveDate } = json;
      const sold = moneyOf(json.sold);
      const bought = moneyOf(json.bought);
      const bid = rateOf(json.bid);
      const ask = rateOf(json.ask);
      return {
        kind,
        id,
        pesel,
        sequence,
        time,
        key,
        balances,
        side,
        sold,
        bought,
        bid,
        ask,
        table,
        tableId,
        effectiveDate,
      };
    }
    default:
      throw new RangeError("an entry is an opening or an exchange");
  }
}

/** Balances as JSON, `{"PLN":90000,"USD":1000}`: minor units by currency, in the order of the account. */
export function balancesJson(balances: readonly Money[]): string {
  let text = "{";
  for (const { currency, minor } of balances) text += `${text === "{" ? "" : ","}"${currency}":${minor}`;
  return `${text}}`;
}

/** A JSON string. Most text needs no escapes, and skipping JSON.stringify for it is faster. */
export function jsonString(text: string): string {
  return /^[ !#-[\]-~]*$/.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Reads what JSON.parse makes of `balancesJson`. Below 10^15 every number is exact. */
export function balancesOf(json: Readonly<Record<string, number>>): Money[] {
  return Object.entries(json).map(([currency, minor]) => ({
    currency: currency as CurrencyCode,
    minor: BigInt(minor),
  }));
}

/** Whether `entry` is what `opening` led to: the same body under the same key. */
export function isAnswerToOpening(entry: Entry, opening: Opening): boolean {
  return (
    entry.kind === "opening" &&
    entry.name === opening.name &&
    entry.surname === opening.surname &&
    compareDecimals(decimalOfMoney(entry.initial), opening.initial) === 0
  );
}

/** Whether `entry` is what `order` led to: the same body under the same key. */
export function isAnswerToOrder(entry: Entry, order: ExchangeOrder): entry is ExchangeEntry {
  return (
    entry.kind === "exchange" &&
    entry.side === order.side &&
    entry.sold.currency === order.from &&
    entry.bought.currency === order.to &&
    compareDecimals(decimalOfMoney(order.side === "toSell" ? entry.sold : entry.bought), order.amount) === 0
  );
}

/** The account as it was answered when `entry` was made. */
export function accountAfter(entry: Entry, holder: Pick<Account, "name" | "surname">): Account {
  return { pesel: entry.pesel, name: holder.name, surname: holder.surname, balances: entry.balances };
}

function moneyText({ currency, minor }: Money): string {
  return `${minor} ${currency}`;
}

function moneyOf(text: string): Money {
  const match = /^(\d+) ([A-Z]{3})$/.exec(text);
  if (match === null) throw new RangeError(`${JSON.stringify(text)} is no amount of minor units`);
  return { currency: match[2] as CurrencyCode, minor: BigInt(match[1] as string) };
}

function rateJson(decimal: Decimal | undefined): string {
  return decimal === undefined ? "null" : `"${formatDecimal(decimal)}"`;
}

function rateOf(text: string | null): Decimal | undefined {
  return text === null ? undefined : requireDecimal(text);
}
