import type { EntryKind } from "../../src/core/journal.ts";
import type { Asked } from "../support/asked.ts";
import { type Amount, type Balances, balancesText, type Event, type Read } from "./history.ts";
import { minorOf } from "./wire.ts";

/** An entry of the journal, as found at the end. */
export interface JournalEntry {
  readonly pesel: string;
  readonly sequence: number;
  readonly id: string;
  readonly key: string | null;
  readonly kind: EntryKind;
  /** The `askedText` of the order that it carries out. */
  readonly what: string;
  readonly debited: Amount | null;
  readonly credited: Amount | null;
  readonly balances: Balances;
}

/** The audit of the ledger at the end by one process or on one database, or the reason why there is none. */
export interface Reader {
  readonly name: string;
  readonly audit?: { readonly findings: number; readonly entries: number; readonly digest: string };
  readonly failure?: string;
}

/** The ledger when every order is settled and every fault is undone. */
export interface Final {
  readonly journal: readonly JournalEntry[];
  readonly readers: readonly Reader[];
  /** Attempts that the proxy reports as repeated. */
  readonly repeated: ReadonlySet<number>;
}

export const faultKinds = {
  lost: "an answered order is not in the journal",
  doubled: "an order is in the journal more than once",
  uncalled: "the journal has an entry that nobody asked for",
  altered: "an order was carried out on other terms",
  disorder: "an order precedes another that was answered before it was sent",
  stale: "a read lacks an order that was answered before it was sent",
  phantom: "a read shows a state that never existed",
  answer: "an order got an impossible answer",
  refused: "a refused order is in the journal",
  journal: "the entries of an account do not add up",
  readers: "readers of the ledger disagree at the end",
} as const;

export interface Fault {
  readonly kind: keyof typeof faultKinds;
  readonly text: string;
  /** Time of the event that shows the fault, in milliseconds; absent if only the end shows it. */
  readonly at?: number;
}

export interface Verdict {
  readonly isClean: boolean;
  /** At most `faultsKept` of each kind. */
  readonly faults: readonly Fault[];
  readonly counts: Readonly<Partial<Record<Fault["kind"], number>>>;
  readonly figures: Figures;
}

export interface Figures {
  /** Orders by their outcome. Each is counted once, however often it was sent. */
  readonly orders: number;
  readonly answered: number;
  readonly answeredByKind: Readonly<Record<string, number>>;
  readonly refused: number;
  /** Orders whose outcome no answer told, and how many of them were done. */
  readonly unknown: number;
  readonly unknownDone: number;
  /** Attempts at orders that settled nothing, by reason. */
  readonly attemptsOpen: Readonly<Record<string, number>>;
  /** Answers that repeated an earlier one, and orders that had been done without an answer before. */
  readonly replays: number;
  readonly foundDone: number;
  /** Times from an order's first attempt to its answer, in milliseconds. */
  readonly waitMs: { readonly median: number; readonly max: number };
  readonly reads: number;
  /** Stale reads from a primary whose Patroni was stopped. */
  readonly staleReadsExcused: number;
  /** Orders that were sent once and answered as replayed, because the proxy had repeated them. */
  readonly repeatedByProxy: number;
  readonly entries: number;
  readonly longestGapMs: number;
}

/** Refusals of orders that were not begun: the order may be sent again under its key. */
export const passingRefusals: ReadonlySet<string> = new Set([
  "overloaded",
  "rates-unavailable",
  "rate-limited",
]);
/** The only final refusal that the clients' orders can meet. */
const finalRefusal = "insufficient-funds";

const faultsKept = 25;

/** An order with all its attempts. */
interface Request {
  readonly order: Asked;
  /** Entries with the order's key or, without a key, that carry out the same. More than one is a fault. */
  readonly entries: readonly JournalEntry[];
  /** Time of the first attempt, and the account's newest entry that was known then. */
  readonly sentAt: number;
  readonly low: Seen;
  attempts: number;
  /** Attempts that were answered with a refusal. */
  refusals: number;
  refusedWith: string | undefined;
  /** The first answer that it is done; `after` is the number of events before it. */
  done: { readonly receipt: string; readonly at: number; readonly after: number } | undefined;
  /** Whether an answer said that it was done anew. */
  isAnsweredAsNew: boolean;
}

/** The newest entry of an account that an answer has shown. */
interface Seen {
  readonly sequence: number;
  readonly how: string;
}

/** A time in which reads may be stale, but not older than `seen`, which was known when it began. */
interface Unwatched {
  readonly host: string;
  readonly seen: ReadonlyMap<string, Seen>;
  endedAfter: number;
}

