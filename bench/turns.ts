import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { measure } from "./load.ts";
import type { Options } from "./options.ts";
import { printTable, row } from "./report.ts";
import { writeRequests } from "./requests.ts";
import { bareName, inFolder, openAccounts, type Server, startBare, startStore } from "./servers.ts";

interface Turns {
  /** Of the event loop. */
  readonly turns: number;
  /** That it was told of: connections that can be read, ends of work on other threads. */
  readonly events: number;
  readonly idleMs: number;
  readonly activeMs: number;
}

/** How many turns of the event loop a request takes, and how much of its time the loop waits. */
export async function benchTurns({ stores, rounds, seconds, accounts }: Options): Promise<void> {
  const preload = ["--import", fileURLToPath(new URL("count-turns.js", import.meta.url))];
  printTable(["request", "connections", "server", "a second", "requests a turn", "events a turn", "idle"]);
  await inFolder(async (folder) => {
    const output = join(folder, "turns");
    process.env.FX_BENCH_TURNS = output;
    for (let round = 1; round <= rounds; round += 1) {
      for (const name of [bareName, ...stores] as const) {
        const server = name === bareName ? await startBare(preload) : await startStore(name, folder, preload);
        try {
          if (name !== bareName) await openAccounts(server, folder, accounts);
          for (const kind of ["exchange", "account"] as const) {
            const file = writeRequests(folder, kind, { accounts });
            for (const connections of [64, 256]) {
              const load = { url: server.url, file, connections, seconds };
              await measure({ ...load, seconds: 1 });
              const before = await turnsOf(server, output);
              const { requests, seconds: took } = await measure(load);
              const after = await turnsOf(server, output);
              const turns = after.turns - before.turns;
              const [idle, active] = [after.idleMs - before.idleMs, after.activeMs - before.activeMs];
              row(
                ...[kind, connections, name, requests / took, requests / turns],
                ...[
                  (after.events - before.events) / turns,
                  `${Math.round((idle * 100) / (idle + active))} %`,
                ],
              );
            }
          }
        } finally {
          await server.stop();
        }
      }
    }
  });
}

async function turnsOf({ pid }: Server, output: string): Promise<Turns> {
  rmSync(output, { force: true });
  process.kill(pid, "SIGUSR2");
  while (!existsSync(output)) await sleep(5);
  return JSON.parse(readFileSync(output, "utf8"));
}
