import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { spawnFx, startFx } from "../test/support/run-fx.ts";

/** A build of fx: a folder with its `bin` and `dist`. */
export interface Build {
  readonly name: string;
  readonly folder: string;
}

/** An `fx serve` process with recorded rates and no request log. */
export interface Server {
  readonly url: string;
  /** Processor time used so far. */
  cpuSeconds(): number;
  /** Peak memory so far. */
  peakMb(): number;
  stop(): Promise<void>;
}

/** Resources that a command used. */
export interface Ran {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMb: number;
}

/** The outcome of a load. */
export interface Load {
  readonly requests: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly longestMs: number;
}

const launcherOf = ({ folder }: Build) => `${folder}/bin/fx.js`;

export async function startServer(build: Build, db: string): Promise<Server> {
  // fx takes no password in a flag.
  const env = { FX_DB: db, FX_RATES: "demo" };
  const server = await startFx(["--log-level", "error"], { fx: launcherOf(build), env });
  const pid = server.pid as number;
  return {
    url: server.url,
    cpuSeconds: () => cpuSecondsOf(pid),
    peakMb: () => peakMbOf(pid),
    stop: async () => void (await server.stop()),
  };
}

/** Runs a command of fx, with its output to a file or discarded. Throws if it fails. */
export async function run(build: Build, args: readonly string[], output = "/dev/null"): Promise<Ran> {
  const startedMs = performance.now();
  const surroundings = { fx: launcherOf(build), env: { FX_RATES: "demo" }, stdout: output };
  const { child, ended } = spawnFx(args, surroundings);
  child.stdin.end();
  let used = { cpuSeconds: 0, peakMb: 0 };
  const looks = setInterval(() => {
    const pid = child.pid as number;
    used = { cpuSeconds: cpuSecondsOf(pid) || used.cpuSeconds, peakMb: peakMbOf(pid) || used.peakMb };
  }, 20);
  const { exit, stderr } = await ended;
  clearInterval(looks);
  if (exit !== 0) throw new Error(`fx ${args.join(" ")} of ${build.name} ended with ${exit}: ${stderr}`);
  return { seconds: (performance.now() - startedMs) / 1000, ...used };
}

/** Sends the requests of a file with wrk, as fast as they are answered. Throws unless all answers are successes. */
export async function load(url: string, file: string, connections: number, seconds: number): Promise<Load> {
  const script = fileURLToPath(new URL("wrk.lua", import.meta.url));
  const keys = `${Date.now()}-`;
  const args = [
    "-t1",
    "--timeout",
    "30s",
    `-c${connections}`,
    `-d${seconds}s`,
    "-s",
    script,
    url,
    "--",
    file,
    keys,
  ];
  const { stdout } = await promisify(execFile)("wrk", args);
  const result = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Load & { failed: number };
  if (result.failed > 0) throw new Error(`${result.failed} requests of ${file} failed`);
  return result;
}

/** User and system time from /proc, which counts hundredths of a second; 0 once the process has ended. */
function cpuSecondsOf(pid: number): number {
  const fields = read(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / 100;
}

function peakMbOf(pid: number): number {
  const [, kilobytes = "0"] = /VmHWM:\s*(\d+)/.exec(read(`/proc/${pid}/status`)) ?? [];
  return Number(kilobytes) / 1024;
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
