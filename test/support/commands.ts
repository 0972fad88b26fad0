import type { Command } from "commander";
import { Context } from "../../src/cli/context.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { openTerminal } from "../../src/cli/terminal/terminal.ts";

export const program = buildProgram(new Context(openTerminal(process, {}, true), "0.0.0"));

/** Every command of fx, with the groups. */
export const commands: readonly Command[] = commandsUnder(program);

/** The commands that have --json. */
export const jsonCommands = commands.filter(({ options }) => options.some(({ long }) => long === "--json"));

function commandsUnder(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...commandsUnder(child)]);
}
