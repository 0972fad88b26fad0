import { closeSync, openSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { startServer } from "../../src/cli/commands/serve/server.ts";
import { loadConfig } from "../../src/cli/config.ts";
import { run } from "../../src/cli/run.ts";
import type { Ran } from "./run-fx.ts";

let last: Promise<unknown> = Promise.resolve();

/**
 * What `runFx` gives, from the source and in this process, in a tenth of the time: for what a command says and does,
 * where the build, the streams and the end of the process are not the point. One runs after the other.
 */
export function runHere(
  args: readonly string[],
  surroundings: { readonly env?: Readonly<Record<string, string>>; readonly stdin?: string } = {},
): Promise<Ran> {
  const ran = last.then(() => runOnce(args, surroundings));
  last = ran.catch(() => {});
  return ran;
}

async function runOnce(
  args: readonly string[],
  { env = {}, stdin = "" }: { readonly env?: Readonly<Record<string, string>>; readonly stdin?: string },
): Promise<Ran> {
  const noFile = openSync("/dev/null", "r");
  const [stdout, stderr] = [collector(noFile), collector(noFile)];
  const here: Pick<NodeJS.Process, "argv" | "env" | "exitCode"> & object = {
    argv: [process.execPath, "fx", ...args],
    env: { HOME: "/nonexistent", ...env },
    exitCode: undefined,
    ...{ stdin: Readable.from([stdin]), stdout: stdout.stream, stderr: stderr.stream },
  };
  const { exitCode: before } = process;
  const listeners = signals.map((signal) => process.listeners(signal));
  try {
    await run(here as NodeJS.Process);
    return {
      stdout: stdout.text(),
      stderr: stderr.text(),
      exit: Number(here.exitCode ?? process.exitCode ?? 0),
    };
  } finally {
    // What a command leaves to the end of its process.
    process.exitCode = before;
    signals.forEach((signal, index) => {
      for (const listener of process.listeners(signal)) {
        if (!listeners[index]?.includes(listener)) process.removeListener(signal, listener);
      }
    });
    closeSync(noFile);
  }
}

const signals = ["SIGINT", "SIGTERM"] as const;

function collector(fd: number) {
  let text = "";
  const write = (chunk: unknown, _encoding: unknown, done: () => void) => {
    text += String(chunk);
    done();
  };
  return { stream: Object.assign(new Writable({ decodeStrings: false, write }), { fd }), text: () => text };
}

/** What `fx serve` runs, in this process and on a free port, with these FX_* settings. */
export function serveHere(env: Readonly<Record<string, string>>): ReturnType<typeof startServer> {
  const { settings } = loadConfig({}, { FX_PORT: "0", HOME: "/nonexistent", ...env });
  return startServer(settings, { logLevel: "silent", version: "0.0.0", prepare: async () => {} });
}
