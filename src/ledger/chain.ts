import { type Account, accountBeforeEntries } from "../core/account.ts";
import { entryOf, type Plan, planChange, requestBehind } from "../core/change.ts";
import type { CurrencyCode } from "../core/currency.ts";
import { FxError } from "../core/errors.ts";
import type { Exchange } from "../core/exchange.ts";
import { accountAfter, type Entry, entryText } from "../core/journal.ts";
import { formatMoney } from "../core/money.ts";
import { holderWords } from "../core/names.ts";
import type { Pesel } from "../core/pesel.ts";
import type { Rate, RateTable } from "../core/rates.ts";
import type { AccountHead } from "../core/service.ts";
import { failureOf } from "./decision.ts";
import { limits } from "./limits.ts";
import { type AccountRow, entryHash, type JournalRow } from "./rows.ts";
import type { FoundEntry } from "./store.ts";

/** A finding of an audit: the problem by name, what is recorded, and what should be. */
export type Discrepancy = readonly [problem: string, recorded: string, recomputed: string];

/** The facts with which an entry is compared, besides the entries before it. */
export interface Evidence {
  /** The rate table that an exchange names; undefined if it is not in the store. */
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

/**
 * An account's row, and its entries so far. Each is compared with the one before it: the request that led to it is
 * decided again, on the account that the one before left.
 */
export class Chain {
  readonly pesel: string;
  /** Undefined if the account has no row. */
  readonly row: AccountRow | undefined;
  /** The head in an earlier checkpoint, and whether the chain has the entry of that number and hash. */
  readonly earlier: AccountHead | undefined;
  holdsEarlier = false;
  /** The sequence and the hash of the last entry; 0 and nothing before the first. */
  sequence = 0;
  hash = "";
  /** The first entry past the one that was the newest when the row was read. */
  later: JournalRow | undefined;
  /** The account as the last entry that can be read left it. */
  #account: Account | undefined;
  /** The time of the last entry, where its hash is right. */
  #timeMs = 0;
  /** The epoch in which the table of the last exchange was in force. */
  #epoch = 0;

  constructor(pesel: string, row?: AccountRow, earlier?: AccountHead) {
    this.pesel = pesel;
    this.#account = accountBeforeEntries(pesel as Pesel);
    this.row = row;
    this.earlier = earlier;
  }

  /** Takes the next entry, or why it cannot be read. */
  append(row: JournalRow, entry: Entry | Error, evidence: Evidence): Discrepancy[] {
    const gap = differing("gap in the sequence", `${row.sequence}`, `${this.sequence + 1}`);
    const hash = entryHash(row.entry, this.hash);
    this.sequence = row.sequence;
    this.hash = row.hash;
    if (this.sequence === this.earlier?.entries) this.holdsEarlier = this.hash === this.earlier.hash;
    if (entry instanceof Error) return [...gap, ["unreadable entry", entry.message, "a whole entry"]];
    const found = [
      ...gap,
      ...differing("broken hash chain", row.hash, hash),
      ...differing("account of the entry", entry.pesel, this.pesel),
      ...this.#time(entry, row.hash === hash, evidence.nowMs),
      ...this.#decideAgain(row.entry, entry, evidence),
    ];
    this.#account = accountAfter(entry);
    return found;
  }

  /** Compares times only between entries with right hashes: an edited one is a finding by itself. */
  #time({ time }: Entry, isSound: boolean, nowMs: number): Discrepancy[] {
    const timeMs = time.getTime();
    const earliestMs = this.#timeMs;
    this.#timeMs = isSound ? timeMs : 0;
    if (!isSound) return [];
    if (timeMs >= earliestMs) return notLater("time of the entry", timeMs, nowMs);
    return [["time of the entry", timeText(timeMs), `not before ${timeText(earliestMs)}`]];
  }

