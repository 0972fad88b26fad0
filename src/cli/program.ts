import { Command, Help } from "commander";
import { defineAccount } from "./commands/account.ts";
import { defineAudit } from "./commands/audit/audit.ts";
import { defineBackup } from "./commands/backup.ts";
import { defineBatch } from "./commands/batch/batch.ts";
import { defineCompletion } from "./commands/completion/completion.ts";
import { defineDoctor } from "./commands/doctor/doctor.ts";
import { defineExchange } from "./commands/exchange.ts";
import { defineExport } from "./commands/export.ts";
import { defineHelp } from "./commands/help.ts";
import { definePosition } from "./commands/position.ts";
import { defineQuote } from "./commands/quote.ts";
import { defineRates } from "./commands/rates/rates.ts";
import { defineReceipt } from "./commands/receipt.ts";
import { defineServe } from "./commands/serve/serve.ts";
import { defineToken } from "./commands/token.ts";
import { defineWatch } from "./commands/watch.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./errors.ts";

/** All of fx's commands. Defining them loads nothing heavy: an action imports what it needs when it runs. */
export function buildProgram(context: Context): Command {
  const { stdout, stderr } = context.terminal;
  const program = new Command("fx")
    .description("Currency exchange accounts, settled at the rates of the National Bank of Poland.")
    .version(context.version, "-V, --version", "print the version")
    .option("--no-color", "print without colour")
    .helpOption("-h, --help", "print help")
    .helpCommand(false)
    .exitOverride()
    .configureHelp({
      showGlobalOptions: true,
      styleTitle: (title) => stdout.paint.bold(title),
      minWidthToWrap: 24,
      formatItem: formatHelpItem,
    })
    .configureOutput({
      // Errors are printed in one place, with --json as a document.
      writeErr: () => {},
      writeOut: (text) => stdout.stream.write(text),
      getOutHelpWidth: () => Math.min(stdout.columns, 100),
      getErrHelpWidth: () => Math.min(stderr.columns, 100),
      getOutHasColors: () => stdout.paint.level > 0,
    })
    .addHelpText("after", `\nExamples:\n  $ fx serve --demo\n  $ fx rates\n  $ fx help exit-codes`);
  defineServe(program, context);
  defineAccount(program, context);
  defineExchange(program, context);
  defineQuote(program, context);
  defineBatch(program, context);
  defineRates(program, context);
  defineWatch(program, context);
  defineReceipt(program, context);
  definePosition(program, context);
  defineExport(program, context);
  defineAudit(program, context);
  defineBackup(program, context);
  defineToken(program, context);
  defineDoctor(program, context);
  defineCompletion(program, context);
  defineHelp(program, context);
  refuseBlankOptions(program);
  return program;
}

/** A blank value is a variable of a script that is not set. Taken as none, it would leave out what was asked for. */
function refuseBlankOptions(command: Command): void {
  for (const option of command.options.filter(({ required }) => required)) {
    const { parseArg: parse } = option;
    option.argParser((text: string, previous: unknown) => {
      if (text.trim() === "")
        throw new UsageError(`${option.long} is blank. Give it a value, or leave it out.`);
      return parse === undefined ? text : parse(text, previous);
    });
  }
  for (const each of command.commands) refuseBlankOptions(each);
}

/** Next to each other where there is room, and otherwise the description under the term. */
function formatHelpItem(term: string, termWidth: number, description: string, help: Help): string {
  const { helpWidth = 80, minWidthToWrap } = help;
  if (helpWidth - termWidth >= minWidthToWrap + 4 || description === "") {
    return Help.prototype.formatItem.call(help, term, termWidth, description, help);
  }
  const folded = help.boxWrap(description, helpWidth - 6);
  return `  ${term}\n${folded.replace(/^/gm, "      ")}`;
}

/** The command that a command line is about, as far as its words go. */
export function commandOf(program: Command, argv: readonly string[]): Command {
  let command = program;
  for (const word of argv) {
    const next = command.commands.find((candidate) => candidate.name() === word);
    if (next === undefined) break;
    command = next;
  }
  return command;
}

/** "fx account show". */
export function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}
