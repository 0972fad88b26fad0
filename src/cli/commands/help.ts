import type { Command } from "commander";
import { definitions, flagOf, settingNames } from "../config.ts";
import type { Context } from "../context.ts";
import { exitTable, UsageError } from "../errors.ts";
import { meanings } from "../options.ts";
import { writeTable, writeText } from "../terminal/output.ts";
import { type Screen, write } from "../terminal/terminal.ts";

export const topics: Readonly<
  Record<string, { readonly about: string; readonly tell: (stdout: Screen) => Promise<void> }>
> = {
  "exit-codes": { about: "how a command ends, and whether money moved", tell: tellExits },
  settings: { about: "flags, environment variables and the config file", tell: tellSettings },
  environment: { about: "every environment variable that fx reads", tell: tellEnvironment },
  json: { about: "what --json prints", tell: tellJson },
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
      definitions[name].isSecret ? "" : flagOf(name),
      definitions[name].env,
      name,
      String(definitions[name].fallback ?? ""),
    ]),
  );
}

async function tellEnvironment(stdout: Screen): Promise<void> {
  const ofSettings = settingNames.map((name) => [definitions[name].env, meanings[name][1]]);
  await writeTable(
    stdout,
    [{ title: "Variable" }, { title: "Meaning", wraps: true }],
    [
      ...ofSettings,
      ["FX_…_FILE", "for each of these, a file that holds the value: how containers are given secrets"],
      ["FX_FORCE_TTY", "format output as for a terminal of this many columns"],
      ["XDG_CONFIG_HOME", "the folder of fx/config.json, by default ~/.config"],
      ["NO_COLOR", "no colour, unless it is empty"],
      ["FORCE_COLOR", "colour even in a pipe; 0 for none"],
      ["TERM", "dumb is a terminal without colour, where no line is written over"],
      ["LC_ALL, LC_CTYPE, LANG", "a terminal of another character set than UTF-8 gets ASCII"],
      ["TZ", "in which times are shown at a terminal; in a pipe they are UTC"],
      ["NODE_EXTRA_CA_CERTS", "a PEM file of further authorities to trust (read by Node.js)"],
      ["PGHOST, PGPORT, PGSSL…", "as of libpq, for what a postgres:// address leaves out"],
    ],
  );
}

/** The documents of each command with --json, in the shapes of docs/JSON.md. */
const documents = [
  ["account create", "the account, with key and replayed"],
  ["account show", "the account: name, surname, pesel, currencies, and closed if it is"],
  ["exchange", "the account after it, with receipt, key and replayed"],
  ["account deposit, account withdraw", "the same; with --dry-run, the account as it would be"],
  ["account rename, account close", "the same"],
  ["receipt reverse", "the same"],
  ["account list", "an array of accounts"],
  ["account history", "an array of entries, newest first"],
  ["receipt", "one entry"],
  ["quote, exchange --dry-run", "the quote: side, sold, bought, bid, ask, rate, table, effectiveDate"],
  ["rates", "table, tradingDate, effectiveDate, rates, source, recorded, tradable, reason, previous"],
  ["rates history", "symbol and rates: table, effectiveDate, bid, ask"],
  ["batch", "a document a line, for each line of the file"],
  ["position", "currencies with customers and house, spreadEarned"],
  [
    "audit",
    "ok, accounts, entries, findings, findingsTotal, digest; file with --checkpoint, against with --against",
  ],
  ["backup", "file, ok, accounts, entries, findings, findingsTotal, digest"],
  ["token list", "an array of tokens: name, role, created, expires"],
  ["doctor", "ok, version, configFile, settings, checks"],
] as const;

async function tellJson(stdout: Screen): Promise<void> {
  if (stdout.rich) {
    const about =
      "With --json a command prints one JSON document on stdout, in the shapes of the HTTP service, and a failure as " +
      "{code, message, hint, exit} on stderr. PESELs are not masked in it.";
    writeText(stdout, about);
    write(stdout, "");
  }
  await writeTable(stdout, [{ title: "Command" }, { title: "Document", wraps: true }], documents);
}
