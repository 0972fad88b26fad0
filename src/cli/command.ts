import { Command, type CommandOptions as DefinitionOptions } from "commander";
import { parseReason } from "../core/change.ts";
import { addDays, type CalendarDate, isDate, startOfDay, warsawDate } from "../core/date.ts";
import { type Decimal, parseDecimal } from "../core/decimal.ts";
import { parseTime } from "../wire/times.ts";
import { UsageError } from "./errors.ts";
import { type SettingName, settingOption } from "./settings.ts";

export const replayNote = "This key was used before. What was done then is shown; nothing was done again.";

/** A command of fx, with examples, and with the arguments and options that several commands share. */
export class FxCommand extends Command {
  declare readonly commands: readonly FxCommand[];
  declare parent: FxCommand | null;
  /** Command lines that the help and the man page show. */
  examples: readonly string[] = [];

  override createCommand(name?: string): FxCommand {
    return new FxCommand(name);
  }

  add(
    name: string,
    description: string,
    examples: readonly string[],
    options: DefinitionOptions = {},
  ): FxCommand {
    return this.command(name, options).description(description).helpCommand(false).withExamples(examples);
  }

  withExamples(examples: readonly string[]): this {
    this.examples = examples;
    return this.addHelpText("after", `\nExamples:\n${examples.map((each) => `  $ ${each}`).join("\n")}`);
  }

  /** Defines `show`, which the group runs when no command of it is named. The help of the group has the options of it. */
  addShow(description: string, examples: readonly string[], usage = "[options]"): FxCommand {
    const same = `${description}; the same as fx ${this.name()}`;
    const show = this.add("show", same, examples, { isDefault: true });
    const help = show.createHelp();
    this.usage(`${usage} | [command]`).configureHelp({
      ...this.configureHelp(),
      // The other commands of the group inherit this.
      visibleArguments: (command) => help.visibleArguments(command === this ? show : command),
      visibleOptions: (command) => help.visibleOptions(command === this ? show : command),
    });
    this.hook("preSubcommand", (_, command) => {
      const [word = "show"] = this.args;
      if (command !== show || word === "show" || word.startsWith("-") || show.registeredArguments.length > 0)
        return;
      const names = this.commands.map((each) => each.name()).join(", ");
      throw new UsageError(`${fullName(this)} has no command "${word}". Its commands: ${names}.`);
    });
    return show;
  }

  setting(name: SettingName, detail = ""): this {
    return this.addOption(settingOption(name, detail));
  }

  /** The options of a command that asks a service. */
  target({ rates = false, json = true }: { readonly rates?: boolean; readonly json?: boolean } = {}): this {
    this.setting("url").setting("allowPlainHttp");
    if (rates) this.setting("rates", ", for a store in this process");
    return json ? this.json() : this;
  }

  json(description = "print one JSON document"): this {
    return this.option("--json", description);
  }

  pesel(): this {
    return this.argument("<pesel>", "11 digits, or - to read it from standard input");
  }

  receipt(id = "<id>"): this {
    return this.argument(id, receiptDescription, receiptArgument);
  }

  at(): this {
    return this.option(
      "--at <time>",
      "show the state at this time, at least 10 seconds ago; a date means the end of that day in Warsaw",
      parseMoment,
    );
  }

  period(): this {
    return this.option(
      "--from <date>",
      "first day, in Warsaw (default: that of the first entry)",
      dateArgument,
    ).option("--to <date>", "last day, in Warsaw (default: that of the last entry)", dateArgument);
  }

  limit(items: string): this {
    const description = `maximum number of ${items} (default: all)`;
    return this.option("--limit <number>", description, wholeArgument(1, 999_999_999));
  }

  key(): this {
    const description = "idempotency key: the same key is never done twice (default: a new one)";
    return this.option("--key <key>", description, parseKey);
  }

  /** The options of a command that asks before money moves. */
  consent(dryRun: string): this {
    return this.option("--dry-run", dryRun).option(
      "-y, --yes",
      "do not ask; required at a terminal if stdin or stderr is redirected",
    );
  }

  /** The options of a command that changes an account. */
  settles(): this {
    return this.key().consent("show what would change, and change nothing");
  }

  cash(): this {
    return this.requiredOption("--amount <amount>", "amount, such as 250.50", amountArgument)
      .requiredOption("--currency <currency>", "currency, such as PLN")
      .option("--note <text>", "note to keep with the entry, up to 200 characters");
  }

  reason(description = "reason to keep with the entry, up to 200 characters"): this {
    return this.requiredOption("--reason <text>", description, parseReason);
  }
}

/** "fx account show". */
export function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
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

export function amountArgument(text: string): Decimal {
  const amount = parseDecimal(text);
  if (amount !== undefined) return amount;
  throw new UsageError(`"${text}" is not an amount. Write one like 1234.50, with a point and no spaces.`);
}

export function dateArgument(text: string): CalendarDate {
  if (isDate(text)) return text;
  throw new UsageError(`"${text}" is not a date. Write one like 2026-01-31.`);
}

/** A time, or the last millisecond of a day in Warsaw. */
function parseMoment(text: string): Date {
  if (isDate(text) && text >= warsawDate(new Date())) {
    throw new UsageError(`${text} has not ended yet in Warsaw. Give an earlier date, or a time.`);
  }
  const time = isDate(text) ? new Date(startOfDay(addDays(text, 1)).getTime() - 1) : parseTime(text);
  if (time !== undefined) return time;
  throw new UsageError(
    `"${text}" is not a date or a time. Write 2026-01-31, or a time with its offset: 2026-01-31T14:30:00+01:00.`,
  );
}

export const receiptDescription =
  "receipt id, its first 8 characters or more (18 below operator), or the value of an Fx-Receipt header";

/** The id in a path or URL that ends with it, such as the header Fx-Receipt. */
export function receiptArgument(text: string): string {
  return text.trim().replace(/^.*\/api\/receipts\//, "");
}

export function wholeArgument(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d{1,9}$/.test(text) && number >= least && number <= most) return number;
    throw new UsageError(`"${text}" is not a whole number from ${least} to ${most}.`);
  };
}

function parseKey(text: string): string {
  if (/^[\x21-\x7e]{1,255}$/.test(text)) return text;
  throw new UsageError("A key is 1 to 255 visible ASCII characters, without spaces.");
}
