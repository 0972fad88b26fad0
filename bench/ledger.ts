import { open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { measureBulk } from "./bulk-load.ts";
import { runFx } from "./commands.ts";
import { measure, measureUntil } from "./load.ts";
import type { Options } from "./options.ts";
import { digits, printTable, progress, reach, row } from "./report.ts";
import { writeLines, writeRequests } from "./requests.ts";
import {
  get,
  inFolder,
  openAccounts,
  requireCleanAudit,
  type Server,
  startFx,
  startStore,
} from "./servers.ts";

const entriesAnAccount = 10;
/** Of a client that sends one order after the other. */
const ordersASecond = 200;

/**
 * What reads a whole ledger: how long it takes, and how long the longest order waits meanwhile. 10 million entries take
 * 5 GB of disk in SQLite, and do not fit into a ledger in memory.
 */
export async function benchLedger({ stores, entries, seconds }: Options): Promise<void> {
  const accounts = Math.ceil(entries / entriesAnAccount);
  let longest = Number.NaN;
  await inFolder(async (folder) => {
    printTable([
      ...[`an order every ${1000 / ordersASecond} ms`, "longest alone, ms", "of the disk"],
      ...["longest beside an audit", "of the disk", "the audit, s"],
      ...["longest beside a position", "of the disk", "the position, s"],
    ]);
    const path = join(folder, "ledger.db");
    for (const store of stores) {
      const server =
        store === "sqlite:" ? await startFx(store, `sqlite:${path}`) : await startStore(store, folder);
      try {
        await fill(server, folder, accounts);
        const alone = await gapBeside(server, folder, () => sleep(seconds * 1000));
        const audit = await gapBeside(server, folder, () => requireCleanAudit(server));
        const position = await gapBeside(server, folder, () => get(`${server.url}/api/position`));
        longest = [longest, audit.ms, position.ms].reduce((a, b) => (a > b ? a : b));
        const ofAlone = [alone.ms, alone.diskMs];
        const ofOthers = [audit, position].flatMap(({ ms, diskMs, seconds }) => [ms, diskMs, seconds]);
        row(store, ...[...ofAlone, ...ofOthers].map(digits));
        await requireCleanAudit(server);
      } finally {
        await server.stop();
      }
    }
    reach("longest gap of orders beside an audit or a position", longest);
    if (!stores.includes("sqlite:")) return;

    printTable(["command, sqlite:", "entries", "s", "µs an entry", "CPU µs an entry", "peak MB"]);
    for (const command of ["audit", "position"]) {
      const { seconds, cpuSeconds, peakMb } = await runFx([command, "--url", `sqlite:${path}`]);
      const micros = (seconds * 1e6) / entries;
      row(`fx ${command}`, entries, seconds, micros, (cpuSeconds * 1e6) / entries, peakMb.all);
      if (command === "audit") reach("audit of 10 million entries, sqlite:", micros * 10);
    }
  });
}

/** Accounts of so many entries each. */
async function fill(server: Server, folder: string, accounts: number): Promise<void> {
  await openAccounts(server, folder, accounts);
  const file = writeLines(folder, { lines: accounts, accounts });
  const { answers, seconds } = await measureBulk({ url: server.url, file, times: entriesAnAccount - 1 });
  progress(`${server.name}: ${answers} orders in ${Math.round(seconds)} s`);
}

/** The longest that an order waits, and the disk takes, while something else is asked of the server. */
async function gapBeside(
  server: Server,
  folder: string,
  work: () => Promise<unknown>,
): Promise<{ ms: number; diskMs: number; seconds: number }> {
  const file = writeRequests(folder, "exchange", { accounts: 100 });
  const load = { url: server.url, file, connections: 1, rate: ordersASecond };
  await measure({ ...load, seconds: 1 });
  const orders = await measureUntil(load);
  await sleep(1000);
  const disk = watchDisk(folder);
  const startedMs = performance.now();
  await work();
  const seconds = (performance.now() - startedMs) / 1000;
  const { latencyMs } = await orders.stop();
  const diskMs = await disk.stop();
  const [waited, took, of] = [latencyMs.max, diskMs, seconds].map(digits);
  progress(`${server.name}: in ${of} s an order waited ${waited} ms at most, and the disk took ${took}`);
  return { ms: latencyMs.max, diskMs, seconds };
}

/** Has a small write reach the disk twenty times a second. `stop` gives the longest that one took. */
function watchDisk(folder: string): { stop(): Promise<number> } {
  let isEnding = false;
  const watch = async () => {
    const file = await open(join(folder, "disk"), "w");
    let longest = 0;
    while (!isEnding) {
      const startedMs = performance.now();
      await file.write("an order");
      await file.sync();
      longest = Math.max(longest, performance.now() - startedMs);
      await sleep(50);
    }
    await file.close();
    return longest;
  };
  const longest = watch();
  return {
    stop: () => {
      isEnding = true;
      return longest;
    },
  };
}
