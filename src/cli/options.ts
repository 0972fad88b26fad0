import { Argument, type Command, type CommandOptions } from "commander";
import { addDays, type CalendarDate, startOfDay, warsawDate } from "../core/date.ts";
import { type Decimal, parseDecimal } from "../core/decimal.ts";
import { parseDate, parseTime } from "../wire/times.ts";
import { UsageError } from "./errors.ts";
import type { Needs } from "./open.ts";
import { settingOption } from "./settings.ts";

export const replayNote = "This key was used before. What was done then is shown; nothing was done again.";

/** The examples of each command, which its help and its man page show. */
export const examplesOf = new WeakMap<Command, readonly string[]>();

export function withExamples(command: Command, examples: readonly string[]): Command {
  examplesOf.set(command, examples);
  return command.addHelpText("after", `\nExamples:\n${examples.map((each) => `  $ ${each}`).join("\n")}`);
}

/** A command with a description and examples, which every command's help has. */
export function command(
  parent: Command,
  name: string,
  description: string,
  examples: readonly string[],
  options: CommandOptions = {},
): Command {
  return withExamples(parent.command(name, options).description(description).helpCommand(false), examples);
}

/**
 * Defines `show`, which a group does when no other of its commands is named. The help of the group shows the arguments
 * and options that `define` gives it.
 */
export function showCommand(
  group: Command,
  description: string,
  examples: readonly string[],
  define: (show: Command) => Command,
): Command {
  const same = `${description}; the same as fx ${group.name()}`;
  const show = define(command(group, "show", same, examples, { isDefault: true }));
  showInHelp(group, show);
  return show;
}

function showInHelp(group: Command, byDefault: Command): void {
  const help = byDefault.createHelp();
  group.usage(`${byDefault.usage()} | [command]`).configureHelp({
    ...group.configureHelp(),
    // The other commands of the group inherit this.
    visibleArguments: (command) => help.visibleArguments(command === group ? byDefault : command),
    visibleOptions: (command) => help.visibleOptions(command === group ? byDefault : command),
  });
}

/** The options of every command that asks a service. */
export function serviceCommand(
  command: Command,
  needs: Pick<Needs, "rates"> & { readonly json?: string },
): Command {
  command.addOption(settingOption("url")).addOption(settingOption("allowPlainHttp"));
  if (needs.rates) command.addOption(settingOption("rates", ", for a store in this process"));
  return command.option("--json", needs.json ?? "print one JSON document");
}

export function peselArgument(): Argument {
  return new Argument("<pesel>", "11 digits, or - to read it from standard input");
}

export function amountArgument(text: string): Decimal {
  const amount = parseDecimal(text);
  if (amount !== undefined) return amount;
  throw new UsageError(`"${text}" is not an amount. Write one like 1234.50, with a point and no spaces.`);
}

export function dateArgument(text: string): CalendarDate {
  const date = parseDate(text);
  if (date !== undefined) return date;
  throw new UsageError(`"${text}" is not a date. Write one like 2026-01-31.`);
}

/** A time, or the last millisecond of a day in Warsaw. */
function timeArgument(text: string): Date {
  const date = parseDate(text);
  if (date !== undefined && date >= warsawDate(new Date())) {
    throw new UsageError(`${date} has not ended yet in Warsaw. Give an earlier date, or a time.`);
  }
  const time = date === undefined ? parseTime(text) : new Date(startOfDay(addDays(date, 1)).getTime() - 1);
  if (time !== undefined) return time;
  throw new UsageError(
    `"${text}" is not a date or a time. Write 2026-01-31, or a time with its offset: 2026-01-31T14:30:00+01:00.`,
  );
}

export function wholeArgument(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d{1,9}$/.test(text) && number >= least && number <= most) return number;
    throw new UsageError(`"${text}" is not a whole number from ${least} to ${most}.`);
  };
}

/** The option of the commands that show an earlier state. */
export function withAtOption(command: Command): Command {
  return command.option(
    "--at <time>",
    "show the state at this time, at least 10 seconds ago; a date means the end of that day in Warsaw",
    timeArgument,
  );
}

/** The options of the commands that show the entries of a period. */
export function withPeriodOptions(command: Command): Command {
  return command
    .option("--from <date>", "first day, in Warsaw (default: that of the first entry)", dateArgument)
    .option("--to <date>", "last day, in Warsaw (default: that of the last entry)", dateArgument);
}

function keyArgument(text: string): string {
  if (/^[\x21-\x7e]{1,255}$/.test(text)) return text;
  throw new UsageError("A key is 1 to 255 visible ASCII characters, without spaces.");
}

/** The key option of the commands that move money. */
export function withKeyOption(command: Command): Command {
  return command.option(
    "--key <key>",
    "idempotency key: the same key is never done twice (default: a new one)",
    keyArgument,
  );
}

/** The options of a deposit and a withdrawal. */
export function withCashOptions(command: Command): Command {
  return command
    .requiredOption("--amount <amount>", "amount, such as 250.50", amountArgument)
    .requiredOption("--currency <currency>", "currency, such as PLN")
    .option("--note <text>", "note to keep with the entry, up to 200 characters");
}

export function withReasonOption(command: Command): Command {
  return command.requiredOption("--reason <text>", "reason to keep with the entry, up to 200 characters");
}

/** The options of a command that asks before money moves. */
export function withConsentOptions(command: Command, dryRun: string): Command {
  return command
    .option("--dry-run", dryRun)
    .option("-y, --yes", "do not ask; required at a terminal if stdin or stderr is redirected");
}
