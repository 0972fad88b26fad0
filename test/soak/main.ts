/** Runs a server at half its capacity, while its bank and its database fail: `npm run soak -- --minutes N`. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { warsawDate } from "../../src/core/date.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { everyKind, type Load } from "../load/clients.ts";
import { readHistory } from "../load/history.ts";
import { requireClean, underLoad } from "../load/ledger.ts";
import { type MemoryWatch, watched, watchMemory } from "../support/memory.ts";
import { type Mode, startNbpStandIn, tablesUpTo } from "../support/nbp-stand-in.ts";
import { createDatabase, startPostgres } from "../support/postgres.ts";
import { runFx, type Served, startFx } from "../support/run-fx.ts";

const warmUpMs = 5000;
/** The pause between two disturbances, and the longest time that one takes. */
const disturbEveryMs = 7000;
const disturbanceMs = 20_000;
const modes: readonly Mode[] = ["hangsUp", "html", "500", "nonsense", "404", "huge", "refuses"];

const { values } = parseArgs({ options: { minutes: { type: "string", default: "30" } } });
const report = await soak(Number(values.minutes) * 60);
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
process.exitCode = report.isFlat ? 0 : 1;

/**
 * Runs `fx serve` over PostgreSQL at half its capacity, while rates are refreshed, the bank fails now and then, and the
 * database is restarted. Every order must be in the journal as it was answered, the audit clean, and heap and handles
 * at the end as in the middle.
 */
async function soak(seconds: number) {
  const folder = mkdtempSync(join(tmpdir(), "fx-soak-"));
  const tables = tablesUpTo(warsawDate(new Date()));
  const bank = await startNbpStandIn(tables.slice(0, -6));
  const postgres = await startPostgres({ durable: true });
  let server: Served | undefined;
  try {
    const { url: db } = await createDatabase(postgres.url);
    const file = join(folder, "tokens.json");
    const created = await runFx(["token", "create", "soak", "--role", "operator", "--tokens", file]);
    assert.equal(created.exit, 0, created.stderr);
    const token = created.stdout.trim();
    const args = ["--rates", bank.url, "--max-table-age", "30", "--tokens", file, "--log-level", "warn"];
    const served = await startFx(args, { env: { FX_DB: db, ...watched } });
    server = served;
    const { url } = served;
    const authorization = `Bearer ${token}`;

    const refresh = async () => {
      const asked = bank.asked();
      served.signal("SIGHUP");
      await Promise.race([asked, pause(10_000)]);
    };
    const disturbances: Readonly<Record<string, (nth: number) => Promise<unknown>>> = {
      "rates read again": async () => {
        bank.tables = tables.slice(0, Math.min(bank.tables.length + 1, tables.length));
        await refresh();
      },
      "the bank failed": async (nth) => {
        await bank.mode(modes[Math.floor(nth / 3) % modes.length] as Mode);
        await refresh();
        await pause(8000);
        await bank.mode("answers");
      },
      "the database restarted": async (nth) => {
        await (nth % 2 === 0 ? postgres.kill() : postgres.killNine());
        await pause(1000);
        await postgres.start();
      },
    };
    const done: Record<string, number> = {};
    const disturbUntil = async (end: number, load: Load) => {
      const names = Object.keys(disturbances);
      for (let nth = 0; performance.now() + disturbEveryMs + disturbanceMs < end; nth += 1) {
        const name = names[nth % names.length] ?? "";
        await pause(disturbEveryMs);
        await disturbances[name]?.(nth);
        done[name] = (done[name] ?? 0) + 1;
        await load.reachesEveryClient();
      }
      await pause(end - performance.now());
    };

    const mix = { ...everyKind, bulk: 10, read: 30 };
    const options = { urls: [url], authorization, accounts: 300, mostLines: 20, mix, pauseMs: 0 };
    let capacity = 0;
    let memory: MemoryWatch | undefined;
    const history = await underLoad(folder, options, async (load) => {
      const before = load.requests;
      await pause(warmUpMs);
      capacity = Math.round((load.requests - before) / (warmUpMs / 1000));
      load.pace(2000 / capacity);
      memory = watchMemory(url, token, 500);
      await disturbUntil(performance.now() + seconds * 1000, load);
    });
    memory?.stop();
    const metrics = await fetch(`${url}/metrics`, { headers: { authorization } });
    const lines = (await metrics.text()).matchAll(/^fx_rate_fetches_total\{outcome="(\w+)"\} (\d+)/gm);
    const { exit } = await served.stop();
    assert.equal(exit, 0);
    const store = await openPostgres(db);
    const figures = await requireClean(store, readHistory(history.file)).finally(() => store.close());
    return {
      seconds,
      /** Requests per second: the server's maximum in the warm-up, and half of it. */
      capacity,
      rate: Math.round(capacity / 2),
      ...figures,
      disturbances: done,
      /** Number of refreshes of the rates by outcome. */
      fetches: Object.fromEntries([...lines].map(([, outcome, count]) => [outcome, Number(count)])),
      memory: memory?.report(),
      isFlat: memory?.isFlat() === true,
    };
  } finally {
    await server?.stop();
    await postgres.stop();
    await bank.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
