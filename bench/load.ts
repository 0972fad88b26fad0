import { type ChildProcess, execFile, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { progress } from "./report.ts";

/** Requests of a file, sent in turn over so many connections. */
export interface Load {
  readonly url: string;
  /** As `writeRequests` makes it. */
  readonly file: string;
  readonly connections: number;
  /** A whole number; without it, until it is stopped. */
  readonly seconds?: number;
  /** Requests a second, sent whether or not the answers come while connections are idle: without it, as fast as they come. */
  readonly rate?: number;
  /** At a rate, before `seconds`: from Node what takes long then does not count; from wrk a quarter of the rate comes. */
  readonly warmUpSeconds?: number;
  /** For a file with places for keys. */
  readonly keyPrefix?: string;
  /** Requests in each text of the file, sent at once: one, if it does not say. */
  readonly atOnce?: number;
  /** Every request of the file once, and no longer. */
  readonly once?: boolean;
}

export interface Measured {
  readonly requests: number;
  readonly seconds: number;
  readonly failed: number;
  /** Of the generator. */
  readonly cpuSeconds: number;
  /** From when the request was sent; from Node, when it should have been. */
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly max: number };
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** What sends requests as fast as answers come. FX_BENCH_GENERATOR may ask for the second. */
export const generator =
  process.env.FX_BENCH_GENERATOR !== "node" && spawnSync("wrk", ["--version"]).error === undefined
    ? "wrk"
    : "raw sockets of Node";

/** Sends a load from a process of its own. Fails if an answer is not a success. */
export async function measure(load: Load): Promise<Measured> {
  return checked(load, await sendLoad(load).result);
}

/** The same until `stop`. Resolves when it has begun. */
export async function measureUntil(load: Load): Promise<{ stop(): Promise<Measured> }> {
  const { started, stop, result } = sendLoad(load);
  await started;
  return {
    stop: async () => {
      stop();
      return checked(load, await result);
    },
  };
}

/** Of a load that is to be stopped, the most that wrk does. */
const mostSeconds = 600;

/** Sends a load from a process of its own, whatever the answers are. */
export function sendLoad(load: Load): Pick<Job<Measured>, "started" | "result"> & { stop(): void } {
  if (generator !== "wrk" || load.once) {
    const { child, ...job } = inChild<Measured>("generator.ts", load);
    return { ...job, stop: () => void child.send("stop") };
  }
  const { child, result } = wrk(load);
  return { started: Promise.resolve(), result, stop: () => void child.kill("SIGINT") };
}

function checked({ file, url }: Load, measured: Measured): Measured {
  if (measured.failed === 0 && measured.requests > 0) return measured;
  throw new Error(`${measured.failed} requests of ${file} to ${url} failed, ${measured.requests} did not.`);
}

function wrk({ url, file, connections, seconds = mostSeconds, keyPrefix = "", ...paced }: Load) {
  const { rate = 0, warmUpSeconds = 0 } = paced;
  // On a busy machine, an answer takes longer than the 2 s that wrk waits.
  const options = ["-t1", "--timeout", "30s", `-c${connections}`, `-d${warmUpSeconds + seconds}s`];
  const script = ["-s", here("wrk.lua"), url, "--", file, keyPrefix, `${rate}`, `${warmUpSeconds}`];
  const ended = promisify(execFile)("wrk", [...options, ...script]);
  const result = ended.then(({ stdout, stderr }): Measured => {
    if (stderr !== "") progress(`wrk: ${stderr.trim()}`);
    return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
  });
  return { child: ended.child, result };
}

interface Job<T> {
  readonly child: ChildProcess;
  readonly started: Promise<void>;
  readonly result: Promise<T>;
}

/** Gives a job to a program of this folder, which says when it has begun, and then what it came to. */
export function inChild<T>(program: string, job: object): Job<T> {
  const child = fork(here(program), { execArgv: ["--import", "tsx"] });
  const failure = once(child, "exit").then(([code]) => {
    throw new Error(`${program} ended with ${code}`);
  });
  const message = (kind: "started" | "result") =>
    new Promise<T>((resolve) => {
      child.on("message", (message: Record<string, T>) => {
        if (kind in message) resolve(message[kind] as T);
      });
    });
  const started = Promise.race([message("started"), failure]).then(() => {});
  const result = Promise.race([message("result"), failure]);
  child.send(job);
  return { child, started, result };
}
