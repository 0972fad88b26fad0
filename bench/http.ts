import { parseArgs } from "node:util";
import type { Load } from "./load.ts";
import { bareName, measure, openAccounts, type Server, startBare, startStores } from "./servers.ts";

/** One line of the table: a kind of request, sent in one way. */
interface Row {
  readonly kind: Load["kind"];
  readonly connections: number;
  readonly accounts: number;
  readonly stores: readonly string[];
}

const everyStore = ["memory:", "sqlite:", "postgres:"];
const rows: readonly Row[] = [
  ...[64, 256].flatMap((connections) =>
    [10_000, 10].map((accounts): Row => ({ kind: "exchange", connections, accounts, stores: everyStore })),
  ),
  { kind: "account", connections: 64, accounts: 10_000, stores: everyStore },
  { kind: "create", connections: 64, accounts: 10_000, stores: everyStore },
  { kind: "quote", connections: 64, accounts: 10_000, stores: ["memory:"] },
];

/** What one row came to on one server in one round. */
interface Sample {
  readonly row: Row;
  readonly store: string;
  readonly perSecond: number;
  readonly cpuUs: number;
}

/**
 * Every kind of request as a ratio to the bare route, in one run: the baseline and the stores take turns, and the
 * median over the rounds counts. Every round has new servers: two processes of one build differ by a tenth.
 */
export async function benchHttp(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "5" },
      seconds: { type: "string", default: "2" },
      only: { type: "string", default: "" },
    },
  });
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
  const wanted = rows.filter(({ kind }) => kind.startsWith(values.only));
  const samples: Sample[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    process.stderr.write(`round ${round} of ${rounds}\n`);
    const { servers, stop } = await startStores();
    const bare = await startBare();
    try {
      await Promise.all(servers.map((server) => openAccounts(server, 10_000)));
      await warmUp(wanted, [bare, ...servers]);
      for (const row of wanted) samples.push(...(await sample(row, [bare, ...servers], seconds)));
      if (round === rounds) {
        printTable(wanted, samples);
        print("");
        print("| exchange, 64 connections, half of its maximum | rate/s | p50 ms | p99 ms | p99.9 ms |");
        print("|---|---|---|---|---|");
        for (const server of [bare, ...servers]) await benchLatency(server, seconds * 2);
      }
      await Promise.all(servers.map(requireCleanAudit));
    } finally {
      await Promise.all([bare.stop(), stop()]);
    }
  }
}

/** Until compiled and grown to size, a server is not what it is for the rest of its life. */
async function warmUp(wanted: readonly Row[], servers: readonly Server[]): Promise<void> {
  const [order] = rows as [Row];
  await sample(order, servers, 3);
  for (const kind of new Set(wanted.map(({ kind }) => kind))) {
    const row = wanted.find((row) => row.kind === kind) as Row;
    if (kind !== order.kind) await sample(row, servers, 1);
  }
}

async function sample(row: Row, servers: readonly Server[], seconds: number): Promise<Sample[]> {
  const { kind, connections, accounts } = row;
  const samples: Sample[] = [];
  for (const server of servers.filter(({ name }) => name === bareName || row.stores.includes(name))) {
    const before = server.cpuSeconds();
    const { perSecond } = await measure({ url: server.url, kind, connections, accounts, seconds });
    const cpuUs = ((server.cpuSeconds() - before) * 1e6) / (perSecond * seconds);
    samples.push({ row, store: server.name, perSecond, cpuUs });
  }
  return samples;
}

function printTable(wanted: readonly Row[], samples: readonly Sample[]): void {
  print(
    "| request | connections | accounts | store | requests/s | ratio to bare | each round's | CPU µs/request | bare |",
  );
  print("|---|---|---|---|---|---|---|---|---|");
  for (const row of wanted) {
    const of = (name: string) => samples.filter((sample) => sample.row === row && sample.store === name);
    const bare = of(bareName);
    for (const store of row.stores) {
      const own = of(store);
      const ratios = own.map(({ perSecond }, round) => perSecond / (bare[round]?.perSecond ?? Number.NaN));
      const rate = (taken: readonly Sample[]) => Math.round(median(taken.map(({ perSecond }) => perSecond)));
      const cpu = (taken: readonly Sample[]) => Math.round(median(taken.map(({ cpuUs }) => cpuUs)));
      const cells = [row.kind, row.connections, row.accounts, store, rate(own), median(ratios).toFixed(2)];
      const each = ratios.map((ratio) => ratio.toFixed(2)).join(" ");
      print(`| ${[...cells, each, cpu(own), `${rate(bare)}/s, ${cpu(bare)} µs`].join(" | ")} |`);
    }
  }
}

async function benchLatency({ name, url }: Server, seconds: number): Promise<void> {
  const load = { url, kind: "exchange", connections: 64, accounts: 10_000, seconds } as const;
  const { perSecond } = await measure(load);
  const rate = Math.round(perSecond / 2);
  const { latency } = await measure({ ...load, rate });
  print(`| ${[name, rate, latency.p50, latency.p99, latency.p999].join(" | ")} |`);
}

async function requireCleanAudit({ name, url }: Server): Promise<void> {
  const { ok, entries } = (await (await fetch(`${url}/api/audit`)).json()) as {
    ok: boolean;
    entries: number;
  };
  if (!ok) throw new Error(`the audit of ${name} after the bench found disagreements`);
  process.stderr.write(`audit of ${name} after the round: ${entries} entries, clean\n`);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
