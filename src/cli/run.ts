import { inspect } from "node:util";
import { CommanderError } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { maskPesels } from "../core/mask.ts";
import { Context } from "./context.ts";
import {
  describeFailure,
  Interrupted,
  OutputFailed,
  tellFailure,
  tellWarning,
  UsageError,
} from "./errors.ts";
import { buildProgram, commandOf, fullName } from "./program.ts";
import { clearLine, openTerminal, write, writeWhole } from "./terminal/terminal.ts";

/** Runs one command line. It sets the exit code and leaves the exit to Node: process.exit() would cut off output. */
export async function run(process: NodeJS.Process): Promise<void> {
  const argv = process.argv.slice(2);
  const json = argv.includes("--json");
  writeWhole(process.stdout);
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const terminal = openTerminal(process, process.env, argv.includes("--no-color"));
  const context = new Context(terminal, packageJson.version);
  const program = buildProgram(context);
  process.stdout.once("error", ({ code = "" }: NodeJS.ErrnoException) => {
    // The reader of our output has closed it, as `head` does.
    if (code === "EPIPE") return;
    process.exitCode = 1;
    clearLine(terminal.stderr);
    tellFailure(terminal.stderr, describeFailure(new OutputFailed(code, context.request)), json);
  });
  try {
    const words = argv.length === 0 ? ["--help"] : argv;
    await Promise.race([program.parseAsync(words, { from: "user" }), context.interrupted]);
  } catch (thrown) {
    context.giveBackScreen();
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return;
    const name = fullName(commandOf(program, argv));
    const error = isBareGroup(thrown) ? new UsageError(`${name} needs a command.`) : thrown;
    const failure = describeFailure(error, `${name} --help shows how.`);
    if (thrown instanceof Interrupted) clearLine(terminal.stderr);
    tellFailure(terminal.stderr, failure, json);
    if (failure.code === "internal" && process.env.FX_LOG_LEVEL === "debug") {
      write(terminal.stderr, maskPesels(inspect(thrown)));
    }
    process.exitCode = failure.exit;
    if (thrown instanceof Interrupted) return exitWhenWritten(process);
  }
  try {
    await context.close();
  } catch (error) {
    const warning = `Closing failed, which undoes nothing: ${describeFailure(error).message}`;
    tellWarning(terminal.stderr, warning, json);
  }
}

/** A group of commands without a subcommand. Left to itself, commander prints its help. */
function isBareGroup(thrown: unknown): boolean {
  return thrown instanceof CommanderError && thrown.code === "commander.help";
}

/** An interrupted request may still wait for an answer and keep the process alive. */
function exitWhenWritten(process: NodeJS.Process): void {
  process.stdout.write("", () => process.stderr.write("", () => process.exit()));
}
