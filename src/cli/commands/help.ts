import { commandOf, type FxCommand, fullName } from "../command.ts";
import type { Context } from "../context.ts";
import { UsageError } from "../errors.ts";
import { exitOfBatch, exitTable } from "../exits.ts";
import { flagOf, type SettingName, settingNames, settingOf, variableOf } from "../settings.ts";
import { type Column, writeTable, writeText } from "../terminal/output.ts";
import type { Screen } from "../terminal/terminal.ts";

export const topics: Readonly<
  Record<string, { readonly about: string; readonly tell: (stdout: Screen) => void }>
> = {
  "exit-codes": { about: "how a command ends, and whether money moved", tell: tellExits },
  settings: { about: "flags, environment variables and the config file", tell: tellSettings },
  environment: { about: "every environment variable that fx reads", tell: tellEnvironment },
};

export function defineHelp(program: FxCommand, context: Context): void {
  const about = Object.entries(topics).map(([topic, { about }]) => `  ${topic.padEnd(13)}${about}`);
  program
    .add("help", `Explain a command or a topic: ${Object.keys(topics).join(", ")}`, [
      "fx help exchange",
      "fx help exit-codes",
    ])
    .argument("[topic...]", "a command, or one of the topics below")
    .addHelpText("after", `\nTopics:\n${about.join("\n")}`)
    .action((words: readonly string[]) => {
      const name = words.join(" ");
      if (Object.hasOwn(topics, name)) return topics[name]?.tell(context.terminal.stdout);
      const command = commandOf(program, words);
      if (fullName(command) !== ["fx", ...words].join(" "))
        throw new UsageError(
          `There is no help on ${name}. fx help lists the commands, fx help help the topics.`,
        );
      command.outputHelp();
    });
}

function tellExits(stdout: Screen): void {
  const columns: readonly Column<(typeof exitTable)[number]>[] = [
    { title: "Exit", align: "right", cell: ([exit]) => String(exit) },
    { title: "Meaning", wraps: true, cell: ([, meaning]) => meaning },
    { title: "Money moved?", cell: ([, , moved]) => moved },
    { title: "Do", cell: ([, , , next]) => next },
  ];
  writeTable(stdout, columns, exitTable);
  writeText(stdout, exitOfBatch);
}

function tellSettings(stdout: Screen): void {
  const columns: readonly Column<SettingName>[] = [
    { title: "Flag", cell: (name) => (settingOf(name).isSecret ? "" : flagOf(name)) },
    { title: "Environment", cell: variableOf },
    { title: "Config file", cell: (name) => name },
    { title: "Default", cell: (name) => settingOf(name).fallback ?? "" },
  ];
  writeTable(stdout, columns, settingNames);
}

function tellEnvironment(stdout: Screen): void {
  const ofSettings = settingNames.map((name) => [variableOf(name), settingOf(name).meaning]);
  writeTable<readonly string[]>(
    stdout,
    [
      { title: "Variable", cell: ([variable = ""]) => variable },
      { title: "Meaning", wraps: true, cell: ([, meaning = ""]) => meaning },
    ],
    [
      ...ofSettings,
      ["FX_CONFIG", "the config file, like --config"],
      ["FX_…_FILE", "for each of these, a file that holds the value: how containers are given secrets"],
      ["FX_FORCE_TTY", "format output as for a terminal of this many columns"],
      ["XDG_CONFIG_HOME, HOME", "the folder of fx/config.json; without the first, .config in the second"],
      ["NO_COLOR", "no colour, unless it is empty"],
      ["FORCE_COLOR", "colour even in a pipe; 0 for none"],
      ["TERM", "dumb is a terminal without colour, where no line is written over"],
      ["LC_ALL, LC_CTYPE, LANG", "a terminal of another character set than UTF-8 gets ASCII"],
      [
        "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY",
        "the proxy to servers and to the bank, for addresses of that form or of any",
      ],
      ["NO_PROXY", "hosts that are reached directly, separated by commas"],
      ["NODE_EXTRA_CA_CERTS", "a PEM file of further authorities to trust (read by Node.js)"],
      ["PGHOST, PGPASSWORD, PGSSL…", "as of libpq, for what a postgres:// address leaves out"],
    ],
  );
}
