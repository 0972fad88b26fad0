import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import got from "got";
import { createDatabase, startPostgres } from "../test/support/postgres.ts";
import { measure } from "./load.ts";
import { writeRequests } from "./requests.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The command as built; or another build of it, to compare. */
export const fx = process.env.FX_BENCH_COMMAND ?? here("../bin/fx.js");

/** A server under load, in a process of its own. */
export interface Server {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  /** Seconds of processor time that it has used, and its database, if that is a process of its own. */
  cpuSeconds(): { readonly own: number; readonly database: number };
  stop(): Promise<void>;
}

export const bareName = "bare route" as const;
export const everyStore = ["memory:", "sqlite:", "postgres:"] as const;
export type StoreName = (typeof everyStore)[number];

/** A folder that goes when `work` is done. */
export async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "fx-bench-"));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The baseline. Node's flags for TypeScript make no difference once it has started. */
export async function startBare(nodeArgs: readonly string[] = []): Promise<Server> {
  const args = ["--import", "tsx", ...nodeArgs, here("bare.ts")];
  return serverOf(bareName, spawn(process.execPath, args, pipes));
}

interface FxOptions {
  readonly nodeArgs?: readonly string[];
  readonly tokens?: string;
  readonly databaseCpuSeconds?: () => number;
}

/** `fx serve`, as built, with its default settings and no request log. */
export async function startFx(name: string, db: string, options: FxOptions = {}): Promise<Server> {
  const args = [...(options.nodeArgs ?? []), fx, "serve", "--port", "0", "--rates", "demo"];
  const env = { ...process.env, FX_DB: db, ...(options.tokens && { FX_TOKENS: options.tokens }) };
  const child = spawn(process.execPath, [...args, "--log-level", "warn"], { ...pipes, env });
  return serverOf(name, child, options.databaseCpuSeconds);
}

/** A server on an empty store. The file and the database sync to disk. */
export async function startStore(
  store: StoreName,
  folder: string,
  nodeArgs: readonly string[] = [],
): Promise<Server> {
  if (store === "memory:") return startFx(store, store, { nodeArgs });
  if (store === "sqlite:") {
    const path = join(mkdtempSync(join(folder, "sqlite-")), "ledger.db");
    return startFx(store, `sqlite:${path}`, { nodeArgs });
  }
  const database = await startPostgres({ durable: true });
  const { url } = await createDatabase(database.url);
  const server = await startFx(store, url, {
    nodeArgs,
    databaseCpuSeconds: () => postgresCpuSeconds(database),
  });
  const stop = async () => {
    await server.stop();
    await database.stop();
  };
  return { ...server, stop };
}

/** Opens the first `count` accounts with more money than a benchmark can spend. */
export async function openAccounts(
  { url }: Server,
  folder: string,
  count: number,
  token?: string,
): Promise<void> {
  const file = writeRequests(folder, "create", { accounts: count, ...(token && { token }) });
  const { requests } = await measure({ url, file, connections: 64, once: true });
  if (requests !== count) throw new Error(`${requests} of ${count} accounts were opened`);
}

/** However long the answer takes; `fetch` waits for five minutes. Fails if it is not a success. */
export function get(url: string, headers: Record<string, string> = {}) {
  return got(url, { headers, retry: { limit: 0 } });
}

/** Nothing counts if the books do not agree afterwards. */
export async function requireCleanAudit({ name, url }: Server, token?: string): Promise<void> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { ok, entries } = await get(`${url}/api/audit`, headers).json<{ ok: boolean; entries: number }>();
  if (!ok) throw new Error(`the audit of ${name} after the bench found disagreements`);
  process.stderr.write(`audit of ${name} afterwards: ${entries} entries, clean\n`);
}

const pipes: SpawnOptions = { stdio: ["ignore", "pipe", "inherit"] };

const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

/** Has a process not outlive the bench, however that ends. */
export function endsWithBench(child: ChildProcess): void {
  running.add(child);
  child.once("exit", () => running.delete(child));
}

async function serverOf(name: string, child: ChildProcess, databaseCpuSeconds = () => 0): Promise<Server> {
  endsWithBench(child);
  let output = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
      if (address !== undefined) resolve(address);
    });
    child.once("exit", () => reject(new Error(`${name} did not start: ${output}`)));
  });
  const pid = child.pid as number;
  return {
    name,
    url,
    pid,
    cpuSeconds: () => ({ own: cpuSecondsOf(pid), database: databaseCpuSeconds() }),
    stop: async () => {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** User and system time of a process, or of one of its threads (PID/task/PID), from /proc, in ticks of 10 ms. */
export function cpuSecondsOf(pid: number | string): number {
  const [user, system] = statOf(pid).slice(11, 13).map(Number);
  return ((user ?? 0) + (system ?? 0)) / 100;
}

/** Of its children that have ended and were waited for. */
export function endedChildrenCpuSeconds(pid: number): number {
  const [user, system] = statOf(pid).slice(13, 15).map(Number);
  return ((user ?? 0) + (system ?? 0)) / 100;
}

/** Of all processes of a server. */
export function postgresCpuSeconds({ dataFolder }: { readonly dataFolder: string }): number {
  return familyCpuSecondsOf(Number.parseInt(readFileSync(join(dataFolder, "postmaster.pid"), "utf8"), 10));
}

/** Of it and all its children. */
function familyCpuSecondsOf(pid: number): number {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(statOf(Number(name))[1]) === pid)
    .map((child) => cpuSecondsOf(Number(child)))
    .reduce((sum, seconds) => sum + seconds, cpuSecondsOf(pid) + endedChildrenCpuSeconds(pid));
}

/** The fields after the name. */
function statOf(pid: number | string): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  } catch {
    return [];
  }
}

/** The most memory that a process has had so far, in MB, or undefined when it has ended. */
export function peakMegabytes(pid: number): number | undefined {
  try {
    const [, kilobytes] = /VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return kilobytes === undefined ? undefined : Math.round(Number(kilobytes) / 1024);
  } catch {
    return undefined;
  }
}
