import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { measureBulk } from "../../bench/bulk-load.ts";
import { type Measured, measure, measureUntil } from "../../bench/load.ts";
import { median } from "../../bench/report.ts";
import { writeLines, writeReads, writeRequests } from "../../bench/requests.ts";
import { cpuSecondsOf } from "../../bench/servers.ts";
import { identifyTable } from "../../src/core/rates.ts";
import { sha256 } from "../../src/ledger/seal.ts";
import { demoTables } from "../../src/rates/recorded.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { adult } from "../support/fixture.ts";
import {
  type Attack,
  compare,
  pause,
  type Row,
  startAttacker,
  startServer,
  startTarget,
  type Target,
  timed,
  waitRow,
} from "./attack.ts";
import type { Assault } from "./attacker.ts";
import type { Flood, Flooded } from "./flood.ts";

const accounts = 1000;
const percent = (share: number) => `${Math.round(100 * share)} %`;
const ms = (value: number) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;

/** What takes long to read, over 64 connections that wait for their answers. */
export const reads: Attack = async function* (setting) {
  const others: Readonly<Record<string, readonly string[]>> = {
    "lists of 1,000 accounts": Array.from({ length: 100 }, (_, nth) => `/api/users?limit=${901 + nth}`),
    "histories of rates": Array.from(
      { length: 100 },
      (_, nth) => `/api/rates/USD/history?days=${1500 + nth}`,
    ),
    metrics: ["/metrics"],
  };
  for (const [what, paths] of Object.entries(others)) {
    const target = await startTarget(setting);
    try {
      const { url } = target;
      const file = writeReads(setting.folder, paths);
      const compared = await compare(target, setting.seconds, { how: "ask", url, connections: 64, file });
      yield waitRow(`64 connections that ask for ${what}`, compared, {
        seen: `, ${compared.answersPerSecond} answers/s, ${compared.moreMb} MB more`,
        holds: compared.moreMb < 150,
      });
    } finally {
      await target.stop();
    }
  }
};

/**
 * Audits and positions, ten at once or left by their clients, beside as many orders as the server takes. The middle of
 * three rounds, each with and without: the machine may be slower in one minute than in the next.
 */
export const audits: Attack = async function* (setting) {
  for (const db of ["memory:", `sqlite:${join(setting.folder, "audits.db")}`]) {
    const target = await startTarget(setting, { FX_DB: db });
    const { url, orders } = target;
    try {
      const lines = writeLines(setting.folder, { lines: 100_000, accounts });
      await measureBulk({ url, file: lines });
      const most = { url, file: orders.file, connections: 64, seconds: setting.seconds };
      const few = { url, ...orders, connections: 16, seconds: setting.seconds };
      const attacks: Readonly<Record<string, Assault>> = {
        "ten audits and ten positions at once": {
          how: "ask",
          url,
          connections: 20,
          file: writeReads(setting.folder, ["/api/audit", "/api/position"]),
        },
        "audits, positions and exports whose clients leave": {
          how: "leave",
          url,
          connections: 4,
          afterMs: 100,
          paths: ["/api/audit", "/api/position", "/api/audit/checkpoint", "/api/export?format=csv"],
        },
      };
      for (const [what, assault] of Object.entries(attacks)) {
        const shares: number[] = [];
        const longestAlone: number[] = [];
        const longest: number[] = [];
        for (let round = 1; round <= 3; round += 1) {
          const before = await ordersASecond(target, most);
          longestAlone.push((await measure(few)).latencyMs.max);
          const attacker = await startAttacker();
          attacker.begin(assault);
          shares.push((await ordersASecond(target, most)) / before);
          longest.push((await measure(few)).latencyMs.max);
          await attacker.end();
        }
        const [share, before, during] = [shares, longestAlone, longest].map(median) as [
          number,
          number,
          number,
        ];
        yield {
          tried: `${what}, ${db.slice(0, db.indexOf(":") + 1)}, 100,000 entries`,
          mustBe: "80 % of the orders for the same processor time, none waits 50 ms longer",
          seen: `${percent(share)} (${shares.map(percent).join(", ")}), longest ${ms(before)} to ${ms(during)}`,
          holds: share >= 0.8 && during <= before + 50,
        };
      }
      const idle = await idleAfter(target);
      yield {
        tried: `the same, a second after the last client has left, ${db.slice(0, db.indexOf(":") + 1)}`,
        mustBe: "nothing is read any more",
        seen: `${percent(idle)} of a core`,
        holds: idle < 0.1,
      };
    } finally {
      await target.stop();
    }
  }
};

