import type { Account, Holder } from "./account.ts";
import type { CurrencyCode } from "./currency.ts";
import { type Decimal, formatDecimal, requireDecimal } from "./decimal.ts";
import type { Exchange } from "./exchange.ts";
import type { Money } from "./money.ts";
import type { Pesel } from "./pesel.ts";

/**
 * What each kind of entry says beside what all of them say. A new kind begins here, and the compiler finds the rest.
 */
const kinds = {
  opening: { always: ["holder", "credited"], perhaps: [] },
  exchange: { always: ["debited", "credited", "exchange"], perhaps: [] },
  deposit: { always: ["credited"], perhaps: ["note"] },
  withdrawal: { always: ["debited"], perhaps: ["note"] },
  reversal: { always: ["reverses", "note"], perhaps: ["debited", "credited", "exchange"] },
  renaming: { always: ["holder"], perhaps: [] },
  closing: { always: [], perhaps: [] },
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
  /** The whole account after the entry. */
  readonly balances: readonly Money[];
}

interface EntryFacts {
  /** Whose account it is from now on. */
  readonly holder: Holder | undefined;
  /** The id of the entry that is undone. */
  readonly reverses: string | undefined;
  /** Of a deposit or a withdrawal; the reason of a reversal. */
  readonly note: string | undefined;
  /** What left the account. */
  readonly debited: Money | undefined;
  /** What came to the account. */
  readonly credited: Money | undefined;
  /** How one was exchanged for the other; in a reversal, the exchange that is undone. */
  readonly exchange: Exchange | undefined;
}

type Fact = keyof EntryFacts;

interface FactsOfKind {
  readonly always: readonly Fact[];
  readonly perhaps: readonly Fact[];
}

const facts: readonly Fact[] = ["holder", "reverses", "note", "debited", "credited", "exchange"];

/** An entry as JSON has it: money as "1230 PLN" in minor units, the time in milliseconds since 1970. */
interface JournalLine extends Pick<Entry, "kind" | "id" | "pesel" | "sequence" | "by" | "reverses" | "note"> {
  readonly time: number;
  readonly key: string | null;
  readonly name: string | undefined;
  readonly surname: string | undefined;
  readonly side: Exchange["side"] | undefined;
  /** What was debited, by the name that the kind gives it. */
  readonly sold: string | undefined;
  readonly debited: string | undefined;
  /** What was credited. */
  readonly bought: string | undefined;
  readonly initial: string | undefined;
  readonly credited: string | undefined;
  readonly bid: string | null | undefined;
  readonly ask: string | null | undefined;
  readonly table: string | undefined;
  readonly tableId: string | undefined;
  readonly effectiveDate: string | undefined;
  readonly balances: Readonly<Record<string, number>>;
}

/** The text of an entry that the ledger keeps and takes the hash of: JSON in one line, the same for the same entry. */
export function entryText(entry: Entry): string {
  const { id, pesel, sequence, time, key = null, by, kind, holder, reverses, note, exchange } = entry;
  const debited = moneyText(entry.debited);
  const credited = moneyText(entry.credited);
  const isExchange = kind === "exchange";
  const isOpening = kind === "opening";
  const json: JournalLine = {
    id,
    pesel,
    sequence,
    time: time.getTime(),
    key,
    by,
    kind,
    name: holder?.name,
    surname: holder?.surname,
    reverses,
    note,
    side: exchange?.side,
    sold: isExchange ? debited : undefined,
    debited: isExchange ? undefined : debited,
    bought: isExchange ? credited : undefined,
    initial: isOpening ? credited : undefined,
    credited: isExchange || isOpening ? undefined : credited,
    bid: exchange && rateText(exchange.bid),
    ask: exchange && rateText(exchange.ask),
    table: exchange?.table,
    tableId: exchange?.tableId,
    effectiveDate: exchange?.effectiveDate,
    balances: balancesJson(entry.balances),
  };
  return JSON.stringify(json);
}

/**
 * Reads what `entryText` gives.
 * @throws SyntaxError, TypeError or RangeError if it is not the text of an entry
 */
export function parseEntry(text: string): Entry {
  const json = JSON.parse(text) as JournalLine;
  const { kind, id, pesel, sequence, by, name, surname, reverses, note } = json;
  const debited = moneyOf(json.sold ?? json.debited);
  const credited = moneyOf(json.bought ?? json.initial ?? json.credited);
  const entry: Entry = {
    kind,
    id,
    pesel,
    sequence,
    time: new Date(json.time),
    key: json.key ?? undefined,
    by,
    holder: name === undefined || surname === undefined ? undefined : { name, surname },
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
  const { always, perhaps }: FactsOfKind = kinds[entry.kind];
  for (const fact of facts) {
    const isGiven = entry[fact] !== undefined;
    if (!isGiven && always.includes(fact))
      throw new RangeError(`an entry of kind ${entry.kind} needs ${fact}`);
    if (isGiven && !always.includes(fact) && !perhaps.includes(fact)) {
      throw new RangeError(`an entry of kind ${entry.kind} has no ${fact}`);
    }
  }
}

/** The account after `entry`, whose holder was `before` it. */
export function accountAfter(entry: Entry, before: Holder): Account {
  const { name, surname } = entry.holder ?? before;
  return { pesel: entry.pesel, name, surname, balances: entry.balances, closed: entry.kind === "closing" };
}

/** The entry as one that undoes it, and the entry that undoes it, name each other. */
export interface Receipt extends Entry {
  /** The id of the reversal. */
  readonly reversedBy: string | undefined;
}

/** Minor units by currency, in the order of the account. Below 10^15 every number is exact. */
export function balancesJson(balances: readonly Money[]): Record<string, number> {
  return Object.fromEntries(balances.map(({ currency, minor }) => [currency, Number(minor)]));
}

function balancesOf(json: Readonly<Record<string, number>>): Money[] {
  return Object.entries(json).map(([currency, minor]) => ({
    currency: currency as CurrencyCode,
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
  return { currency: match[2] as CurrencyCode, minor: BigInt(match[1] as string) };
}

/** Null where the rate is that of PLN. */
function rateText(rate: Decimal | undefined): string | null {
  return rate === undefined ? null : formatDecimal(rate);
}

function rateOf(text: string | null | undefined): Decimal | undefined {
  return text === null || text === undefined ? undefined : requireDecimal(text);
}