  #decideAgain(text: string, entry: Entry, { table, inForce, undone }: Evidence): Discrepancy[] {
    const { exchange, kind, time } = entry;
    const found: Discrepancy[] = [];
    let epoch: InForce | undefined;
    if (kind === "exchange" && exchange !== undefined) {
      const epochs = epochsOf(inForce, this.#epoch, time.getTime());
      epoch = epochs.find(({ isSuspended }) => !isSuspended) ?? epochs[0];
      if (table === undefined) found.push(["rate table", exchange.tableId, "no such table in the store"]);
      else if (epoch === undefined) found.push(["rate table in force", exchange.table, "not in force then"]);
    }
    this.#epoch = epoch?.epoch ?? this.#epoch;
    let plan: Plan;
    try {
      plan = planChange(this.#account, requestBehind(entry), {
        table: () => {
          if (epoch?.isSuspended) throw new FxError("trading-suspended", "Trading was suspended.");
          return table ?? recordedTable(exchange as Exchange);
        },
        // It is not known which table was in force then.
        requireQuoted: () => {},
        entry: () => earlierThan(entry, undone),
      });
    } catch (error) {
      return [...found, ["entry that fx refuses", kind, failureOf(error).code]];
    }
    return [...found, ...differingMembers(text, entryText(entryOf(entry, plan)))];
  }

  /** Compares the account's row with the end of the chain. */
  compareRow(): Discrepancy[] {
    if (this.row === undefined) return [];
    if (this.sequence === 0) return [["account without entries", "an account", "no entries"]];
    const { sequence, name, surname, words } = this.row;
    const isOfHouse = accountBeforeEntries(this.pesel as Pesel) !== undefined;
    return [
      ...differing("number of entries", `${sequence}`, `${this.sequence}`),
      ...differing("name", name, this.#account?.name ?? ""),
      ...differing("surname", surname, this.#account?.surname ?? ""),
      ...differing(
        "words of the names",
        inOrder(words.split(" ")),
        isOfHouse ? "" : inOrder(holderWords(this.row)),
      ),
    ];
  }
}

/** A discrepancy if the recorded value is not the right one; otherwise none. */
export function differing(problem: string, recorded: string, right: string): Discrepancy[] {
  return recorded === right ? [] : [[problem, recorded, right]];
}

/** A discrepancy if a time of the ledger is later than now, with the tolerance for clocks. */
export function notLater(problem: string, timeMs: number, nowMs: number): Discrepancy[] {
  if (timeMs <= nowMs + limits.clockToleranceMs) return [];
  const right =
    "not later than now: a clock was ahead then, or is behind here. The finding goes when that time has come";
  return [[problem, timeText(timeMs), right]];
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

/** The rate table of an exchange as far as the exchange itself has it. */
function recordedTable({ sold, bought, bid, ask, table, tableId, effectiveDate }: Exchange): RateTable {
  const sides = [
    { currency: sold.currency, rate: bid },
    { currency: bought.currency, rate: ask },
  ];
  const rates = sides.flatMap(({ currency, rate }): [CurrencyCode, Rate][] =>
    rate === undefined ? [] : [[currency, { currency, name: "", bid: rate, ask: rate }]],
  );
  return {
    ...{ id: tableId, source: "", number: table },
    ...{ tradingDate: effectiveDate, effectiveDate, rates: new Map(rates) },
  };
}

/** The entry that a reversal undoes, as it was before the reversal. */
function earlierThan({ id, sequence }: Entry, undone: FoundEntry | undefined) {
  if (undone === undefined || undone.entry.sequence >= sequence) return undefined;
  const { entry, reversedBy } = undone;
  return { entry, reversedBy: reversedBy === id ? undefined : reversedBy };
}

/** Compares the texts of two entries, member by member. */
function differingMembers(recorded: string, right: string): Discrepancy[] {
  if (recorded === right) return [];
  const [one, other]: Readonly<Record<string, unknown>>[] = [JSON.parse(recorded), JSON.parse(right)];
  const names = new Set([one, other].flatMap((members = {}) => Object.keys(members)));
  const found = [...names].flatMap((name) =>
    differing(`${name} in the entry`, memberText(one?.[name]), memberText(other?.[name])),
  );
  return found.length > 0 ? found : [["text of the entry", recorded, right]];
}

function memberText(member: unknown): string {
  if (typeof member !== "string") return JSON.stringify(member) ?? "none";
  const [, minor, currency] = /^(\d+) ([A-Z]{3})$/.exec(member) ?? [];
  if (minor === undefined) return member;
  return formatMoney({ currency: currency as CurrencyCode, minor: BigInt(minor) });
}

function inOrder(words: string[]): string {
  return words.sort().join(" ");
}
