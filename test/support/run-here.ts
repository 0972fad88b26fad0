import assert from "node:assert/strict";
import { PassThrough, Writable } from "node:stream";
import { startServer } from "../../src/cli/commands/serve/server.ts";
import { runCommand } from "../../src/cli/run.ts";
import { openTerminal } from "../../src/cli/terminal/terminal.ts";
import { adult } from "./fixture.ts";
import type { Ran, Surroundings } from "./run-fx.ts";
import { configOf } from "./settings.ts";

interface HereSurroundings extends Pick<Surroundings, "env" | "stdin" | "cwd"> {
  /** Width of a terminal where nobody types; stdout then has everything that it shows. */
  readonly columns?: number;
}

let last: Promise<unknown> = Promise.resolve();

/**
 * A fast `runFx`, from the source and in this process, for tests of a command's output and effect. Build, process
 * streams and process exit are not covered. Commands run one at a time.
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
    // A command uses only what these streams have in common with those of a process.
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
    // A command leaves its signal handlers to the end of its process.
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

/** Opens an account of Jan Kowalski by `fx account create`, at this target. */
export async function openHere(target: string, { index = 0, pln = "1000" } = {}): Promise<void> {
  const holder = ["--name", "Jan", "--surname", "Kowalski", "--pln", pln];
  const { exit, stderr } = await runHere(["account", "create", adult(index), ...holder, "--url", target]);
  assert.equal(exit, 0, stderr);
}

/** Runs the server of `fx serve` in this process, on a free port and with these FX_* settings. */
export function serveHere(env: Readonly<Record<string, string>>): ReturnType<typeof startServer> {
  const { settings } = configOf([], { FX_PORT: "0", FX_LOG_LEVEL: "silent", ...env });
  return startServer(settings, { version: "0.0.0", prepare: async () => {} });
}