interface ReadAttempt {
  readonly read: Read;
  readonly low: Seen;
  /** Number of events before it. */
  readonly after: number;
  readonly at: number;
}

/**
 * Compares the clients' history with the ledger at the end.
 *
 * The sequence numbers give the total order of an account's entries, so no order has to be searched for. The history is
 * linearizable if each request has a place in that order between its sending and its answer. An order's place is its
 * entry. A read's place follows the entry whose balances it shows; of several, the earliest possible one counts. It
 * then suffices that no request is sent after the answer to a request with a later place.
 */
export function judge(events: Iterable<Event>, final: Final): Verdict {
  return new Judge(final).verdict(events);
}

class Judge {
  readonly #final: Final;
  readonly #faults: Fault[] = [];
  readonly #counts: Partial<Record<Fault["kind"], number>> = {};
  readonly #journal = new Map<string, JournalEntry[]>();
  readonly #entryOfId = new Map<string, JournalEntry>();
  /** Entries by `nameOf` of their orders. */
  readonly #entriesOf = new Map<string, JournalEntry[]>();
  readonly #requests = new Map<string, Request>();
  readonly #orders = new Map<number, { readonly request: Request; readonly after: number }>();
  readonly #reads = new Map<number, ReadAttempt>();
  readonly #seen = new Map<string, Seen>();
  readonly #unwatched: Unwatched[] = [];
  readonly #attemptsOpen: Record<string, number> = {};
  readonly #answeredByKind: Record<string, number> = {};
  readonly #waitsMs: number[] = [];
  #events = 0;
  #at: number | undefined;
  #readsAnswered = 0;
  #excused = 0;
  #replays = 0;
  #foundDone = 0;
  #repeatedByProxy = 0;
  #doneAt: number | undefined;
  #longestGapMs = 0;

  constructor(final: Final) {
    this.#final = final;
  }

  verdict(events: Iterable<Event>): Verdict {
    this.#readJournal();
    for (const event of events) {
      this.#events += 1;
      this.#at = event.at;
      this.#take(event);
    }
    this.#at = undefined;
    for (const request of this.#requests.values()) this.#conclude(request);
    for (const [name, [entry]] of this.#entriesOf) {
      if (entry !== undefined && !this.#requests.has(name)) {
        this.#fault("uncalled", `Nobody asked for ${entryText(entry)}.`);
      }
    }
    this.#compareReaders();
    const isClean = this.#faults.length === 0;
    return { isClean, faults: this.#faults, counts: this.#counts, figures: this.#figures() };
  }

  #fault(kind: Fault["kind"], text: string): void {
    const count = (this.#counts[kind] ?? 0) + 1;
    this.#counts[kind] = count;
    const at = this.#at;
    if (count <= faultsKept) this.#faults.push({ kind, text, ...(at !== undefined && { at }) });
  }

  #readJournal(): void {
    for (const entry of this.#final.journal) {
      const { pesel, sequence, id } = entry;
      const before = listIn(this.#journal, pesel);
      const last = before.at(-1);
      if (sequence !== before.length + 1) {
        this.#fault("journal", `Entry ${last?.sequence ?? 0} of ${pesel} is followed by entry ${sequence}.`);
      }
      const should = balancesText(balancesAfter(last?.balances ?? {}, entry));
      if (should !== balancesText(entry.balances) || Object.values(entry.balances).some((held) => held < 0)) {
        const leaves = `${entryText(entry)} leaves ${balancesText(entry.balances)}`;
        this.#fault("journal", `${leaves}, and what was there before and what it moved make ${should}.`);
      }
      if (this.#entryOfId.has(id)) this.#fault("journal", `Two entries have the id ${id}.`);
      before.push(entry);
      this.#entryOfId.set(id, entry);
      listIn(this.#entriesOf, nameOf(pesel, entry.key, entry.what)).push(entry);
    }
  }

  #take(event: Event): void {
    switch (event.event) {
      case "sent":
        if (isRead(event.asked)) {
          const low = this.#seenOf(event.asked.pesel);
          this.#reads.set(event.attempt, { read: event.asked, low, after: this.#events, at: event.at });
        } else {
          this.#orders.set(event.attempt, {
            request: this.#send(event.asked, event.at),
            after: this.#events,
          });
        }
        return;
      case "done":
        this.#done(event);
        return;
      case "read":
        this.#answerRead(event);
        return;
      case "refused":
        this.#refused(event);
        return;
      case "unknown":
        if (this.#orders.has(event.attempt)) count(this.#attemptsOpen, event.why);
        return;
      case "unwatched":
        this.#unwatched.push({
          host: event.host,
          seen: new Map(this.#seen),
          endedAfter: Number.POSITIVE_INFINITY,
        });
        return;
      case "watched":
        for (const each of this.#unwatched) {
          if (each.host === event.host) each.endedAfter = Math.min(each.endedAfter, this.#events);
        }
        return;
    }
  }

  #send(order: Asked, sentAt: number): Request {
    const name = nameOf(order.pesel, order.key, askedText(order));
    const known = this.#requests.get(name);
    if (known !== undefined) {
      known.attempts += 1;
      return known;
    }
    const entries = this.#entriesOf.get(name) ?? [];
    const low = this.#seenOf(order.pesel);
    const request: Request = {
      order,
      low,
      entries,
      sentAt,
      attempts: 1,
      refusals: 0,
      refusedWith: undefined,
      done: undefined,
      isAnsweredAsNew: false,
    };
    this.#requests.set(name, request);
    const [entry] = entries;
    if (entry !== undefined && entry.sequence <= low.sequence) {
      const what = entryText(entry).replace("entry", "Entry");
      this.#fault(
        "disorder",
        `${what} was sent at ${timeText(sentAt)}, after ${low.how} had shown entry ${low.sequence}.`,
      );
    }
    return request;
  }

