import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { endedChildrenCpuSeconds, endsWithBench, fx, peakMegabytes } from "./servers.ts";

export interface Ran {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** The most memory it had, in the first quarter of its time and in all of it. */
  readonly peakMb: { readonly early: number; readonly all: number };
}

const lookMs = 50;

/** Runs a command of fx with its output to a file or to nowhere. Fails if it does. */
export async function runFx(args: readonly string[], output = "/dev/null"): Promise<Ran> {
  const out = openSync(output, "w");
  const cpuBefore = endedChildrenCpuSeconds(process.pid);
  const startedMs = performance.now();
  const env = { ...process.env, FX_RATES: "demo" };
  const child = spawn(process.execPath, [fx, ...args], { stdio: ["ignore", out, "pipe"], env });
  endsWithBench(child);
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-2000);
  });
  const peaks: { ms: number; mb: number }[] = [];
  const looks = setInterval(() => {
    const mb = peakMegabytes(child.pid as number);
    if (mb !== undefined) peaks.push({ ms: performance.now() - startedMs, mb });
  }, lookMs);
  const [code] = await once(child, "close");
  clearInterval(looks);
  closeSync(out);
  if (code !== 0) throw new Error(`fx ${args.join(" ")} ended with ${code}: ${errors}`);
  const tookMs = performance.now() - startedMs;
  const early = peaks.filter(({ ms }) => ms <= tookMs / 4).at(-1)?.mb ?? Number.NaN;
  return {
    seconds: tookMs / 1000,
    cpuSeconds: endedChildrenCpuSeconds(process.pid) - cpuBefore,
    peakMb: { early, all: peaks.at(-1)?.mb ?? Number.NaN },
  };
}
