import type { Command } from "commander";
import { definitions, flagOf, settingNames } from "../../config.ts";
import type { Context } from "../context.ts";
import { exitTable, UsageError } from "../exit.ts";
import { writeTable } from "../output.ts";
import type { Screen } from "../terminal.ts";

const topics: Readonly<
  Record<string, { readonly about: string; readonly tell: (stdout: Screen) => Promise<void> }>
> = {
  "exit-codes": { about: "how a command ends, and whether money moved", tell: tellExits },
  settings: { about: "flags, environment variables and the config file", tell: tellSettings },
};

export function defineHelp(program: Command, context: Context): void {
  const about = Object.entries(topics).map(([topic, { about }]) => `  ${topic.padEnd(12)}${about}`);
  program
    .command("help [topic...]")
    .description("explain a command or a topic")
    .addHelpText(
      "after",
      `\nTopics:\n${about.join("\n")}\n\nExamples:\n  $ fx help exchange\n  $ fx help exit-codes`,
    )
    .action(async (words: readonly string[]) => {
      const topic = topics[words.join(" ")];
      if (topic !== undefined) return topic.tell(context.terminal.stdout);
      let command = program;
      for (const word of words) {
        const next = command.commands.find((candidate) => candidate.name() === word);
        if (next === undefined)
          throw new UsageError(`There is no help on ${words.join(" ")}. fx help lists the commands.`);
        command = next;
      }
      command.outputHelp();
    });
}

async function tellExits(stdout: Screen): Promise<void> {
  await writeTable(
    stdout,
    [
      { title: "Exit", align: "right" },
      { title: "Meaning", wraps: true },
      { title: "Money moved?" },
      { title: "Do" },
    ],
    exitTable.map(({ exit, meaning, moved, next }) => [String(exit), meaning, moved, next]),
  );
}

async function tellSettings(stdout: Screen): Promise<void> {
  await writeTable(
    stdout,
    [{ title: "Flag" }, { title: "Environment" }, { title: "Config file" }, { title: "Default" }],
    settingNames.map((name) => [
      flagOf(name),
      definitions[name].env,
      name,
      String(definitions[name].fallback ?? ""),
    ]),
  );
}