  #done(event: Event & { readonly event: "done" }): void {
    const sent = this.#orders.get(event.attempt);
    if (sent === undefined) throw new Error(`attempt ${event.attempt} was not sent`);
    this.#orders.delete(event.attempt);
    const { request } = sent;
    const { order, entries } = request;
    const { receipt, replayed, balances, at } = event;
    const what = `${orderText(order)}, answered at ${timeText(at)}`;
    if (request.done !== undefined && request.done.receipt !== receipt) {
      this.#fault("answer", `${what}, got receipt ${receipt}, and before that ${request.done.receipt}.`);
    }
    if (request.done === undefined && request.attempts === 1 && replayed) {
      if (this.#final.repeated.has(event.attempt)) this.#repeatedByProxy += 1;
      else this.#fault("answer", `${what} as a repetition, was sent once.`);
    }
    // If two attempts overlap, one is answered as new, and either answer may come first.
    if (!replayed && (request.isAnsweredAsNew || (request.done?.after ?? sent.after) < sent.after)) {
      this.#fault("answer", `${what} as new, had been answered before.`);
    }
    request.isAnsweredAsNew ||= !replayed;
    if (request.refusedWith !== undefined) {
      this.#fault("answer", `${what} as done, had been refused with ${request.refusedWith}.`);
    }
    const entry = this.#entryOfId.get(receipt);
    if (entry === undefined && request.done?.receipt !== receipt) {
      const [other] = entries;
      const instead = other === undefined ? "" : ` The journal has ${other.id} under its key.`;
      this.#fault("lost", `${what} with receipt ${receipt}, is not in the journal.${instead}`);
    } else if (entry !== undefined && !entries.includes(entry)) {
      this.#fault("answer", `${what} with receipt ${receipt}, has that of ${entryText(entry)}.`);
    } else if (entry !== undefined && !isAnswerOf(entry, balances)) {
      const left = balancesText(entry.balances);
      const told = balances === null ? "no balances" : balancesText(balances);
      this.#fault("answer", `${what} with ${told}, is an entry that left ${left}.`);
    }
    if (entry !== undefined) this.#see(order.pesel, entry.sequence, () => `the answer at ${timeText(at)}`);
    if (this.#doneAt !== undefined) this.#longestGapMs = Math.max(this.#longestGapMs, at - this.#doneAt);
    this.#doneAt = at;
    if (replayed) this.#replays += 1;
    if (request.done !== undefined) return;
    request.done = { receipt, at, after: this.#events };
    this.#waitsMs.push(at - request.sentAt);
    count(this.#answeredByKind, order.kind);
    if (replayed) this.#foundDone += 1;
  }

  #refused({ attempt, code }: Event & { readonly event: "refused" }): void {
    const request = this.#orders.get(attempt)?.request;
    if (request === undefined) return;
    request.refusals += 1;
    if (passingRefusals.has(code)) {
      count(this.#attemptsOpen, code);
      return;
    }
    request.refusedWith = code;
    const { order, done } = request;
    if (done !== undefined || code !== finalRefusal) {
      const but = done === undefined ? "" : `, having been answered at ${timeText(done.at)}`;
      this.#fault("answer", `${orderText(order)} was refused with ${code}${but}.`);
    } else this.#requireTooLittle(request);
  }

  /** A refusal for want of money has to have a place in which the account had too little. */
  #requireTooLittle({ order, low }: Request): void {
    const needed = neededBy(order);
    const states = this.#journal.get(order.pesel)?.slice(Math.max(0, low.sequence - 1)) ?? [];
    if (needed === undefined || states.length === 0) return;
    const { currency, minor } = needed;
    if (states.every(({ balances }) => (balances[currency] ?? 0) >= minor)) {
      this.#fault("answer", `${orderText(order)} was refused with ${finalRefusal}, and had enough.`);
    }
  }

  #answerRead(event: Event & { readonly event: "read" }): void {
    const asked = this.#reads.get(event.attempt);
    if (asked === undefined) throw new Error(`attempt ${event.attempt} was not sent`);
    this.#reads.delete(event.attempt);
    this.#readsAnswered += 1;
    const { pesel } = asked.read;
    const what = `The account ${pesel}, asked for at ${timeText(asked.at)} and answered at ${timeText(event.at)}`;
    const shown = event.balances === null ? "no account" : balancesText(event.balances);
    const place = this.#placeOf(pesel, event, asked.low.sequence);
    if (place === undefined) {
      this.#fault("phantom", `${what}, was ${shown}, as no entry left it.`);
    } else if (place >= asked.low.sequence) {
      this.#see(pesel, place, () => `a read answered at ${timeText(event.at)}`);
    } else if (this.#isExcused(pesel, place, asked)) {
      this.#excused += 1;
    } else {
      const { sequence, how } = asked.low;
      this.#fault("stale", `${what}, was as after entry ${place}, and ${how} had shown entry ${sequence}.`);
    }
  }

  /**
   * Sequence number of the entry after which the account was as this answer shows it: the first one from `low` on, or
   * the last one before.
   */
  #placeOf(
    pesel: string,
    { balances, entry }: Event & { readonly event: "read" },
    low: number,
  ): number | undefined {
    if (balances === null) return 0;
    const shown = balancesText(balances);
    const entries = this.#journal.get(pesel) ?? [];
    const isShown = (nth: number) => {
      const { id, sequence, balances: left } = entries[nth] as JournalEntry;
      const isIt = entry === undefined || (entry.id === id && entry.sequence === sequence);
      return isIt && balancesText(left) === shown;
    };
    const from = Math.max(0, low - 1);
    let nth = from;
    while (nth < entries.length && !isShown(nth)) nth += 1;
    if (nth >= entries.length) nth = Math.min(from, entries.length) - 1;
    while (nth >= 0 && !isShown(nth)) nth -= 1;
    return entries[nth]?.sequence;
  }

