import { PassThrough, Writable } from "node:stream";
import { runCommand } from "../../src/cli/run.ts";
import { openTerminal } from "../../src/cli/terminal/terminal.ts";
import type { Ran, Surroundings } from "./run-fx.ts";

/** Runs an `fx` command in this process, with pipes for its streams and nothing of this machine's settings. */
export async function runHere(
  args: readonly string[],
  { env = {}, stdin = "" }: Pick<Surroundings, "env" | "stdin"> = {},
): Promise<Ran> {
  const stdout = sink();
  const stderr = sink();
  const streams = { stdin: new PassThrough().end(stdin), stdout: stdout.stream, stderr: stderr.stream };
  // Of a process's streams, a command that is not at a terminal uses what any stream has.
  const terminal = openTerminal(
    streams as unknown as Parameters<typeof openTerminal>[0],
    { HOME: "/nonexistent", ...env },
    args.includes("--no-color"),
  );
  const exit = await runCommand(args, terminal);
  return { stdout: stdout.text(), stderr: stderr.text(), exit };
}

function sink(): { stream: Writable; text: () => string } {
  let text = "";
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  return { stream, text: () => text };
}
