/** Kills a server under load again and again: `npm run kill-nine -- --kills N`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openSqlite } from "../../src/sqlite/store.ts";
import { everyKind } from "../load/clients.ts";
import { readHistory } from "../load/history.ts";
import type { Figures } from "../load/judge.ts";
import { requireClean, underLoad } from "../load/ledger.ts";
import { startFx } from "../support/run-fx.ts";
import { until } from "../support/until.ts";

/** Every kind of order is answered several times before a kill. */
const answersBeforeAKill = 200;

export interface KillReport extends Figures {
  readonly kills: number;
  readonly readyMs: { readonly median: number; readonly max: number };
}

/**
 * Kills `fx serve --db sqlite:…` with SIGKILL `kills` times under a load of every kind of order, whose clients repeat
 * what got no answer. Each order must then be in the journal exactly once, as it was answered, and the audit clean.
 */
export async function killNine(kills: number): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), "fx-kill-nine-"));
  const path = join(folder, "ledger.db");
  const readyMs: number[] = [];
  const serve = async (port = "0") => {
    const started = performance.now();
    const args = ["--db", `sqlite:${path}`, "--rates", "demo", "--log-level", "error", "--port", port];
    const served = await startFx(args);
    await until(async () => (await fetch(`${served.url}/health/ready`)).status === 200);
    readyMs.push(performance.now() - started);
    return served;
  };
  let served = await serve();
  try {
    const { url } = served;
    const load = { urls: [url], mix: everyKind, writers: 32, accounts: 20, pauseMs: 0 };
    const history = await underLoad(folder, load, async (running) => {
      for (let kill = 1; kill <= kills; kill += 1) {
        await running.does(answersBeforeAKill);
        await pause(Math.random() * 40);
        served.signal("SIGKILL");
        await served.ended;
        served = await serve(new URL(url).port);
      }
      await running.reachesEveryClient();
    });
    await served.stop();
    const store = openSqlite(path);
    const figures = await requireClean(store, readHistory(history.file)).finally(() => store.close());
    readyMs.sort((a, b) => a - b);
    const median = readyMs[Math.floor(readyMs.length / 2)] ?? 0;
    return { kills, ...figures, readyMs: { median, max: readyMs.at(-1) ?? 0 } };
  } finally {
    await served.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { kills: { type: "string", default: "50" } } });
  process.stdout.write(`${JSON.stringify(await killNine(Number(values.kills)), null, 2)}\n`);
}