  /** Whether an unwatched primary may have answered: one that was unwatched after the read was sent. */
  #isExcused(pesel: string, place: number, { after }: ReadAttempt): boolean {
    return this.#unwatched.some(
      ({ seen, endedAfter }) => after < endedAfter && place >= (seen.get(pesel)?.sequence ?? 0),
    );
  }

  #seenOf(pesel: string): Seen {
    return this.#seen.get(pesel) ?? { sequence: 0, how: "nothing" };
  }

  #see(pesel: string, sequence: number, how: () => string): void {
    if (sequence > this.#seenOf(pesel).sequence) this.#seen.set(pesel, { sequence, how: how() });
  }

  #conclude({ order, entries, attempts, refusals, refusedWith, done }: Request): void {
    const [entry, ...more] = entries;
    const what = orderText(order);
    if (entry === undefined) return;
    if (more.length > 0) {
      const numbers = entries.map(({ sequence }) => sequence).join(" and ");
      this.#fault("doubled", `${what} is in the journal ${entries.length} times, as entries ${numbers}.`);
    }
    if (entry.what !== askedText(order))
      this.#fault("altered", `${what} was carried out as ${entryText(entry)}.`);
    if (done === undefined && (refusedWith !== undefined || refusals === attempts)) {
      const how = refusedWith === undefined ? "each time" : `with ${refusedWith}`;
      this.#fault("refused", `${what} was refused ${how}, and is entry ${entry.sequence}.`);
    }
  }

  /** An audit compares the accounts with the journal, so that all have the same ledger if their audits agree. */
  #compareReaders(): void {
    const digests = new Map<string, string>();
    for (const { name, audit, failure } of this.#final.readers) {
      if (failure !== undefined) this.#fault("readers", `${name} could not be read: ${failure}`);
      if (audit === undefined) continue;
      digests.set(audit.digest, name);
      if (audit.findings > 0) this.#fault("readers", `The audit by ${name} has findings: ${audit.findings}.`);
      const { length } = this.#final.journal;
      if (audit.entries !== length) {
        this.#fault(
          "readers",
          `The audit by ${name} read ${audit.entries} entries, and the journal has ${length}.`,
        );
      }
    }
    if (digests.size > 1) {
      const names = [...digests.values()].join(", ");
      this.#fault("readers", `The chains are not the same everywhere: ${names} audited different ones.`);
    }
  }

  #figures(): Figures {
    const requests = [...this.#requests.values()];
    const unknown = requests.filter(
      ({ done, refusedWith }) => done === undefined && refusedWith === undefined,
    );
    const waits = this.#waitsMs.sort((a, b) => a - b);
    return {
      orders: requests.length,
      answered: requests.filter(({ done }) => done !== undefined).length,
      answeredByKind: this.#answeredByKind,
      refused: requests.filter(({ refusedWith }) => refusedWith !== undefined).length,
      unknown: unknown.length,
      unknownDone: unknown.filter(({ entries }) => entries.length > 0).length,
      attemptsOpen: this.#attemptsOpen,
      replays: this.#replays,
      foundDone: this.#foundDone,
      waitMs: { median: waits[Math.floor(waits.length / 2)] ?? 0, max: waits.at(-1) ?? 0 },
      reads: this.#readsAnswered,
      staleReadsExcused: this.#excused,
      repeatedByProxy: this.#repeatedByProxy,
      entries: this.#final.journal.length,
      longestGapMs: this.#longestGapMs,
    };
  }
}

