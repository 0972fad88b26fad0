import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Entry } from "../../src/core/journal.ts";
import type { Money } from "../../src/core/money.ts";
import { auditLedger } from "../../src/ledger/audit.ts";
import { readJournal } from "../../src/ledger/journal-reader.ts";
import { decodeEntry } from "../../src/ledger/rows.ts";
import { openPostgres, type PostgresStore } from "../../src/postgres/store.ts";
import { send } from "../support/http.ts";
import type { Cluster } from "./cluster.ts";
import type { Amount, Balances } from "./history.ts";
import type { Final, JournalEntry, Reader } from "./judge.ts";
import { type AccountBody, balancesOf, minorUnitsIn, repeatedIn } from "./wire.ts";

const standbyWithinMs = 60_000;
/** Reads are repeated because delayed packets can deliver orders after their clients gave up. */
const readAtMost = 5;

/**
 * Reads the ledger after all faults are undone: the journal from the primary, the views of every fx, the proxy and
 * every PostgreSQL, and the proxy's log. Reads again if an order arrives meanwhile.
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

async function reading(name: string, read: () => Promise<Omit<Reader, "name">>): Promise<Reader> {
  try {
    return { name, ...(await read()) };
  } catch (error) {
    return { name, failure: String(error) };
  }
}

async function throughFx(url: string): Promise<Omit<Reader, "name">> {
  const get = async (path: string): Promise<unknown> => {
    const { status, text, json } = await send(url, "GET", path);
    if (status !== 200) throw new Error(`${path} was answered with ${status}: ${text}`);
    return json;
  };
  const accounts = new Map<string, Balances>();
  for (let next: string | null = ""; next !== null; ) {
    const cursor: string = next && `&cursor=${next}`;
    const page = (await get(`/api/users?limit=200${cursor}`)) as {
      readonly users: readonly (AccountBody & { readonly pesel: string })[];
      readonly next: string | null;
    };
    for (const account of page.users) accounts.set(account.pesel, balancesOf(account));
    next = page.next;
  }
  const { findingsTotal, entries, digest } = (await get("/api/audit")) as {
    readonly findingsTotal: number;
    readonly entries: number;
    readonly digest: string;
  };
  const { currencies } = (await get("/api/position")) as {
    readonly currencies: readonly {
      readonly symbol: string;
      readonly customers: number;
      readonly house: number;
    }[];
  };
  const position = new Map(
    currencies.map(({ symbol, customers, house }) => [
      symbol,
      { customers: minorUnitsIn(customers, symbol), house: minorUnitsIn(house, symbol) },
    ]),
  );
  return { accounts, audit: { findings: findingsTotal, entries, digest }, position };
}

/** Waits for a standby that still replays. */
async function throughDatabase(url: string, entries: number): Promise<Omit<Reader, "name">> {
  const deadline = performance.now() + standbyWithinMs;
  const store = await openPostgres(url, { access: "read" });
  try {
    for (;;) {
      const report = await auditLedger(store);
      if (report.entries >= entries || performance.now() > deadline) {
        const audit = { findings: report.findingsTotal, entries: report.entries, digest: report.digest };
        return { accounts: await accountsOf(store), audit };
      }
      await pause(500);
    }
  } finally {
    await store.close();
  }
}

async function accountsOf(store: PostgresStore): Promise<ReadonlyMap<string, Balances>> {
  const rows = await store.accounts({ limit: 1_000_000 });
  return new Map(rows.map(({ pesel, balances }) => [pesel, balancesIn(balances)]));
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
