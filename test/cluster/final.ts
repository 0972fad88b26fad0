import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openPostgres } from "../../src/postgres/store.ts";
import type { Final, JournalEntry, Reader } from "../load/judge.ts";
import { auditOf, journalOf } from "../load/ledger.ts";
import { send } from "../support/http.ts";
import type { Cluster } from "./cluster.ts";
import { repeatedIn } from "./proxy-log.ts";

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
    const { length } = await readJournal(cluster);
    if (length === final.journal.length || times === readAtMost) return final;
  }
}

async function readOnce(cluster: Cluster): Promise<Final> {
  const journal = await readJournal(cluster);
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

async function readJournal({ databaseUrl }: Cluster): Promise<readonly JournalEntry[]> {
  const store = await openPostgres(databaseUrl, { access: "read" });
  return journalOf(store).finally(() => store.close());
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
      const audit = await auditOf(store);
      if (audit.entries >= length || performance.now() > deadline) return audit;
      await pause(500);
    }
  } finally {
    await store.close();
  }
}
