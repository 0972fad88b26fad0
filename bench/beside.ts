import { bulkUntil, measureBulk } from "./bulk-load.ts";
import { type Measured, measure } from "./load.ts";
import type { Options } from "./options.ts";
import { digits, median, printTable, progress, reach, row } from "./report.ts";
import { writeLines, writeRequests } from "./requests.ts";
import { inFolder, openAccounts, requireCleanAudit, startStore } from "./servers.ts";

interface Sample {
  readonly rate: number;
  readonly quiet: Measured["latencyMs"];
  readonly beside: Measured["latencyMs"];
  readonly linesPerSecond: number;
}

/** How long single orders wait at half of the rate that the server manages: alone, and beside a bulk. */
export async function benchBeside({ stores, rounds, seconds, accounts }: Options): Promise<void> {
  const samples = new Map<string, Sample[]>(stores.map((store) => [store, []]));
  await inFolder(async (folder) => {
    const file = writeRequests(folder, "exchange", { accounts });
    const lines = writeLines(folder, { lines: 10 * accounts, accounts });
    for (let round = 1; round <= rounds; round += 1) {
      for (const store of stores) {
        const server = await startStore(store, folder);
        try {
          await openAccounts(server, folder, accounts);
          const load = { url: server.url, file, connections: 64, seconds };
          await measure(load);
          const most = await measure(load);
          const rate = Math.round(most.requests / most.seconds / 2);
          // Orders wait longer for the server's first bulk: it does not count.
          await measureBulk({ url: server.url, file: lines });
          // So many connections that the rate does not wait for them.
          const atHalf = { ...load, connections: 256, rate, warmUpSeconds: 1 };
          const quiet = await measure(atHalf);
          const bulk = await bulkUntil({ url: server.url, file: lines });
          const beside = await measure(atHalf);
          const { answers, seconds: took } = await bulk.stop();
          samples.get(store)?.push({
            rate,
            quiet: quiet.latencyMs,
            beside: beside.latencyMs,
            linesPerSecond: answers / took,
          });
          progress(`round ${round}, ${store}: p99 ${quiet.latencyMs.p99}, beside ${beside.latencyMs.p99}`);
          await requireCleanAudit(server);
        } finally {
          await server.stop();
        }
      }
    }
  });
  printTable([
    ...["order at half load", "rate/s", "p50 ms", "p99 ms", "longest"],
    ...[
      "p50 beside a bulk",
      "p99 beside a bulk",
      "longest",
      "p99 ratio",
      "each round's",
      "the bulk's lines/s",
    ],
  ]);
  for (const [store, taken] of samples) {
    const of = (value: (sample: Sample) => number) => median(taken.map(value));
    const ratios = taken.map(({ quiet, beside }) => beside.p99 / quiet.p99);
    reach(`p99 of orders beside a bulk, ${store}`, median(ratios));
    row(
      store,
      ...[of(({ rate }) => rate), of(({ quiet }) => quiet.p50), of(({ quiet }) => quiet.p99)],
      ...[of(({ quiet }) => quiet.max), of(({ beside }) => beside.p50), of(({ beside }) => beside.p99)],
      ...[of(({ beside }) => beside.max), median(ratios), ratios.map(digits).join(" ")],
      of(({ linesPerSecond }) => linesPerSecond),
    );
  }
}
