import { parseArgs } from "node:util";
import type { Load } from "./load.ts";
import { measure, openAccounts, type Server, startBare, startStores } from "./servers.ts";

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

/**
 * Every kind of request as a ratio to the bare route, in one run: rounds in which the baseline and the stores take
 * turns, and the median over the rounds of each round's ratio.
 */
export async function benchHttp(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "3" },
      seconds: { type: "string", default: "2" },
      only: { type: "string", default: "" },
    },
  });
  const seconds = Number(values.seconds);
  const { servers, stop } = await startStores();
  const bare = await startBare();
  try {
    await Promise.all(servers.map((server) => openAccounts(server, 10_000)));
    // Until compiled and grown to size, a server is not what it is for the rest of its life.
    for (const server of [bare, ...servers]) {
      await measure({ url: server.url, kind: "exchange", connections: 64, accounts: 10_000, seconds: 5 });
    }
    print(
      "| request | connections | accounts | store | requests/s | ratio to bare | CPU µs/request | bare |",
    );
    print("|---|---|---|---|---|---|---|---|");
    for (const row of rows.filter(({ kind }) => kind.startsWith(values.only))) {
      await benchRow(row, { bare, servers, rounds: Number(values.rounds), seconds });
    }
    print("");
    print("| exchange, 64 connections, half of its maximum | rate/s | p50 ms | p99 ms | p99.9 ms |");
    print("|---|---|---|---|---|");
    for (const server of [bare, ...servers]) await benchLatency(server, seconds * 2);
    for (const server of servers) await requireCleanAudit(server);
  } finally {
    await Promise.all([bare.stop(), stop()]);
  }
}

async function benchRow(
  { kind, connections, accounts, stores }: Row,
  run: { bare: Server; servers: readonly Server[]; rounds: number; seconds: number },
): Promise<void> {
  const { bare, rounds, seconds } = run;
  const servers = run.servers.filter(({ name }) => stores.includes(name));
  const rates = new Map<Server, number[]>([bare, ...servers].map((server) => [server, []]));
  const cpus = new Map<Server, number[]>([bare, ...servers].map((server) => [server, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const server of [bare, ...servers]) {
      const before = server.cpuSeconds();
      const { perSecond } = await measure({ url: server.url, kind, connections, accounts, seconds });
      // The first round only warms up.
      if (round === 0) continue;
      rates.get(server)?.push(perSecond);
      cpus.get(server)?.push(((server.cpuSeconds() - before) * 1e6) / (perSecond * seconds));
    }
  }
  const bareRates = rates.get(bare) ?? [];
  for (const server of servers) {
    const own = rates.get(server) ?? [];
    const ratio = median(own.map((rate, round) => rate / (bareRates[round] ?? Number.NaN)));
    const cells = [kind, connections, accounts, server.name, Math.round(median(own)), ratio.toFixed(2)];
    const cpu = Math.round(median(cpus.get(server) ?? []));
    const bareCpu = Math.round(median(cpus.get(bare) ?? []));
    print(`| ${[...cells, cpu, `${Math.round(median(bareRates))}/s, ${bareCpu} µs`].join(" | ")} |`);
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
  print(`\naudit of ${name} after the bench: ${entries} entries, clean`);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
