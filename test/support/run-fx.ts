import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { launcher } from "./shell.ts";

/** The result of a command. `exit` is null if a signal ended it. */
export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit: number | null;
}

export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** A file to which standard output is appended, instead of a pipe. */
  readonly stdout?: string;
  readonly cwd?: string;
  /** The launcher, if not this folder's. */
  readonly fx?: string;
}

/** A running `fx serve` of the build. */
export interface Served {
  readonly url: string;
  readonly pid: number | undefined;
  /** Everything that it has printed so far. */
  readonly output: () => Ran;
  readonly signal: (signal: NodeJS.Signals) => void;
  readonly ended: Promise<Ran>;
  /** Ends it if it still runs. */
  readonly stop: () => Promise<Ran>;
}

/** Processes that a failed test leaves behind would keep the test file's process alive. */
const running = new Set<ChildProcessWithoutNullStreams>();
if (process.env.NODE_TEST_CONTEXT !== undefined) {
  const { after } = await import("node:test");
  after(() => {
    for (const child of running) child.kill("SIGKILL");
  });
}

/** Runs the built `fx` with pipes as its streams. */
export function runFx(args: readonly string[], surroundings: Surroundings = {}): Promise<Ran> {
  const { child, ended } = spawnFx(args, surroundings);
  child.stdin.end(surroundings.stdin ?? "");
  return ended;
}

/** Starts `fx serve` on a free port and resolves when it listens. */
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

/** Starts the built `fx` without this machine's settings. */
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
