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
} as const satisfies Record<string, { readonly always: readonly Fact[]; readonly perhaps: readonly Fact[] }>;

export type EntryKind = keyof typeof kinds;
export const entryKinds = Object.keys(kinds) as EntryKind[];

/** One line of the append-only journal. Members that its kind does not have are undefined. */
export interface Entry extends Readonly<Facts> {
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

interface Facts {
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

type Fact = keyof Facts;
const facts: readonly Fact[] = ["holder", "reverses", "note", "debited", "credited", "exchange"];

/** An entry as JSON has it: money as "1230 PLN" in minor units, the time in milliseconds since 1970. */
interface EntryJson extends Pick<Entry, "kind" | "id" | "pesel" | "sequence"> {
  readonly time: number;
  readonly key: string | null;
  readonly by?: string;
  readonly name?: string;
  readonly surname?: string;
  readonly reverses?: string;
  readonly note?: string;
  readonly side?: Exchange["side"];
  /** What was debited, by the name that the kind gives it. */
  readonly debited?: string;
  readonly sold?: string;
  /** What was credited. */
  readonly credited?: string;
  readonly bought?: string;
  readonly initial?: string;
  readonly bid?: string | null;
  readonly ask?: string | null;
  readonly table?: string;
  readonly tableId?: string;
  readonly effectiveDate?: string;
  readonly balances: Record<string, number>;
}

/**
 * The text of an entry that the ledger keeps and takes the hash of: an object of JSON in one line, the same for the
 * same entry. Built by hand, because JSON.stringify is slower (docs/PERFORMANCE.md).
 */
export function entryText(entry: Entry): string {
  const { id, pesel, sequence, time, key, by, kind, holder, reverses, note, debited, credited, exchange } =
    entry;
  let text =
    `{"id":"${id}","pesel":"${pesel}","sequence":${sequence},"time":${time.getTime()},` +
    `"key":${key === undefined ? null : jsonString(key)}` +
    `${by === undefined ? "" : `,"by":${jsonString(by)}`},"kind":"${kind}"`;
  if (holder !== undefined) {
    text += `,"name":${jsonString(holder.name)},"surname":${jsonString(holder.surname)}`;
  }
  if (reverses !== undefined) text += `,"reverses":"${reverses}"`;
  if (note !== undefined) text += `,"note":${jsonString(note)}`;
  if (exchange !== undefined) text += `,"side":"${exchange.side}"`;
  if (debited !== undefined) text += `,"${kind === "exchange" ? "sold" : "debited"}":"${moneyText(debited)}"`;
  if (credited !== undefined) text += `,"${creditedName(kind)}":"${moneyText(credited)}"`;
  if (exchange !== undefined) {
    const { bid, ask, table, tableId, effectiveDate } = exchange;
    text +=
      `,"bid":${rateJson(bid)},"ask":${rateJson(ask)},"table":${jsonString(table)},` +
      `"tableId":"${tableId}","effectiveDate":"${effectiveDate}"`;
  }
  return `${text},"balances":${balancesJson(entry.balances)}}`;
}

function creditedName(kind: EntryKind): string {
  return kind === "exchange" ? "bought" : kind === "opening" ? "initial" : "credited";
}

/**
 * Reads what `entryText` gives.
 * @throws SyntaxError, TypeError or RangeError if it is not the text of an entry
 */
export function parseEntry(text: string): Entry {
  const json = JSON.parse(text) as EntryJson;
  const { kind, id, pesel, sequence, by, name, surname, reverses, note } = json;
  const debited = optionalMoney(json.sold ?? json.debited);
  const credited = optionalMoney(json.bought ?? json.initial ?? json.credited);
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
    exchange: exchangeOf(json, kind === "reversal" ? [credited, debited] : [debited, credited]),
    balances: balancesOf(json.balances),
  };
  requireFacts(entry);
  return entry;
}

function exchangeOf(
  { side, bid, ask, table, tableId, effectiveDate }: EntryJson,
  [sold, bought]: readonly (Money | undefined)[],
): Exchange | undefined {
  if (side === undefined || sold === undefined || bought === undefined) return undefined;
  if (table === undefined || tableId === undefined || effectiveDate === undefined) return undefined;
  return { side, sold, bought, bid: rateOf(bid), ask: rateOf(ask), table, tableId, effectiveDate };
}

function requireFacts(entry: Entry): void {
  const { always, perhaps }: { always: readonly Fact[]; perhaps: readonly Fact[] } | undefined =
    kinds[entry.kind] ?? unknownKind();
  for (const fact of facts) {
    const isGiven = entry[fact] !== undefined;
    if (isGiven ? !always.includes(fact) && !perhaps.includes(fact) : always.includes(fact)) {
      throw new RangeError(`an entry of kind ${entry.kind} ${isGiven ? "has no" : "needs"} ${fact}`);
    }
  }
}

function unknownKind(): never {
  throw new RangeError(`an entry is one of ${entryKinds.join(", ")}`);
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

function optionalMoney(text: string | undefined): Money | undefined {
  return text === undefined ? undefined : moneyOf(text);
}

function rateOf(text: string | null | undefined): Decimal | undefined {
  return text === null || text === undefined ? undefined : requireDecimal(text);
}
