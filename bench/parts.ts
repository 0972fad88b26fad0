import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createDatabase, startPostgres } from "../test/support/postgres.ts";
import { type Build, load, run, startServer } from "./processes.ts";
import { writeBatch, writeOpenings, writeOrders, writeReads } from "./requests.ts";

/** The amount of work of a run. */
export interface Size {
  /** Duration of one load. */
  readonly seconds: number;
  readonly accounts: number;
  /** Lines of a batch, and thus entries of the audited ledger. */
  readonly lines: number;
}

/** Figures by name. A name ends with its unit: `order, memory:, 64 connections, ms at p99`. */
export type Figures = Record<string, number>;

/** Measures one build once, in an empty folder. */
export type Part = (build: Build, folder: string, size: Size) => Promise<Figures>;

export const parts: Readonly<Record<string, Part>> = {
  memory: (build, folder, size) => http("memory:", build, folder, size),
  sqlite: (build, folder, size) => http("sqlite:", build, folder, size),
  postgres: (build, folder, size) => http("postgres:", build, folder, size),
  batch,
  start,
};

/** Measures orders over 64 and 256 connections, and reads over 64, on a warm server. */
async function http(store: string, build: Build, folder: string, size: Size): Promise<Figures> {
  const { db, stop } = await openDatabase(store, folder);
  const server = await startServer(build, db);
  try {
    await run(build, ["batch", writeOpenings(folder, size.accounts), "--url", server.url]);
    const [orders, reads] = [writeOrders(folder, size.accounts), writeReads(folder, size.accounts)];
    await load(server.url, orders, 64, 2);
    const measure = async (name: string, file: string, connections: number): Promise<Figures> => {
      const before = server.cpuSeconds();
      const { requests, seconds, p99Ms } = await load(server.url, file, connections, size.seconds);
      const label = `${name}, ${store}, ${connections} connections`;
      return {
        [`${label}, a second`]: requests / seconds,
        [`${label}, µs of CPU`]: ((server.cpuSeconds() - before) * 1e6) / requests,
        [`${label}, ms at p99`]: p99Ms,
      };
    };
    const figures = {
      ...(await measure("order", orders, 64)),
      ...(await measure("order", orders, 256)),
      ...(await measure("account read", reads, 64)),
    };
    await requireCleanAudit(server.url);
    return figures;
  } finally {
    await server.stop();
    await stop();
  }
}

/** Measures `fx batch` in its own process and through a server, then the audit of that ledger, alone and under load. */
async function batch(build: Build, folder: string, size: Size): Promise<Figures> {
  const openings = writeOpenings(folder, size.accounts);
  const file = writeBatch(folder, size.lines, size.accounts);
  const each = (seconds: number) => (seconds * 1e6) / size.lines;
  const own = `sqlite:${join(folder, "own.db")}`;
  await run(build, ["batch", openings, "--url", own]);
  const alone = await run(build, ["batch", file, "--url", own]);
  const audit = await run(build, ["audit", "--url", own]);

  const server = await startServer(build, `sqlite:${join(folder, "served.db")}`);
  try {
    await run(build, ["batch", openings, "--url", server.url]);
    const served = await run(build, ["batch", file, "--url", server.url]);
    const auditEnds = requireCleanAudit(server.url);
    await pause(200);
    const beside = await load(server.url, writeOrders(folder, 100), 1, 2);
    await auditEnds;
    return {
      "batch in its own process, µs a line": each(alone.seconds),
      "batch in its own process, µs of CPU a line": each(alone.cpuSeconds),
      "batch in its own process, MB at most": alone.peakMb,
      "batch through a server, µs a line": each(served.seconds),
      "batch through a server, MB of the server at most": server.peakMb(),
      "audit, µs an entry": each(audit.seconds),
      "audit, µs of CPU an entry": each(audit.cpuSeconds),
      "audit, MB at most": audit.peakMb,
      "order beside an audit, ms at most": beside.longestMs,
    };
  } finally {
    await server.stop();
  }
}

/** Measures the run time of short commands. */
async function start(build: Build): Promise<Figures> {
  const quote = ["quote", "--from", "PLN", "--to", "USD", "--to-buy", "1", "--url", "memory:"];
  return {
    "fx --version, ms": (await run(build, ["--version"])).seconds * 1000,
    "fx --help, ms": (await run(build, ["--help"])).seconds * 1000,
    "fx quote in its own process, ms": (await run(build, quote)).seconds * 1000,
  };
}

/** An empty database that syncs to disk, or one in memory. */
async function openDatabase(store: string, folder: string): Promise<{ db: string; stop(): Promise<void> }> {
  if (store === "memory:") return { db: store, stop: async () => {} };
  if (store === "sqlite:") return { db: `sqlite:${join(folder, "ledger.db")}`, stop: async () => {} };
  const postgres = await startPostgres({ durable: true });
  return { db: (await createDatabase(postgres.url)).url, stop: () => postgres.stop() };
}

/** @throws if the audit is not clean: then no figure counts */
async function requireCleanAudit(url: string): Promise<void> {
  const answer = await fetch(`${url}/api/audit`);
  const { ok } = (await answer.json()) as { ok?: boolean };
  if (ok !== true) throw new Error(`the audit of ${url} after the load is not clean`);
}
