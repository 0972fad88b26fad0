import type { Holder } from "../core/account.ts";
import { goesOnWhileBlocked, isReversible } from "../core/change.ts";
import { type CurrencyCode, compareCurrencies, pln } from "../core/currency.ts";
import { type Decimal, formatDecimal } from "../core/decimal.ts";
import { type Exchange, priceExchange } from "../core/exchange.ts";
import { type HousePlace, housePlaceOf } from "../core/house.ts";
import { type Entry, type EntryKind, namesHolder } from "../core/journal.ts";
import { decimalOfMoney, formatMoney, type Money } from "../core/money.ts";
import { holderWords } from "../core/names.ts";
import type { RateTable } from "../core/rates.ts";
import type { AccountHead } from "../core/service.ts";
import { limits } from "./limits.ts";
import { type AccountRow, entryHash, type JournalRow } from "./rows.ts";
import type { FoundEntry } from "./store.ts";

/** A finding of an audit: the problem by name, what is recorded, and what should be. */
export type Discrepancy = readonly [problem: string, recorded: string, recomputed: string];

/** The facts with which an entry is compared, besides the entries before it. */
export interface Evidence {
  /** The rate table that an exchange names. */
  readonly table?: RateTable | undefined;
  /** When that table was in force, and whether trading was suspended then. */
  readonly inForce?: readonly InForce[] | undefined;
  /** The entry that a reversal undoes. */
  readonly undone?: FoundEntry | undefined;
  readonly nowMs: number;
}

/** A time in which a rate table was in force. */
export interface InForce {
  readonly epoch: number;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly isSuspended: boolean;
}

const houseKinds: readonly EntryKind[] = ["deposit", "withdrawal", "reversal"];

/** An account's row, and what its entries have come to so far. */
export class Chain {
  readonly pesel: string;
  /** Set if the account is the house's. */
  readonly #place: HousePlace | undefined;
  /** Undefined if the account has no row. */
  readonly account: AccountRow | undefined;
  /** The head in an earlier checkpoint, and whether the chain has the entry of that number and hash. */
  readonly earlier: AccountHead | undefined;
  holdsEarlier = false;
  /** The sequence and the hash of the last entry; 0 and nothing before the first. */
  sequence = 0;
  hash = "";
  /** The first entry past the one that was the newest when the row was read. */
  later: JournalRow | undefined;
  /** The time of the last entry, where its hash is right. */
  #timeMs = 0;
  /** The epoch in which the table of the last exchange was in force. */
  #epoch = 0;
  #isClosed = false;
  #isBlocked = false;
  #holder: Holder | undefined;
  /** In the order in which an account has them. */
  readonly #balances: { readonly currency: CurrencyCode; minor: bigint }[] = [];

  constructor(pesel: string, account?: AccountRow, earlier?: AccountHead) {
    this.pesel = pesel;
    this.#place = housePlaceOf(pesel);
    this.account = account;
    this.earlier = earlier;
  }

  /** Takes the next entry, or why it cannot be read. */
  append(row: JournalRow, entry: Entry | Error, evidence: Evidence): Discrepancy[] {
    const gap = differing("gap in the sequence", `${row.sequence}`, `${this.sequence + 1}`);
    const previousHash = this.hash;
    this.sequence = row.sequence;
    this.hash = row.hash;
    if (this.sequence === this.earlier?.entries) this.holdsEarlier = this.hash === this.earlier.hash;
    if (entry instanceof Error) return [...gap, ["unreadable entry", entry.message, "a whole entry"]];
    const broken = differing("broken hash chain", row.hash, entryHash(row.entry, previousHash));
    return [
      ...gap,
      ...broken,
      ...this.#figures(entry, evidence),
      ...this.#order(entry, broken.length === 0, evidence.nowMs),
      ...this.#block(entry),
      ...this.#move(entry),
    ];
  }

  #figures(entry: Entry, evidence: Evidence): Discrepancy[] {
    const { kind, credited, exchange, time } = entry;
    if (entry.pesel !== this.pesel) return [["account of the entry", entry.pesel, this.pesel]];
    if (kind === "opening" && credited !== undefined)
      return differing("opening currency", credited.currency, pln);
    if (kind === "reversal") return reversalDiscrepancies(entry, evidence.undone);
    if (kind !== "exchange" || exchange === undefined) return [];
    const { table, inForce } = evidence;
    if (table === undefined) return [["rate table", exchange.tableId, "no such table in the store"]];
    const found = exchangeDiscrepancies(exchange, table);
    const epochs = epochsOf(inForce, this.#epoch, time.getTime());
    if (epochs.length === 0) return [["rate table in force", exchange.table, "not in force then"], ...found];
    const traded = epochs.find(({ isSuspended }) => !isSuspended);
    this.#epoch = (traded ?? epochs[0])?.epoch ?? 0;
    if (traded !== undefined) return found;
    return [["exchange while trading was suspended", timeText(time.getTime()), "no exchange"], ...found];
  }

