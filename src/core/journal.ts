import type { Account, Opening } from "./account.ts";
import type { Exchange, ExchangeOrder } from "./exchange.ts";
import { type Decimal, decimalOf, formatDecimal, type Money } from "./money.ts";
import type { Pesel } from "./pesel.ts";
import { compareDecimals } from "./rates.ts";

interface EntryHead {
  /** A UUID, version 7. An exchange's id is its receipt's. */
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

/**
 * The text that an entry's hash is taken of: the hash of the account's entry before it (empty for the first), and
 * every field. A change to any field of any entry changes every later hash of the account.
 */
export function sealedText(entry: Entry, previousHash: string): string {
  const { id, pesel, sequence, time, key = null } = entry;
  const facts =
    entry.kind === "opening"
      ? [entry.name, entry.surname, moneyText(entry.initial)]
      : [
          entry.side,
          moneyText(entry.sold),
          moneyText(entry.bought),
          decimalText(entry.bid),
          decimalText(entry.ask),
          entry.table,
          entry.effectiveDate,
        ];
  const balances = entry.balances.map(moneyText);
  return JSON.stringify([
    previousHash,
    id,
    pesel,
    sequence,
    time.getTime(),
    key,
    entry.kind,
    facts,
    balances,
  ]);
}

/** Whether `entry` is what `opening` led to: the same body under the same key. */
export function isAnswerToOpening(entry: Entry, opening: Opening): boolean {
  return (
    entry.kind === "opening" &&
    entry.name === opening.name &&
    entry.surname === opening.surname &&
    compareDecimals(decimalOf(entry.initial), opening.initial) === 0
  );
}

/** Whether `entry` is what `order` led to: the same body under the same key. */
export function isAnswerToOrder(entry: Entry, order: ExchangeOrder): boolean {
  return (
    entry.kind === "exchange" &&
    entry.side === order.side &&
    entry.sold.currency === order.from &&
    entry.bought.currency === order.to &&
    compareDecimals(decimalOf(order.side === "toSell" ? entry.sold : entry.bought), order.amount) === 0
  );
}

/** The account as it was answered when `entry` was made. */
export function accountAfter(entry: Entry, holder: Pick<Account, "name" | "surname">): Account {
  return { pesel: entry.pesel, name: holder.name, surname: holder.surname, balances: entry.balances };
}

function moneyText(money: Money): string {
  return `${money.minor} ${money.currency}`;
}

function decimalText(decimal: Decimal | undefined): string | null {
  return decimal === undefined ? null : formatDecimal(decimal);
}