/** For each second of processor time of the thread that takes orders: other threads run where nobody wants the processor. */
async function ordersASecond({ pid }: Target, load: Parameters<typeof measure>[0]): Promise<number> {
  const seconds = () => cpuSecondsOf(`${pid}/task/${pid}`);
  const before = seconds();
  const { requests } = await measure(load);
  return requests / (seconds() - before);
}

/** The processor time that a server takes for one of many, after the first few. */
async function processorMs(pid: number | undefined, work: () => Promise<unknown>, count: number) {
  for (let times = 0; times < count / 2; times += 1) await work();
  const before = cpuSecondsOf(`${pid}`);
  for (let times = 0; times < count; times += 1) await work();
  return (1000 * (cpuSecondsOf(`${pid}`) - before)) / count;
}

/** The share of a core that a server takes when nobody asks it for anything. */
async function idleAfter({ pid }: Target): Promise<number> {
  await pause(1000);
  const before = cpuSecondsOf(`${pid}`);
  await pause(2000);
  return (cpuSecondsOf(`${pid}`) - before) / 2;
}

/** Bodies that are slow to check. */
export const bodies: Attack = async function* () {
  const server = await startServer();
  const fill = (part: string, head = "[", tail = "]") =>
    head + Array.from({ length: Math.floor(16_380 / (part.length + 1)) }, () => part).join() + tail;
  const names = Array.from({ length: 1000 }, (_, nth) => `"a:${nth}":1e300`).join();
  const path = `${server.url}/api/exchange/${adult()}`;
  const tried = {
    "`[1e300,…]`": fill("1e300"),
    '`{"a:0":1e300,…}`': `{${names}}`,
    "`[[[…`": "[".repeat(16_000),
  };
  for (const [what, body] of Object.entries(tried)) {
    const headers = { "content-type": "application/json" };
    const once = async () => (await fetch(path, { method: "POST", headers, body })).arrayBuffer();
    const took = await processorMs(server.pid, once, 200);
    yield {
      tried: `16 KB of ${what}`,
      mustBe: "under 5 ms of processor time",
      seen: ms(took),
      holds: took < 5,
    };
  }
  await server.stop();
};

