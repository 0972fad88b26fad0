import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { type BulkLoad, measureBulk } from "./bulk-load.ts";
import { generator, measure } from "./load.ts";
import type { Options } from "./options.ts";
import { digits, median, print, printTable, progress, reach, row } from "./report.ts";
import { writeLines, writeRequests } from "./requests.ts";
import {
  bareName,
  inFolder,
  openAccounts,
  requireCleanAudit,
  type Server,
  startBare,
  startStore,
} from "./servers.ts";

/** One line of the table. */
interface Row {
  readonly name: string;
  /** How often the load is sent, each time to all servers. */
  readonly turns: number;
  /** Sends the load; the bare route, which takes no bulks, gets single orders instead. */
  run(server: Server): Promise<Sent>;
}

interface Sent {
  /** Requests or lines. */
  readonly count: number;
  readonly seconds: number;
  /** Of the generator; NaN if nobody knows. */
  readonly cpuSeconds: number;
}

interface Sample {
  readonly name: string;
  readonly server: string;
  readonly perSecond: number;
  readonly cpuUs: number;
  readonly databaseUs: number;
  /** The generator's processor time, of its and the server's. */
  readonly share: number;
}

/**
 * Single requests and bulks, as ratios to the bare route in the same run: the baseline and the stores take turns of a
 * second, or of one bulk, and the median over the rounds counts. Every round has new servers: two processes of one build
 * differ by a tenth.
 */
export async function benchHttp(options: Options): Promise<void> {
  const samples: Sample[] = [];
  await inFolder(async (folder) => {
    const rows = rowsOf(options, folder).filter(({ name }) => name.includes(options.only));
    for (let round = 1; round <= options.rounds; round += 1) {
      progress(`round ${round} of ${options.rounds}`);
      samples.push(...(await benchRound(rows, options, folder)));
    }
    print(
      `Generator of single requests: ${generator}. Generator of bulks: one raw socket of Node, and curl.`,
    );
    printSamples(rows, samples, options);
  });
}

async function benchRound(rows: readonly Row[], options: Options, folder: string): Promise<Sample[]> {
  const stores: Server[] = [];
  const bare = await startBare();
  try {
    for (const store of options.stores) stores.push(await startStore(store, folder));
    for (const server of stores) await openAccounts(server, folder, options.accounts);
    const servers = [bare, ...stores];
    await warmUp(rows, servers, options, folder);
    const samples: Sample[] = [];
    for (const row of rows) samples.push(...(await sampleRow(row, servers)));
    for (const server of stores) await requireCleanAudit(server);
    return samples;
  } finally {
    await Promise.all([bare, ...stores].map((server) => server.stop()));
  }
}

function rowsOf({ accounts, seconds, keys }: Options, folder: string): Row[] {
  let runs = 0;
  const single = (name: string, kind: "exchange" | "account", connections: number, turnSeconds = 1): Row => {
    const withKeys = keys && kind === "exchange";
    const file = writeRequests(folder, kind, { accounts, keys: withKeys });
    return {
      name,
      turns: seconds / turnSeconds,
      run: async ({ url }) => {
        runs += 1;
        const keyPrefix = withKeys ? `run-${runs}-` : "";
        const { requests, ...sent } = await measure({
          url,
          file,
          connections,
          seconds: turnSeconds,
          keyPrefix,
        });
        return { count: requests, ...sent };
      },
    };
  };
  const orders = "order, 256 connections";
  const inOne = (name: string, run: Row["run"]): Row => {
    const bare = single(orders, "exchange", 256, seconds);
    return { name, turns: 1, run: (server) => (server.name === bareName ? bare : { run }).run(server) };
  };
  const bulk = (name: string, load: Omit<BulkLoad, "url">): Row =>
    inOne(name, async ({ url }) => {
      const { answers, ...sent } = await measureBulk({ url, ...load });
      return { count: answers, ...sent };
    });
  const cycle = writeLines(folder, { lines: 10 * accounts, accounts });
  const keyed = writeLines(folder, { lines: 100_000 * seconds, accounts, keys: true });
  const forCurl = writeLines(folder, { lines: 25_000 * seconds, accounts });
  return [
    single("order, 64 connections", "exchange", 64),
    single(orders, "exchange", 256),
    single("account read", "account", 64),
    bulk("bulk", { file: cycle, seconds, times: 1000 }),
    bulk("bulk, with keys", { file: keyed, seconds }),
    inOne("bulk, curl -T", ({ url }) => curl(url, forCurl, 25_000 * seconds)),
  ];
}

