import type { Writable } from "node:stream";
import { isatty } from "node:tty";
import { CommanderError } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { describeError } from "../core/mask.ts";
import { visibleLines } from "../core/visible.ts";
import { commandOf, fullName } from "./command.ts";
import { Context } from "./context.ts";
import { describeFailure, describeUnwritten, Interrupted, tellFailure, tellWarning } from "./errors.ts";
import { type Exit, signalExits } from "./exits.ts";
import { buildProgram } from "./program.ts";
import {
  clearLine,
  openOutput,
  openTerminal,
  quiet,
  type Screen,
  type Terminal,
  write,
} from "./terminal/terminal.ts";

/** Runs this process's command line. The exit is left to Node: process.exit() would cut off output. */
export async function run(process: NodeJS.Process): Promise<void> {
  const argv = process.argv.slice(2);
  // Every file that fx makes is for its user alone: ledgers, their logs and copies, checkpoints, rejects, tokens.
  process.umask(0o077);
  process.on("uncaughtException", crash);
  const { stdin, stderr } = process;
  const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));
  process.once("exit", () => {
    if (terminals.every((descriptor) => isatty(descriptor))) return;
    // Node would abort, because it cannot restore the settings of a terminal that is closed.
    process.removeAllListeners("SIGHUP");
    process.kill(process.pid, "SIGHUP");
  });
  const stdout = openOutput(process.stdout);
  for (const stream of [stdout, stderr]) stream.on("error", () => {});
  const terminal = openTerminal({ stdin, stdout, stderr }, process.env, argv.includes("--no-color"));
  // Node ends without a word when a command waits for what can no longer come. That must not look like success.
  process.exitCode = 1;
  const exit = await runCommand(argv, terminal);
  process.exitCode = exit;
  // An interrupted request may still wait for an answer and keep the process alive.
  if (Object.values<Exit>(signalExits).includes(exit)) stderr.write("", () => process.exit());
}

/** Node would print every property of an error, such as a statement's parameters or a request's headers. */
function crash(error: unknown): void {
  const described = describeError(error instanceof Error ? error : new Error(typeof error));
  process.stderr.write(`fx: crashed, because of a bug in fx: ${visibleLines(described.stack)}\n`);
  process.exit(1);
}

/** Runs one command line. Resolves with its exit when its output is written. */
export async function runCommand(argv: readonly string[], terminal: Terminal): Promise<Exit> {
  const { stdout, stderr } = terminal;
  const json = argv.includes("--json");
  const isQuiet = argv.includes("--quiet");
  const context = new Context(isQuiet ? quiet(terminal) : terminal, packageJson.version);
  const written = watchOutput(stdout.stream);
  const exit = await carryOut(argv, context, stderr, json);
  const unwritten = await written();
  if (unwritten?.code === undefined) return exit;
  const { request, ifUnwritten } = context.sending;
  const failure = describeUnwritten(unwritten, request, ifUnwritten);
  // Where the reader has closed our output, as `head` does, only what was done is reported.
  if (failure.exit !== 141 || failure.hint !== null) {
    clearLine(stderr);
    tellFailure(stderr, failure, json);
  }
  return exit || failure.exit;
}

/** @param stderr for failures, which --quiet shows, too */
async function carryOut(
  argv: readonly string[],
  context: Context,
  stderr: Screen,
  json: boolean,
): Promise<Exit> {
  const { env } = context.terminal;
  const program = buildProgram(context);
  try {
    const words = argv.length === 0 ? ["--help"] : argv;
    await Promise.race([program.parseAsync(words, { from: "user" }), context.signals.interrupted]);
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return 0;
    const failure = describeFailure(thrown, `${fullName(commandOf(program, argv))} --help shows how.`);
    if (thrown instanceof Interrupted) clearLine(stderr);
    tellFailure(stderr, failure, json);
    if (failure.code === "internal" && env.FX_LOG_LEVEL === "debug") {
      const where = thrown instanceof Error ? describeError(thrown).stack : typeof thrown;
      write(stderr, visibleLines(where));
    }
    context.exit = failure.exit;
    if (thrown instanceof Interrupted) return failure.exit;
  }
  try {
    await context.close();
  } catch (error) {
    const warning = `Closing failed, which undoes nothing: ${describeFailure(error).message}`;
    tellWarning(context.terminal, warning, json);
  }
  return context.exit;
}

/** Returns a function that resolves when everything is written: to the first error, if there was one. */
function watchOutput(stream: NodeJS.WritableStream): () => Promise<NodeJS.ErrnoException | undefined> {
  let first: NodeJS.ErrnoException | undefined;
  const keep = (error: NodeJS.ErrnoException | null | undefined) => {
    first ??= error ?? undefined;
  };
  stream.once("error", keep);
  return async () => {
    await new Promise<void>((resolve) => {
      // Writing to /dev/full fails even for an empty text, but a command that printed nothing has lost no output.
      if (!(stream as Writable).writableLength) return setImmediate(resolve);
      stream.write("", (error) => {
        keep(error);
        resolve();
      });
    });
    return first;
  };
}
