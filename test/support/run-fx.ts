import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { launcher } from "./shell.ts";

/** What came out of a command. `exit` is null if a signal ended it. */
export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit: number | null;
}

export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** A file at whose end standard output is written, instead of a pipe. */
  readonly stdout?: string;
  readonly cwd?: string;
  /** Another launcher than this folder's. */
  readonly fx?: string;
}

/** A built `fx serve`, and where it listens. */
export interface Served {
  readonly url: string;
  readonly pid: number | undefined;
  /** Everything it has printed so far. */
  readonly output: () => Ran;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Resolves when it has ended. */
  readonly ended: Promise<Ran>;
  /** Ends it, if it has not. */
  readonly stop: () => Promise<Ran>;
}

/** What a failed test has left running would keep the file's process alive for good. */
const running = new Set<ChildProcessWithoutNullStreams>();
if (process.env.NODE_TEST_CONTEXT !== undefined) {
  const { after } = await import("node:test");
  after(() => {
    for (const child of running) child.kill("SIGKILL");
  });
}

/** Runs the built `fx` with pipes for its streams. */
export function runFx(args: readonly string[], surroundings: Surroundings = {}): Promise<Ran> {
  const { child, ended } = spawnFx(args, surroundings);
  child.stdin.end(surroundings.stdin ?? "");
  return ended;
}

/** Starts `fx serve` on a free port and resolves when it says that it listens. */
export async function startFx(
  args: readonly string[] = ["--demo"],
  surroundings: Surroundings = {},
): Promise<Served> {
  const { child, output, ended } = spawnFx(["serve", "--port", "0", ...args], surroundings);
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on("data", () => {
      const [, address] = /listening\s+(https?:\S+)[\s\S]*\/docs\n/.exec(output().stdout) ?? [];
      if (address !== undefined) resolve(address);
    });
    ended.then(({ stderr, exit }) => reject(new Error(`fx serve ended with ${exit}: ${stderr}`)), reject);
  });
  const signal = (name: NodeJS.Signals) => void child.kill(name);
  const stop = () => {
    signal("SIGTERM");
    return ended;
  };
  return { url, pid: child.pid, output, signal, ended, stop };
}

/** Starts the built `fx` with nothing of this machine's settings. */
export function spawnFx(
  args: readonly string[],
  { env = {}, cwd, stdout: file, fx = launcher }: Surroundings = {},
): { child: ChildProcessWithoutNullStreams; output: () => Ran; ended: Promise<Ran> } {
  const { PATH = "", NODE_V8_COVERAGE } = process.env;
  const command = [process.execPath, fx, ...args] as const;
  const [first, ...rest] = file === undefined ? command : ["sh", "-c", 'exec "$@" >>"$0"', file, ...command];
  const child = spawn(first, rest, {
    cwd,
    env: { PATH, HOME: "/nonexistent", TZ: "UTC", ...(NODE_V8_COVERAGE && { NODE_V8_COVERAGE }), ...env },
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  child.stdin.on("error", () => {});
  const output = (): Ran => ({ stdout, stderr, exit: child.exitCode });
  running.add(child);
  const ended = once(child, "close").then(() => {
    running.delete(child);
    return output();
  });
  return { child, output, ended };
}

/** Waits until something is so. */
export async function until(isSo: () => boolean, timeoutMs = 60_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error(`Waited ${timeoutMs} ms in vain for ${isSo}`);
    await pause(5);
  }
}