/** Another process that holds the lock of the SQLite file for longer than an order waits. */
export const locked: Attack = async function* (setting) {
  const path = join(setting.folder, "locked.db");
  const target = await startTarget(setting, { FX_DB: `sqlite:${path}` });
  const program = `
    const { DatabaseSync } = require("@photostructure/sqlite");
    const database = new DatabaseSync(process.argv[1]);
    database.exec("begin immediate");
    console.log("locked");`;
  try {
    const holder = spawn(process.execPath, ["-e", `${program} setInterval(() => {}, 1000);`, path], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(holder.stdout, "data");
    const file = writeRequests(setting.folder, "account", { accounts });
    const reading = await measureUntil({ url: target.url, file, connections: 16, rate: 200 });
    const body = JSON.stringify({ pesel: adult(), from: "PLN", to: "USD", toBuy: 1 });
    const headers = { "content-type": "application/json" };
    const order = () => fetch(`${target.url}/api/exchange/${adult()}`, { method: "POST", headers, body });
    const answers = await Promise.all(Array.from({ length: 100 }, order));
    const refused = answers.filter(({ status, headers }) => status === 503 && headers.has("retry-after"));
    const { latencyMs } = await reading.stop();
    holder.kill("SIGKILL");
    await once(holder, "exit");
    const { status } = await order();
    yield {
      tried: "another process holds SQLite's lock",
      mustBe: "reads go on; orders are 503 with Retry-After, and done when it is free",
      seen: `longest read ${ms(latencyMs.max)}; ${refused.length} of 100 orders are 503; then ${status}`,
      holds: latencyMs.max < 100 && refused.length === 100 && status === 200,
    };
  } finally {
    await target.stop();
  }
};

/** Ten years of tables. */
export const decade: Attack = async function* (setting) {
  const path = join(setting.folder, "decade.db");
  const store = openSqlite(path);
  const [first] = demoTables();
  if (first === undefined) return;
  const days = Array.from({ length: 3600 }, (_, nth) => new Date(Date.UTC(2012, 4, 1) + nth * 86_400_000));
  const tables = days
    .filter((day) => day.getUTCDay() % 6 !== 0)
    .map((day, nth) => {
      const effectiveDate = day.toISOString().slice(0, 10);
      const number = `${String(1 + (nth % 250)).padStart(3, "0")}/C/NBP/${effectiveDate.slice(0, 4)}`;
      return identifyTable({ ...first, number, tradingDate: effectiveDate, effectiveDate }, "demo", sha256);
    });
  await store.saveTables(tables);
  await store.close();
  const target = await startTarget(setting, { FX_DB: `sqlite:${path}` });
  try {
    const ask = async () => (await fetch(`${target.url}/api/rates/USD/history?days=3660`)).json();
    const cold = await timed(ask);
    const { rates } = (await ask()) as { rates: unknown[] };
    const took = await processorMs(target.pid, ask, 50);
    const paths = ["/api/rates/USD/history?days=3660", "/api/rates/EUR/history?days=3659"];
    const file = writeReads(setting.folder, paths);
    const assault = { how: "ask", url: target.url, connections: 16, file } as const;
    yield {
      tried: `the history of a rate over ${rates.length} tables`,
      mustBe: "under 50 ms of processor time",
      seen: `the first answered in ${ms(cold)}, then ${ms(took)}`,
      holds: took < 50,
    };
    yield waitRow("the same from 16 connections", await compare(target, setting.seconds, assault));
  } finally {
    await target.stop();
  }
};

/** Orders from 2,000 connections, as fast as they are answered. */
export const flood: Attack = async function* (setting) {
  for (const db of ["memory:", `sqlite:${join(setting.folder, "flood.db")}`]) {
    const target = await startTarget(setting, { FX_DB: db });
    const { url, orders } = target;
    // In a few seconds the machine itself may be a fifth slower.
    const most = { url, file: orders.file, connections: 64, seconds: 3 * setting.seconds };
    try {
      const before = await measure(most);
      const { statuses, bare, latencyMs } = await floodWith({
        ...{ url, file: orders.file, connections: 2000 },
        seconds: Math.max(setting.seconds, Number(process.env.FX_ATTACK_FLOOD_SECONDS ?? 60)),
      });
      const after = await measure(most);
      yield floodRow(db, { statuses, bare, latencyMs }, rateOf(after) / rateOf(before));
    } finally {
      await target.stop();
    }
  }
};

function floodRow(db: string, { statuses, bare, latencyMs }: Flooded, after: number): Row {
  const counts = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
  const known = Object.keys(statuses).every((status) => status === "200" || status === "503");
  return {
    tried: `2,000 connections that send orders for a minute, ${db.slice(0, db.indexOf(":") + 1)}`,
    mustBe: "orders done in under a second, the others 503 with Retry-After, full speed at once after",
    seen: `${counts.join(", ")}, p99 ${ms(latencyMs.p99)}, longest ${ms(latencyMs.max)}; after it ${percent(after)}`,
    holds: known && bare === 0 && latencyMs.max < 1000 && after >= 0.8,
  };
}

function rateOf({ requests, seconds }: Measured): number {
  return requests / seconds;
}

async function floodWith(flood: Flood): Promise<Flooded> {
  const child = fork(fileURLToPath(new URL("flood.ts", import.meta.url)), {
    execArgv: ["--import", "tsx"],
  });
  child.send(flood);
  const [{ result }] = (await once(child, "message")) as [{ result: Flooded }];
  return result;
}