function isBulk({ name }: Row): boolean {
  return name.startsWith("bulk");
}

/** What people use. Its answers are those lines of its output that say 200. */
async function curl(url: string, file: string, lines: number): Promise<Sent> {
  const output = join(file, "..", "answers");
  const args = ["-sS", "-X", "POST", "-H", "content-type: application/x-ndjson", "-T", file, "-o", output];
  const startedMs = performance.now();
  await promisify(execFile)("curl", [...args, `${url}/api/bulk`]);
  const seconds = (performance.now() - startedMs) / 1000;
  const { stdout } = await promisify(execFile)("grep", ["-c", '"status":200', output]);
  if (Number(stdout) !== lines) throw new Error(`${lines} lines by curl, ${stdout.trim()} settled`);
  return { count: lines, seconds, cpuSeconds: Number.NaN };
}

/** Until compiled and grown to size, a server is not what it is for the rest of its life. */
async function warmUp(
  rows: readonly Row[],
  servers: readonly Server[],
  { accounts, seconds }: Options,
  folder: string,
): Promise<void> {
  const order = writeRequests(folder, "exchange", { accounts });
  const read = writeRequests(folder, "account", { accounts });
  const lines = writeLines(folder, { lines: 10 * accounts, accounts });
  for (const server of servers) {
    const { url } = server;
    await measure({ url, file: order, connections: 64, seconds: Math.min(3, seconds) });
    if (rows.some(({ name }) => name.startsWith("account")))
      await measure({ url, file: read, connections: 64, seconds: 1 });
    if (server.name !== bareName && rows.some(isBulk))
      await measureBulk({ url, file: lines, seconds: 1, times: 1000 });
  }
}

/** Each server's turns together. */
async function sampleRow({ name, turns, run }: Row, servers: readonly Server[]): Promise<Sample[]> {
  const taken = servers.map(() => ({ count: 0, seconds: 0, cpuSeconds: 0, own: 0, database: 0 }));
  for (let turn = 0; turn < turns; turn += 1) {
    for (const [nth, server] of servers.entries()) {
      const sum = taken[nth] as (typeof taken)[number];
      const before = server.cpuSeconds();
      const { count, seconds, cpuSeconds } = await run(server);
      const after = server.cpuSeconds();
      sum.count += count;
      sum.seconds += seconds;
      sum.cpuSeconds += cpuSeconds;
      sum.own += after.own - before.own;
      sum.database += after.database - before.database;
    }
  }
  return taken.map(({ count, seconds, cpuSeconds, own, database }, nth) => {
    const server = (servers[nth] as Server).name;
    const perSecond = count / seconds;
    progress(`${name}, ${server}: ${Math.round(perSecond)}/s`);
    return {
      name,
      server,
      perSecond,
      cpuUs: (own * 1e6) / count,
      databaseUs: (database * 1e6) / count,
      share: cpuSeconds / (cpuSeconds + own),
    };
  });
}

function printSamples(rows: readonly Row[], samples: readonly Sample[], { stores }: Options): void {
  const of = (name: string, server: string) =>
    samples.filter((sample) => sample.name === name && sample.server === server);
  const middle = (taken: readonly Sample[], field: "perSecond" | "cpuUs" | "databaseUs" | "share") =>
    median(taken.map((sample) => sample[field]));
  const percent = (share: number) => (Number.isNaN(share) ? "" : `${Math.round(share * 100)} %`);
  printTable([
    ...["request", "server", "a second", "ratio to bare", "each round's"],
    ...["CPU µs", "database's", "bare's", "generator's share"],
  ]);
  for (const { name } of rows) {
    const bare = of(name, bareName);
    const bareCpu = middle(bare, "cpuUs");
    const shown = [Math.round(middle(bare, "perSecond")), 1, "", bareCpu, "", bareCpu];
    row(name, bareName, ...shown, percent(middle(bare, "share")));
    for (const store of stores) {
      const own = of(name, store);
      const ratios = own.map(({ perSecond }, round) => perSecond / (bare[round]?.perSecond ?? Number.NaN));
      reach(`${isBulk({ name } as Row) ? `${name} over HTTP` : name}, ${store}`, median(ratios));
      const databaseUs = store === "postgres:" ? middle(own, "databaseUs") : "";
      const cells = [Math.round(middle(own, "perSecond")), median(ratios), ratios.map(digits).join(" ")];
      row(name, store, ...cells, middle(own, "cpuUs"), databaseUs, bareCpu, percent(middle(own, "share")));
    }
  }
}
