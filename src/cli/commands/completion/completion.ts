import { Argument } from "commander";
import type { FxCommand } from "../../command.ts";
import type { Context } from "../../context.ts";
import { write } from "../../terminal/terminal.ts";
import { topics } from "../help.ts";
import { type Candidate, complete, paths, scripts, type Values } from "./scripts.ts";

type Shell = keyof typeof scripts;

export function defineCompletion(program: FxCommand, context: Context): void {
  program
    .add("completion", "Print the script that completes fx's commands in a shell", [
      "fx completion bash > /etc/bash_completion.d/fx",
      "fx completion zsh > /usr/local/share/zsh/site-functions/_fx",
      "fx completion fish > ~/.config/fish/completions/fx.fish",
    ])
    .addArgument(new Argument("<shell>", "shell to complete in").choices(Object.keys(scripts)))
    .argument("[words...]", "words to complete, after --; the script passes them")
    .action(async (shell: Shell, words: readonly string[]) => {
      const { stdout } = context.terminal;
      if (words.length === 0) return void stdout.stream.write(scripts[shell]);
      const candidates = await complete(program, words, valuesOf(program));
      for (const { text, meaning } of candidates)
        write(stdout, text === paths.text ? text : `${text}\t${meaning}`);
    });
}

function valuesOf(program: FxCommand): Values {
  return {
    currency: currencies,
    file: async () => [paths],
    source: async () => [
      { text: "nbp", meaning: "the bank's API" },
      { text: "demo", meaning: "recorded tables" },
      paths,
    ],
    topic: async () => [
      ...Object.entries(topics).map(([text, { about }]) => ({ text, meaning: about })),
      ...program.commands.map((child) => ({ text: child.name(), meaning: child.description() })),
    ],
  };
}

/** PLN and what the bank's table C has long quoted. */
async function currencies(): Promise<readonly Candidate[]> {
  const { demoTables } = await import("../../../rates/recorded.ts");
  const rates = [...(demoTables().at(-1)?.rates.values() ?? [])];
  return [
    { text: "PLN", meaning: "złoty" },
    ...rates.map(({ currency, name }) => ({ text: currency, meaning: name })),
  ];
}
