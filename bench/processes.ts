import { setTimeout as pause } from "node:timers/promises";
import { createDatabase, runSql, startPostgres } from "../test/support/postgres.ts";
import { measure } from "./load.ts";
import type { Options } from "./options.ts";
import { median, printTable, progress, row } from "./report.ts";
import { writeRequests } from "./requests.ts";
import {
  inFolder,
  openAccounts,
  postgresCpuSeconds,
  requireCleanAudit,
  type Server,
  startFx,
} from "./servers.ts";

/** Of all processes together. */
const connections = 256;
const sampleMs = 20;
/** Of each process: until then it is compiled as it runs. */
const warmUpOrders = 10_000;

/** What one load of a number of processes came to. Figures of work are for one order. */
interface Sample {
  readonly perSecond: number;
  readonly fxUs: number;
  readonly databaseUs: number;
  readonly ordersPerCommit: number;
  readonly walBytes: number;
  readonly walSyncs: number;
  readonly deadlocks: number;
  /** Of the time of the connections that write: what they do, or wait for. */
  readonly waits: ReadonlyMap<string, number>;
}

/**
 * 1, 2 and 4 processes of fx over one PostgreSQL that syncs to disk, on many accounts and on few: orders a second, and
 * what an order takes of fx, of PostgreSQL, of its log and of its locks. On one machine the rates of orders say little,
 * since generator, processes and database share its cores; the figures for one order say where the limit is.
 */
export async function benchProcesses({ rounds, seconds, accounts, processes }: Options): Promise<void> {
  await inFolder(async (folder) => {
    for (const spread of [accounts, 10]) {
      printTable([
        ...[`processes, on ${spread} accounts`, "orders/s", "fx's CPU µs", "PostgreSQL's", "orders/commit"],
        ...["WAL bytes", "syncs/1000", "deadlocks", "writing connections"],
      ]);
      for (const count of processes) {
        const samples: Sample[] = [];
        for (let round = 1; round <= rounds; round += 1) {
          progress(`${count} processes on ${spread} accounts, round ${round} of ${rounds}`);
          samples.push(await benchRound(folder, { count, seconds, spread }));
        }
        printSamples(count, samples);
      }
    }
  });
}

async function benchRound(
  folder: string,
  { count, seconds, spread }: { count: number; seconds: number; spread: number },
): Promise<Sample> {
  const database = await startPostgres({ durable: true, settings: { track_wal_io_timing: "on" } });
  const { url } = await createDatabase(database.url);
  const name = new URL(url).pathname.slice(1);
  const servers: Server[] = [];
  try {
    for (let index = 1; index <= count; index += 1) servers.push(await startFx(`fx ${index}`, url));
    const [first] = servers as [Server];
    await openAccounts(first, folder, spread);
    const file = writeRequests(folder, "exchange", { accounts: spread, keys: true });
    const load = (prefix: string, loadSeconds: number) =>
      Promise.all(
        servers.map((server, index) =>
          measure({
            url: server.url,
            file,
            connections: Math.round(connections / count),
            seconds: loadSeconds,
            keyPrefix: `${prefix}-${index}-`,
          }),
        ),
      );
    for (let warm = 0, nth = 1; warm < warmUpOrders * count; nth += 1) {
      const sent = await load(`warm-up-${nth}`, Math.min(3, seconds));
      warm += sent.reduce((sum, { requests }) => sum + requests, 0);
    }
    const figures = async () => {
      const [counts] = await runSql(
        database.url,
        `select (pg_current_wal_insert_lsn() - '0/0')::float8 as wal, wal_sync::float8 as syncs,
          xact_commit::float8 as commits, deadlocks::float8 as deadlocks
        from pg_stat_wal, pg_stat_database where datname = '${name}'`,
      );
      return {
        ...(counts as unknown as { wal: number; syncs: number; commits: number; deadlocks: number }),
        fx: servers.reduce((sum, server) => sum + server.cpuSeconds().own, 0),
        database: postgresCpuSeconds(database),
      };
    };
    const before = await settled(figures);
    const watch = watchWaits(database.url, name, count);
    const sent = await load("load", seconds);
    const waits = await watch.stop();
    const after = await settled(figures);
    await requireCleanAudit(first);
    const orders = sent.reduce((sum, { requests }) => sum + requests, 0);
    const each = (figure: keyof typeof before) => (after[figure] - before[figure]) / orders;
    return {
      perSecond: sent.reduce((sum, { requests, seconds: took }) => sum + requests / took, 0),
      fxUs: each("fx") * 1e6,
      databaseUs: each("database") * 1e6,
      ordersPerCommit: 1 / each("commits"),
      walBytes: each("wal"),
      walSyncs: each("syncs") * 1000,
      deadlocks: after.deadlocks - before.deadlocks,
      waits,
    };
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await database.stop();
  }
}

/** PostgreSQL's processes report their counts at most once a second. */
async function settled<T>(read: () => Promise<T>): Promise<T> {
  await pause(1500);
  return read();
}

/** Looks what the connections that write are doing: one of each process, for single orders. */
function watchWaits(
  server: string,
  name: string,
  writers: number,
): { stop(): Promise<ReadonlyMap<string, number>> } {
  const seen = new Map<string, number>();
  let looks = 0;
  let stopping = false;
  const watching = (async () => {
    for (; !stopping; looks += 1) {
      const rows = await runSql(
        server,
        `select case
          when state = 'idle in transaction' then 'waits for fx'
          when wait_event_type in ('Lock', 'LWLock', 'IO') then wait_event_type || ' ' || wait_event
          else 'works' end as doing
        from pg_stat_activity where datname = '${name}' and state <> 'idle'`,
      );
      for (const { doing } of rows) seen.set(String(doing), (seen.get(String(doing)) ?? 0) + 1);
      await pause(sampleMs);
    }
  })();
  return {
    stop: async () => {
      stopping = true;
      await watching;
      return new Map([...seen].map(([doing, count]) => [doing, count / (looks * writers)]));
    },
  };
}

function printSamples(count: number, samples: readonly Sample[]): void {
  const middle = (field: Exclude<keyof Sample, "waits">) => median(samples.map((sample) => sample[field]));
  const doing = new Set(samples.flatMap(({ waits }) => [...waits.keys()]));
  const shares = [...doing]
    .map((name) => [name, median(samples.map(({ waits }) => waits.get(name) ?? 0))] as const)
    .filter(([, share]) => share >= 0.02)
    .sort(([, a], [, b]) => b - a)
    .map(([name, share]) => `${name} ${Math.round(share * 100)} %`);
  row(
    ...[count, Math.round(middle("perSecond")), middle("fxUs"), middle("databaseUs")],
    ...[middle("ordersPerCommit"), Math.round(middle("walBytes")), middle("walSyncs"), middle("deadlocks")],
    shares.join(", "),
  );
}
