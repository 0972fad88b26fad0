import type { Account, Holder } from "./account.ts";
import { type CurrencyCode, minorUnitDigits } from "./currency.ts";
import { isDate } from "./date.ts";
import { type Decimal, formatDecimal, requireDecimal } from "./decimal.ts";
import type { Exchange } from "./exchange.ts";
import type { Money } from "./money.ts";
import type { Pesel } from "./pesel.ts";

/** The facts of each kind of entry, beside those that all have. A new kind begins here, and the compiler finds the rest. */
const kinds = {
  opening: { always: ["credited"], sometimes: [] },
  exchange: { always: ["debited", "credited", "exchange"], sometimes: [] },
  deposit: { always: ["credited"], sometimes: ["note"] },
  withdrawal: { always: ["debited"], sometimes: ["note"] },
  reversal: { always: ["reverses", "note"], sometimes: ["debited", "credited", "exchange"] },
  renaming: { always: [], sometimes: [] },
  closing: { always: [], sometimes: [] },
  block: { always: ["note"], sometimes: [] },
  unblock: { always: ["note"], sometimes: [] },
} as const satisfies Record<string, FactsOfKind>;

export type EntryKind = keyof typeof kinds;
export const entryKinds = Object.keys(kinds) as EntryKind[];

/** One line of the append-only journal. Members that its kind does not have are undefined. */
export interface Entry extends Readonly<EntryFacts> {
  readonly kind: EntryKind;
  /** A UUID, version 7. It is the receipt's, too. */
  readonly id: string;
  readonly pesel: Pesel;
  /** 1 for the account's first, then one more for each, without gaps. */
  readonly sequence: number;
  /** Never earlier than that of the account's entry before it. */
  readonly time: Date;
  /** The idempotency key that the request carried. */
  readonly key: string | undefined;
  /** The name of the token that the request came with. */
  readonly by: string | undefined;
  /** The whole account after the entry: its holder, whether it is blocked, and its balances. */
  readonly holder: Holder;
  readonly blocked: boolean;
  readonly balances: readonly Money[];
}

interface EntryFacts {
  /** The id of the entry that is undone. */
  readonly reverses: string | undefined;
  /** The note of a deposit or a withdrawal; the reason of a reversal, a block or an unblock. */
  readonly note: string | undefined;
  /** Money that left the account. */
  readonly debited: Money | undefined;
  /** Money that came to the account. */
  readonly credited: Money | undefined;
  /** How one was exchanged for the other; in a reversal, the exchange that is undone. */
  readonly exchange: Exchange | undefined;
}

type Fact = keyof EntryFacts;

interface FactsOfKind {
  readonly always: readonly Fact[];
  readonly sometimes: readonly Fact[];
}

const facts: readonly Fact[] = ["reverses", "note", "debited", "credited", "exchange"];

/** The text of an entry that the ledger keeps and takes the hash of: JSON in one line, the same for the same entry. */
export function entryText(entry: Entry): string {
  return JSON.stringify(lineOf(entry));
}

type JournalLine = ReturnType<typeof lineOf>;

/** An entry as JSON has it: money as "1230 PLN" in minor units, the time in milliseconds since 1970. */
function lineOf(entry: Entry) {
  const { id, pesel, sequence, time, key = null, by, kind, holder, reverses, note, exchange } = entry;
  return {
    id,
    pesel,
    sequence,
    time: time.getTime(),
    key,
    by,
    kind,
    name: holder.name,
    surname: holder.surname,
    blocked: entry.blocked || undefined,
    reverses,
    note,
    debited: moneyText(entry.debited),
    credited: moneyText(entry.credited),
    side: exchange?.side,
    bid: exchange && rateText(exchange.bid),
    ask: exchange && rateText(exchange.ask),
    table: exchange?.table,
    tableId: exchange?.tableId,
    effectiveDate: exchange?.effectiveDate,
    balances: balancesJson(entry.balances),
  };
}

/**
 * Reads what `entryText` gives.
 * @throws SyntaxError, TypeError or RangeError if it is not the text of an entry
 */
export function parseEntry(text: string): Entry {
  const json = JSON.parse(text) as JournalLine;
  requireTypes(json);
  const { kind, id, pesel, sequence, by, name, surname, reverses, note } = json;
  const debited = moneyOf(json.debited);
  const credited = moneyOf(json.credited);
  const entry: Entry = {
    kind,
    id,
    pesel,
    sequence,
    time: new Date(json.time),
    key: json.key ?? undefined,
    by,
    holder: { name, surname },
    blocked: json.blocked === true,
    reverses,
    note,
    debited,
    credited,
    exchange: kind === "reversal" ? exchangeOf(json, credited, debited) : exchangeOf(json, debited, credited),
    balances: balancesOf(json.balances),
  };
  requireFacts(entry);
  return entry;
}