  /** An entry follows those before it. Its time counts only where its hash is right. */
  #order({ kind, sequence, time, holder }: Entry, isSound: boolean, nowMs: number): Discrepancy[] {
    const found: Discrepancy[] = [];
    const isFirst = sequence === 1;
    if (this.#place !== undefined && !houseKinds.includes(kind)) {
      found.push(["entry of the house", kind, "a deposit, a withdrawal or a reversal"]);
    } else if (isFirst && kind !== "opening" && this.#place === undefined)
      found.push(["first entry", kind, "opening"]);
    if (!isFirst && kind === "opening" && !this.#isClosed) {
      found.push(["opening after the first entry", `${sequence}`, "1"]);
    }
    if (this.#isClosed && kind !== "opening") found.push(["entry of a closed account", kind, "opening"]);
    const timeMs = time.getTime();
    if (isSound && timeMs < this.#timeMs) {
      found.push(["time of the entry", timeText(timeMs), `not before ${timeText(this.#timeMs)}`]);
    }
    if (isSound) found.push(...notLater("time of the entry", timeMs, nowMs));
    this.#timeMs = isSound ? timeMs : 0;
    this.#isClosed = kind === "closing";
    if (this.#holder !== undefined && !namesHolder(kind)) {
      found.push(
        ...differing("name in the entry", holder.name, this.#holder.name),
        ...differing("surname in the entry", holder.surname, this.#holder.surname),
      );
    }
    this.#holder = holder;
    return found;
  }

  /** Nothing leaves a blocked account, and each entry says whether it is one. */
  #block({ kind, debited, blocked }: Entry): Discrepancy[] {
    const found: Discrepancy[] = [];
    if (this.#isBlocked && (!goesOnWhileBlocked(kind) || debited !== undefined)) {
      found.push(["entry of a blocked account", kind, "unblock"]);
    }
    if (!this.#isBlocked && kind === "unblock") found.push(["unblock", "no block", "a blocked account"]);
    this.#isBlocked = kind === "block" || (this.#isBlocked && kind !== "unblock");
    found.push(...differing("block in the entry", blockText(blocked), blockText(this.#isBlocked)));
    return found;
  }

  /** Moves the balances, and compares them with the entry's. */
  #move({ debited, credited, balances }: Entry): Discrepancy[] {
    if (debited !== undefined) this.#add(debited.currency, -debited.minor);
    if (credited !== undefined) this.#add(credited.currency, credited.minor);
    const found: Discrepancy[] = [];
    if (this.#isClosed && this.#balances.some(({ minor }) => minor !== 0n)) {
      found.push(["closing", "an account that holds money", "an empty account"]);
    }
    if (!areEqual(balances, this.#balances)) {
      found.push(["balances after the entry", balancesText(balances), balancesText(this.#balances)]);
    }
    for (const { currency, minor } of this.#balances) {
      if (minor < 0n && this.#place === undefined)
        found.push(["negative balance", `${minor} minor units`, `at least 0 ${currency}`]);
    }
    return found;
  }

  #add(currency: CurrencyCode, minor: bigint): void {
    const balance = this.#balances.find((one) => one.currency === currency);
    if (balance !== undefined) {
      balance.minor += minor;
    } else {
      this.#balances.push({ currency, minor });
      this.#balances.sort((a, b) => compareCurrencies(a.currency, b.currency));
    }
  }

  /** Compares the account's row with the end of the chain. */
  compareRow(): Discrepancy[] {
    if (this.account === undefined) return [];
    if (this.sequence === 0) return [["account without entries", "an account", "no entries"]];
    const { sequence, name, surname, words } = this.account;
    return [
      ...differing("number of entries", `${sequence}`, `${this.sequence}`),
      ...differing("name", name, this.#holder?.name ?? ""),
      ...differing("surname", surname, this.#holder?.surname ?? ""),
      ...differing(
        "words of the names",
        inOrder(words.split(" ")),
        this.#place === undefined ? inOrder(holderWords(this.account)) : "",
      ),
    ];
  }
}

/** A discrepancy where what is recorded is not what is right, and otherwise none. */
export function differing(problem: string, recorded: string, right: string): Discrepancy[] {
  return recorded === right ? [] : [[problem, recorded, right]];
}

/** Nothing in the ledger is from later than now. */
export function notLater(problem: string, timeMs: number, nowMs: number): Discrepancy[] {
  return timeMs <= nowMs + limits.clockToleranceMs ? [] : [[problem, timeText(timeMs), "not later than now"]];
}

/** A time that no date can hold is shown as its number. */
function timeText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}

/** The epochs, from `least` on, in which a rate table was in force at a time. */
function epochsOf(inForce: readonly InForce[] = [], least: number, timeMs: number): readonly InForce[] {
  const { clockToleranceMs: tolerance } = limits;
  return inForce.filter(
    ({ epoch, fromMs, untilMs }) =>
      epoch >= least && timeMs >= fromMs - tolerance && timeMs <= untilMs + tolerance,
  );
}

/** Computes an exchange again, from the order and the stored rate table. */
function exchangeDiscrepancies(exchange: Exchange, table: RateTable): Discrepancy[] {
  let right: Exchange;
  try {
    right = recompute(exchange, table);
  } catch (error) {
    return [["exchange", (error as Error).message, "one that the rate table allows"]];
  }
  return [
    ...differing("table number", exchange.table, right.table),
    ...differingMoney("sold", exchange.sold, right.sold),
    ...differingMoney("bought", exchange.bought, right.bought),
    ...differing("bid", rateText(exchange.bid), rateText(right.bid)),
    ...differing("ask", rateText(exchange.ask), rateText(right.ask)),
    ...differing("effective date", exchange.effectiveDate, right.effectiveDate),
  ];
}

function recompute({ side, sold, bought }: Exchange, table: RateTable): Exchange {
  const amount = decimalOfMoney(side === "toSell" ? sold : bought);
  return priceExchange({ from: sold.currency, to: bought.currency, side, amount }, table);
}

/** A reversal is the opposite of an earlier entry of its account, which no other undoes. */
function reversalDiscrepancies(reversal: Entry, found: FoundEntry | undefined): Discrepancy[] {
  const { id, pesel, sequence, reverses = "", debited, credited, exchange } = reversal;
  const undone = found?.entry;
  const isEarlier = undone?.pesel === pesel && undone.sequence < sequence && isReversible(undone.kind);
  if (!isEarlier) {
    return [["entry that is undone", reverses, "an earlier exchange, deposit or withdrawal of the account"]];
  }
  return [
    ...differing("link to the reversal", found?.reversedBy ?? "none", id),
    ...differing("taken by the reversal", moneyText(debited), moneyText(undone.credited)),
    ...differing("given by the reversal", moneyText(credited), moneyText(undone.debited)),
    ...differing("exchange that is undone", exchangeText(exchange), exchangeText(undone.exchange)),
  ];
}

function blockText(isBlocked: boolean): string {
  return isBlocked ? "blocked" : "not blocked";
}

function exchangeText(exchange: Exchange | undefined): string {
  if (exchange === undefined) return "none";
  const { side, sold, bought, bid, ask, table, tableId, effectiveDate } = exchange;
  const rates = `${rateText(bid)}, ${rateText(ask)}, table ${table} (${tableId}) of ${effectiveDate}`;
  return `${side} ${formatMoney(sold)} for ${formatMoney(bought)} at ${rates}`;
}

function moneyText(money: Money | undefined): string {
  return money === undefined ? "nothing" : formatMoney(money);
}

function rateText(rate: Decimal | undefined): string {
  return rate === undefined ? "none" : formatDecimal(rate);
}

function inOrder(words: string[]): string {
  return words.sort().join(" ");
}

/** Whether both have the same currencies, in the same order, and the same amounts of them. */
function areEqual(recorded: readonly Money[], right: readonly Money[]): boolean {
  return recorded.length === right.length && recorded.every((money, index) => isEqual(money, right[index]));
}

function isEqual(one: Money, other: Money | undefined): boolean {
  return one.currency === other?.currency && one.minor === other.minor;
}

/** As `differing`. Amounts are made texts only where they differ. */
function differingMoney(problem: string, recorded: Money, right: Money): Discrepancy[] {
  return isEqual(recorded, right) ? [] : [[problem, formatMoney(recorded), formatMoney(right)]];
}

/** Balances as an entry's text has them. */
function balancesText(balances: readonly Money[]): string {
  return `{${balances.map(({ currency, minor }) => `"${currency}":${minor}`).join(",")}}`;
}
