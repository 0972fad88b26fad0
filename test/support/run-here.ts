import { PassThrough, Writable } from "node:stream";
import { startServer } from "../../src/cli/commands/serve/server.ts";
import { loadConfig } from "../../src/cli/config.ts";
import { runCommand } from "../../src/cli/run.ts";
import { openTerminal } from "../../src/cli/terminal/terminal.ts";
import type { Ran, Surroundings } from "./run-fx.ts";

interface HereSurroundings extends Pick<Surroundings, "env" | "stdin" | "cwd"> {
  /** As at a terminal of that width, where nobody types: stdout is then all that it shows. */
  readonly columns?: number;
}

let last: Promise<unknown> = Promise.resolve();

/**
 * What `runFx` gives, from the source and in this process, in a fraction of the time: for what a command says and does,
 * where the build, the streams and the end of the process are not the point. One runs after the other.
 */
export function runHere(args: readonly string[], surroundings: HereSurroundings = {}): Promise<Ran> {
  const ran = last.then(() => runOnce(args, surroundings));
  last = ran.catch(() => {});
  return ran;
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"] as const;

async function runOnce(
  args: readonly string[],
  { env = {}, stdin = "", cwd, columns }: HereSurroundings,
): Promise<Ran> {
  const look = columns === undefined ? {} : { isTTY: true, columns, rows: 40 };
  const stdout = collector(look);
  const stderr = columns === undefined ? collector({}) : stdout;
  const streams = {
    stdin: Object.assign(new PassThrough().end(stdin), look),
    stdout: stdout.stream,
    stderr: stderr.stream,
  };
  const terminal = openTerminal(
    // Of a process's streams, a command uses what any stream has.
    streams as unknown as Parameters<typeof openTerminal>[0],
    { HOME: "/nonexistent", ...env },
    args.includes("--no-color"),
  );
  const listeners = signals.map((signal) => process.listeners(signal));
  const folder = process.cwd();
  try {
    if (cwd !== undefined) process.chdir(cwd);
    const exit = await runCommand(args, terminal);
    return { stdout: stdout.text(), stderr: stderr === stdout ? "" : stderr.text(), exit };
  } finally {
    process.chdir(folder);
    // What a command leaves to the end of its process.
    for (const [index, signal] of signals.entries()) {
      const added = process.listeners(signal).filter((listener) => !listeners[index]?.includes(listener));
      for (const listener of added) process.removeListener(signal, listener);
    }
  }
}

function collector(properties: object): { stream: Writable; text: () => string } {
  let text = "";
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  return { stream: Object.assign(stream, properties), text: () => text };
}

/** What `fx serve` runs, in this process and on a free port, with these FX_* settings. */
export function serveHere(env: Readonly<Record<string, string>>): ReturnType<typeof startServer> {
  const { settings } = loadConfig({}, { FX_PORT: "0", FX_LOG_LEVEL: "silent", HOME: "/nonexistent", ...env });
  return startServer(settings, { version: "0.0.0", prepare: async () => {} });
}