const wholeNumbers = ["sequence", "time"] as const;
/** Milliseconds of the years 1 to 9999. */
const [firstTime, lastTime] = [Date.parse("0001-01-01T00:00:00Z"), Date.parse("9999-12-31T23:59:59.999Z")];
const texts = ["id", "pesel", "kind", "name", "surname"] as const;
const optionalTexts = [
  ...(["by", "reverses", "note"] as const),
  ...(["side", "table", "tableId", "effectiveDate"] as const),
];

/** Checks types, because the text may have been edited to any JSON, and an answer with a wrong one fails as a whole. */
function requireTypes(json: JournalLine): void {
  for (const name of wholeNumbers) {
    if (!Number.isSafeInteger(json[name])) throw new TypeError(`the ${name} of an entry is a whole number`);
  }
  for (const name of texts) requireText(name, json[name]);
  for (const name of optionalTexts) if (json[name] !== undefined) requireText(name, json[name]);
  if (json.key !== null && json.key !== undefined) requireText("key", json.key);
  const { time, blocked = true, side = "toBuy", tableId, effectiveDate } = json;
  if (time < firstTime || time > lastTime) throw new RangeError("an entry is of the years 1 to 9999");
  if (blocked !== true) throw new TypeError("an entry is blocked: true, or does not say it");
  if (side !== "toBuy" && side !== "toSell") throw new RangeError("a side is toBuy or toSell");
  if (tableId !== undefined && !/^[\da-f]{32}$/.test(tableId)) throw new RangeError("a table's id is a hash");
  if (effectiveDate !== undefined && !isDate(effectiveDate)) throw new RangeError("a date is a day");
}

function requireText(name: string, value: unknown): void {
  if (typeof value !== "string") throw new TypeError(`the ${name} of an entry is text`);
}

function exchangeOf(
  { side, bid, ask, table, tableId, effectiveDate }: JournalLine,
  sold: Money | undefined,
  bought: Money | undefined,
): Exchange | undefined {
  if (side === undefined || sold === undefined || bought === undefined) return undefined;
  if (table === undefined || tableId === undefined || effectiveDate === undefined) return undefined;
  return { side, sold, bought, bid: rateOf(bid), ask: rateOf(ask), table, tableId, effectiveDate };
}

function requireFacts(entry: Entry): void {
  if (!Object.hasOwn(kinds, entry.kind)) throw new RangeError(`an entry is one of ${entryKinds.join(", ")}`);
  const { always, sometimes }: FactsOfKind = kinds[entry.kind];
  for (const fact of facts) {
    const isGiven = entry[fact] !== undefined;
    if (!isGiven && always.includes(fact))
      throw new RangeError(`an entry of kind ${entry.kind} needs ${fact}`);
    if (isGiven && !always.includes(fact) && !sometimes.includes(fact)) {
      throw new RangeError(`an entry of kind ${entry.kind} has no ${fact}`);
    }
  }
}

/** The account after `entry`. */
export function accountAfter({ pesel, holder, balances, blocked, kind }: Entry): Account {
  return { pesel, balances, closed: kind === "closing", blocked, ...holder };
}

/** Whether entries of this kind say who the holder is from then on. */
export function namesHolder(kind: EntryKind): boolean {
  return kind === "opening" || kind === "renaming";
}

/** The entry as one that undoes it, and the entry that undoes it, name each other. */
export interface Receipt extends Entry {
  /** The id of the reversal. */
  readonly reversedBy: string | undefined;
}

/** Minor units by currency, in the order of the account. Below 10^15 every number is exact. */
function balancesJson(balances: readonly Money[]): Record<string, number> {
  return Object.fromEntries(balances.map(({ currency, minor }) => [currency, Number(minor)]));
}

function balancesOf(json: Readonly<Record<string, number>>): Money[] {
  return Object.entries(json).map(([currency, minor]) => ({
    currency: knownCurrency(currency),
    minor: BigInt(minor),
  }));
}

function moneyText(money: Money | undefined): string | undefined {
  return money && `${money.minor} ${money.currency}`;
}

function moneyOf(text: string | undefined): Money | undefined {
  if (text === undefined) return undefined;
  const match = /^(\d+) ([A-Z]{3})$/.exec(text);
  if (match === null) throw new RangeError(`${JSON.stringify(text)} is no amount of minor units`);
  return { currency: knownCurrency(match[2]), minor: BigInt(match[1] as string) };
}

function knownCurrency(code = ""): CurrencyCode {
  const currency = code as CurrencyCode;
  if (minorUnitDigits(currency) === undefined) throw new RangeError("fx keeps no such currency");
  return currency;
}

/** Null where the rate is that of PLN. */
function rateText(rate: Decimal | undefined): string | null {
  return rate === undefined ? null : formatDecimal(rate);
}

function rateOf(text: string | null | undefined): Decimal | undefined {
  if (text === null || text === undefined) return undefined;
  const rate = requireDecimal(text);
  if (rate.coefficient <= 0n) throw new RangeError("a rate is greater than 0");
  return rate;
}
