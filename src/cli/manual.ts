import packageJson from "../../package.json" with { type: "json" };
import { type FxCommand, fullName } from "./command.ts";
import { Context } from "./context.ts";
import { exitOfBatch, exitTable } from "./exits.ts";
import { buildProgram } from "./program.ts";
import { settingNames, settingOf, variableOf } from "./settings.ts";
import { openTerminal } from "./terminal/terminal.ts";

/** The manual: a page of roff for fx and for each command of it, by file name. The build writes it. */
export function manualPages(): ReadonlyMap<string, string> {
  const terminal = openTerminal(process, {}, true);
  const program = buildProgram(new Context(terminal, packageJson.version));
  const commands = [program, ...commandsUnder(program)];
  return new Map(commands.map((command) => [`${pageName(command)}.1`, pageOf(command)]));
}

function commandsUnder(command: FxCommand): FxCommand[] {
  return command.commands.flatMap((child) => [child, ...commandsUnder(child)]);
}

function pageName(command: FxCommand): string {
  return fullName(command).replaceAll(" ", "-");
}

function pageOf(command: FxCommand): string {
  const { parent, commands } = command;
  const help = command.createHelp();
  const described = help
    .visibleArguments(command)
    .map((argument) => entry(argument.name(), argument.description));
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)].map((option) =>
    entry(option.flags, help.optionDescription(option)),
  );
  const children = commands.map((child) => entry(`${pageName(child)}(1)`, child.description()));
  const others = parent === null ? [] : [parent, ...parent.commands.filter((sister) => sister !== command)];
  const isWhole = parent === null;
  return [
    `.TH "${roff(pageName(command).toUpperCase())}" "1" "" "fx ${packageJson.version}" "fx"`,
    ...section("NAME", [`${roff(pageName(command))} \\- ${roff(command.description().replace(/\.$/, ""))}`]),
    ...section("SYNOPSIS", [`\\fB${roff(fullName(command))}\\fR ${roff(command.usage())}`]),
    ...section("ARGUMENTS", described),
    ...section("COMMANDS", children),
    ...section("OPTIONS", options),
    ...section(
      "EXIT STATUS",
      isWhole ? [...exitTable.map(exitEntry), `.PP\n${roff(exitOfBatch)}`] : ["As of \\fBfx\\fR(1)."],
    ),
    ...section(
      "ENVIRONMENT",
      isWhole ? settingNames.map((name) => entry(variableOf(name), settingOf(name).meaning)) : [],
    ),
    ...section(
      "FILES",
      isWhole ? [entry("$XDG_CONFIG_HOME/fx/config.json", "settings, as fx help settings names them")] : [],
    ),
    ...section("EXAMPLES", [".EX", ...command.examples.map((example) => roff(`$ ${example}`)), ".EE"]),
    ...section(
      "SEE ALSO",
      [others.map((other) => `\\fB${roff(pageName(other))}\\fR(1)`).join(",\n")].filter(Boolean),
    ),
    "",
  ].join("\n");
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`.SH ${title}`, ...lines];
}

function entry(term: string, text: string): string {
  return `.TP\n\\fB${roff(term)}\\fR\n${roff(text)}`;
}

function exitEntry([exit, meaning, moved, next]: (typeof exitTable)[number]): string {
  return entry(String(exit), `${meaning}. Money moved: ${moved}.${next === "" ? "" : ` Do: ${next}.`}`);
}

/** roff reads a backslash, a line that begins with a point or a quote, and typographic quotes and dashes. */
function roff(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("'", "\\(aq")
    .replaceAll("~", "\\(ti")
    .replaceAll("^", "\\(ha")
    .replace(/^\./gm, "\\&.");
}