/** The money that an order takes; undefined where that depends on a rate or on another order. */
function neededBy(order: Asked): Amount | undefined {
  if (order.kind === "withdrawal") {
    return { currency: order.currency, minor: minorOf(order.amount, order.currency) };
  }
  if (order.kind === "exchange" && "toSell" in order) {
    return { currency: order.from, minor: minorOf(order.toSell, order.from) };
  }
  return ["exchange", "reversal"].includes(order.kind) ? undefined : { currency: "PLN", minor: 0 };
}

function isAnswerOf(entry: JournalEntry, balances: Balances | null): boolean {
  if (balances === null) return entry.kind === "opening";
  return balancesText(balances) === balancesText(entry.balances);
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

function listIn<Key, T>(lists: Map<Key, T[]>, key: Key): T[] {
  const list = lists.get(key) ?? [];
  if (list.length === 0) lists.set(key, list);
  return list;
}

function isRead(asked: Asked | Read): asked is Read {
  return asked.kind === "account" || asked.kind === "newest";
}

/** The identity of an order and its entries: the key or, without one, what is asked for. */
function nameOf(pesel: string, key: string | null | undefined, what: string): string {
  return (key ?? null) === null ? `${pesel} without a key: ${what}` : `${pesel} with the key ${key}`;
}

/** All that an order asks for, but for its account and key. */
export function askedText(order: Asked): string {
  switch (order.kind) {
    case "opening":
      return `opening for ${order.name} ${order.surname} with PLN ${order.pln}`;
    case "exchange": {
      const side = "toBuy" in order ? `toBuy ${order.toBuy}` : `toSell ${order.toSell}`;
      return `exchange from ${order.from} to ${order.to}, ${side}`;
    }
    case "deposit":
    case "withdrawal":
      return `${order.kind} of ${order.currency} ${order.amount}`;
    case "renaming":
      return `renaming to ${order.name} ${order.surname}`;
    case "closing":
      return "closing";
    case "block":
    case "unblock":
      return `${order.kind}: ${order.reason}`;
    case "reversal":
      return `reversal of ${order.receipt}: ${order.reason}`;
  }
}

function orderText(order: Asked): string {
  return `The ${askedText(order)} by ${nameOf(order.pesel, order.key, "").replace(/: $/, "")}`;
}

function entryText(entry: JournalEntry): string {
  const key = entry.key === null ? "without a key" : `with the key ${entry.key}`;
  return `entry ${entry.sequence} of ${entry.pesel} (${entry.what} ${key})`;
}

export function balancesAfter(
  before: Balances,
  { debited, credited }: Pick<JournalEntry, "debited" | "credited">,
): Balances {
  const after: Record<string, number> = { ...before };
  if (debited !== null) after[debited.currency] = (after[debited.currency] ?? 0) - debited.minor;
  if (credited !== null) after[credited.currency] = (after[credited.currency] ?? 0) + credited.minor;
  return after;
}

function timeText(at: number): string {
  return `${(at / 1000).toFixed(2)} s`;
}
