import assert from "node:assert/strict";
import { join } from "node:path";
import type { Entry } from "../../src/core/journal.ts";
import type { Money } from "../../src/core/money.ts";
import { auditLedger } from "../../src/ledger/audit.ts";
import { readRows } from "../../src/ledger/journal-reader.ts";
import { decodeEntry } from "../../src/ledger/rows.ts";
import type { Store } from "../../src/ledger/store.ts";
import type { Asked } from "../support/asked.ts";
import { Load, type LoadOptions } from "./clients.ts";
import { type Amount, type Event, History } from "./history.ts";
import { askedText, type JournalEntry, judge, type Reader, type Verdict } from "./judge.ts";
import { amountText } from "./wire.ts";

/** All entries of a ledger, in the order in which they were committed. */
export async function journalOf(store: Store): Promise<JournalEntry[]> {
  const journal: JournalEntry[] = [];
  for await (const rows of readRows(store, "journal")) {
    for (const row of rows) journal.push(journalEntry(decodeEntry(row).entry));
  }
  return journal;
}

export async function auditOf(store: Store): Promise<NonNullable<Reader["audit"]>> {
  const { findingsTotal: findings, entries, digest } = await auditLedger(store);
  return { findings, entries, digest };
}

/**
 * Runs a load until `work` is done and every order is settled.
 * @param folder keeps the history, which is returned
 */
export async function underLoad(
  folder: string,
  options: Omit<LoadOptions, "history" | "seed">,
  work: (load: Load) => Promise<unknown>,
): Promise<History> {
  const history = new History(join(folder, "history.jsonl"));
  const seed = Math.floor(Math.random() * 1_000_000);
  const load = await Load.start({ answerWithinMs: 30_000, pauseMs: 5, ...options, history, seed });
  let givenUp = 0;
  try {
    await work(load);
  } finally {
    givenUp = await load.finish(60_000);
    await history.close();
  }
  if (givenUp > 0) throw new Error(`${givenUp} orders were not settled in the end`);
  return history;
}

/**
 * Sends these orders with their keys, each until it is settled.
 * @param before the history in which this one goes on
 */
export async function repeatAll(
  folder: string,
  { url, orders, before }: { url: string; orders: readonly Asked[]; before: Iterable<Event> },
): Promise<History> {
  const history = new History(join(folder, "history.jsonl"), before);
  await Load.repeat(
    { urls: [url], history, seed: 0, readers: 0, pauseMs: 0, answerWithinMs: 30_000 },
    orders,
  );
  await history.close();
  return history;
}

/**
 * Asserts that the ledger has what a load was answered, and that no answer was an error of fx itself.
 * @returns the judge's figures
 */
export async function requireClean(store: Store, history: Iterable<Event>): Promise<Verdict["figures"]> {
  const audit = await auditOf(store);
  const journal = await journalOf(store);
  const readers = [{ name: "the store", audit }];
  const { faults, figures } = judge(history, { journal, readers, repeated: new Set() });
  assert.deepEqual(
    faults.map(({ kind, text }) => `${kind}: ${text}`),
    [],
  );
  const reasons = Object.keys(figures.attemptsOpen);
  assert.deepEqual(
    reasons.filter((why) => /^internal$|^status/.test(why)),
    [],
  );
  return figures;
}

function journalEntry(entry: Entry): JournalEntry {
  const { pesel, sequence, id, kind, key = null, balances } = entry;
  return {
    ...{ pesel, sequence, id, key, kind, what: askedText(orderOf(entry)) },
    debited: amountIn(entry.debited),
    credited: amountIn(entry.credited),
    balances: Object.fromEntries(balances.map(({ currency, minor }) => [currency, Number(minor)])),
  };
}

/** The order that an entry carries out. */
function orderOf(entry: Entry): Parameters<typeof askedText>[0] {
  const {
    kind,
    pesel,
    holder,
    debited,
    credited,
    exchange,
    note: reason = "",
    reverses: receipt = "",
  } = entry;
  const text = (money: Money | undefined) =>
    money === undefined ? "" : amountText(Number(money.minor), money.currency);
  switch (kind) {
    case "opening":
      return { kind, pesel, ...holder, pln: text(credited) };
    case "exchange": {
      const terms = { kind, pesel, from: debited?.currency ?? "", to: credited?.currency ?? "" };
      return exchange?.side === "toBuy"
        ? { ...terms, toBuy: text(credited) }
        : { ...terms, toSell: text(debited) };
    }
    case "deposit":
    case "withdrawal": {
      const moved = debited ?? credited;
      return { kind, pesel, amount: text(moved), currency: moved?.currency ?? "" };
    }
    case "renaming":
      return { kind, pesel, ...holder };
    case "closing":
      return { kind, pesel };
    case "block":
    case "unblock":
      return { kind, pesel, reason };
    case "reversal":
      return { kind, pesel, receipt, reason };
  }
}

function amountIn(money: Money | undefined): Amount | null {
  return money === undefined ? null : { currency: money.currency, minor: Number(money.minor) };
}
