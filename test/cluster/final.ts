import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Entry } from "../../src/core/journal.ts";
import type { Money } from "../../src/core/money.ts";
import { auditLedger } from "../../src/ledger/audit.ts";
import { readJournal } from "../../src/ledger/journal-reader.ts";
import { decodeEntry } from "../../src/ledger/rows.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { send } from "../support/http.ts";
import type { Cluster } from "./cluster.ts";
import type { Amount, Balances } from "./history.ts";
import type { Final, JournalEntry, Reader } from "./judge.ts";
import { repeatedIn } from "./wire.ts";

const standbyWithinMs = 60_000;
/** Reads are repeated because delayed packets can deliver orders after their clients gave up. */
const readAtMost = 5;

/**
 * Reads the ledger after all faults are undone: the journal from the primary, the audits by every fx, the proxy
 * and every PostgreSQL, and the proxy's log. Reads again if an order arrives meanwhile.
 */
export async function readFinal(cluster: Cluster): Promise<Final> {
  for (let times = 1; ; times += 1) {
    const final = await readOnce(cluster);
    const { length } = await journalOf(cluster);
    if (length === final.journal.length || times === readAtMost) return final;
  }
}

async function readOnce(cluster: Cluster): Promise<Final> {
  const journal = await journalOf(cluster);
  const { pathname } = new URL(cluster.url);
  const prefix = pathname.replace(/\/$/, "");
  const named = (start: string) => cluster.hosts.filter(({ name }) => name.startsWith(start));
  const readers: Reader[] = [];
  for (const { name, address } of named("fx")) {
    readers.push(await reading(name, () => throughFx(`http://${address}:8080${prefix}`)));
  }
  readers.push(await reading("proxy", () => throughFx(cluster.url.replace(/\/$/, ""))));
  for (const { name, address } of named("db")) {
    const url = cluster.databaseUrl
      .replace(/(?<=@)[^/]+/, address)
      .replace(/target_session_attrs=[\w-]+/, "target_session_attrs=any");
    readers.push(await reading(name, () => throughDatabase(url, journal.length)));
  }
  const proxyLog = readFileSync(join(cluster.host("proxy").folder, "haproxy.log"), "utf8");
  return { journal, readers, repeated: repeatedIn(proxyLog) };
}

async function journalOf(cluster: Cluster): Promise<readonly JournalEntry[]> {
  const store = await openPostgres(cluster.databaseUrl, { access: "read" });
  const journal: JournalEntry[] = [];
  try {
    for await (const rows of readJournal(store)) {
      for (const row of rows) journal.push(journalEntry(decodeEntry(row).entry));
    }
  } finally {
    await store.close();
  }
  return journal;
}

type Audit = Required<Reader>["audit"];

async function reading(name: string, audit: () => Promise<Audit>): Promise<Reader> {
  try {
    return { name, audit: await audit() };
  } catch (error) {
    return { name, failure: String(error) };
  }
}

async function throughFx(url: string): Promise<Audit> {
  const { status, text, json } = await send(url, "GET", "/api/audit");
  if (status !== 200) throw new Error(`the audit was answered with ${status}: ${text}`);
  const { findingsTotal, entries, digest } = json as Omit<Audit, "findings"> & { findingsTotal: number };
  return { findings: findingsTotal, entries, digest };
}

/** Waits for a standby that still replays. */
async function throughDatabase(url: string, length: number): Promise<Audit> {
  const deadline = performance.now() + standbyWithinMs;
  const store = await openPostgres(url, { access: "read" });
  try {
    for (;;) {
      const { findingsTotal: findings, entries, digest } = await auditLedger(store);
      if (entries >= length || performance.now() > deadline) return { findings, entries, digest };
      await pause(500);
    }
  } finally {
    await store.close();
  }
}

function journalEntry({ debited, credited, exchange, key, balances, ...entry }: Entry): JournalEntry {
  const { pesel, sequence, id, kind } = entry;
  const moved = { debited: amountIn(debited), credited: amountIn(credited) };
  const side = exchange?.side ?? null;
  return { pesel, sequence, id, key: key ?? null, kind, side, ...moved, balances: balancesIn(balances) };
}

function amountIn(money: Money | undefined): Amount | null {
  return money === undefined ? null : { currency: money.currency, minor: Number(money.minor) };
}

function balancesIn(balances: readonly Money[]): Balances {
  return Object.fromEntries(balances.map(({ currency, minor }) => [currency, Number(minor)]));
}
