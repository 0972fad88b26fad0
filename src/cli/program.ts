import type { Command, Option } from "commander";
import { isLive } from "../rates/source.ts";
import { isLoopback } from "../wire/plain-http.ts";
import { FxCommand } from "./command.ts";
import { defineAccount } from "./commands/account.ts";
import { defineAudit } from "./commands/audit/audit.ts";
import { defineBackup } from "./commands/backup.ts";
import { defineBatch } from "./commands/batch/batch.ts";
import { defineCompletion } from "./commands/completion/completion.ts";
import { defineDoctor } from "./commands/doctor/doctor.ts";
import { defineEntries } from "./commands/entries.ts";
import { defineExchange } from "./commands/exchange.ts";
import { defineExport } from "./commands/export.ts";
import { defineHelp } from "./commands/help.ts";
import { defineHouse } from "./commands/house.ts";
import { definePosition } from "./commands/position.ts";
import { defineQuote } from "./commands/quote.ts";
import { defineRates } from "./commands/rates/rates.ts";
import { defineReceipt } from "./commands/receipt.ts";
import { defineServe } from "./commands/serve/serve.ts";
import { defineStatements } from "./commands/statements.ts";
import { defineTill } from "./commands/till.ts";
import { defineToken } from "./commands/token.ts";
import { defineTrading } from "./commands/trading.ts";
import { defineWatch } from "./commands/watch.ts";
import type { Config } from "./config.ts";
import type { Context } from "./context.ts";
import { UsageError } from "./errors.ts";
import { flagOf, type SettingName, settingNames, variableOf } from "./settings.ts";
import { withoutSecrets } from "./target.ts";

const definitions = [
  ...[defineServe, defineAccount, defineExchange, defineQuote, defineBatch],
  ...[defineRates, defineTrading, defineWatch],
  ...[defineReceipt, defineEntries, definePosition, defineTill, defineHouse, defineExport, defineStatements],
  ...[defineAudit, defineBackup, defineToken, defineDoctor, defineCompletion, defineHelp],
];

/** All of fx's commands. Defining them loads nothing heavy: an action imports what it needs when it runs. */
export function buildProgram(context: Context): FxCommand {
  const { stdout, stderr } = context.terminal;
  const program = new FxCommand("fx")
    .description("Currency exchange accounts, settled at the rates of the National Bank of Poland.")
    .version(context.version, "-V, --version", "print the version")
    .option("--no-color", "print without colour")
    .option("--quiet", "print only the result, errors and warnings")
    .option("--config <file>", "config file (env: FX_CONFIG; default: ~/.config/fx/config.json)")
    .hook("preAction", (_program, command) => beforeAction(context, command))
    .helpOption("-h, --help", "print help")
    .helpCommand(false)
    .exitOverride()
    .configureHelp({
      showGlobalOptions: true,
      styleTitle: (title) => stdout.paint.bold(title),
      minWidthToWrap: 24,
      optionDescription,
    })
    .configureOutput({
      // Errors are printed in one place, with --json as a document.
      writeErr: () => {},
      writeOut: (text) => stdout.stream.write(text),
      getOutHelpWidth: () => Math.min(stdout.columns, 100),
      getErrHelpWidth: () => Math.min(stderr.columns, 100),
      getOutHasColors: () => stdout.paint.level > 0,
    })
    .withExamples(["fx serve --demo", "fx rates", "fx help exit-codes"]);
  for (const define of definitions) define(program, context);
  refuseBlankOptions(program);
  return program;
}

/**
 * Completes the options of a command that has settings with what the environment and the config file set.
 * @throws UsageError
 */
function beforeAction(context: Context, command: Command): void {
  context.begin(command);
  const names: readonly string[] = settingNames;
  if (!command.options.some((option) => names.includes(option.attributeName()))) return;
  refuseWithoutEffect(command, context.config());
}

/**
 * Refuses a flag that would change nothing. A variable or the config file may be for other commands.
 * @throws UsageError
 */
function refuseWithoutEffect(command: Command, { settings, sources }: Config): void {
  const { url, tokens, host, db, rates, changeSource } = settings;
  const asksService = command.options.some(({ long }) => long === "--url");
  const target = withoutSecrets(url.address);
  const isServer = asksService && url.kind === "server";
  const isEncrypted = /^https:/i.test(url.address);
  const cases: readonly [name: SettingName, hasNoEffect: boolean, reason: string][] = [
    ["rates", isServer, `the server at ${target} has rates of its own`],
    ["allowPlainHttp", asksService && !isServer, `${target} is not a server`],
    ["allowPlainHttp", isServer && isEncrypted, `${target} is reached with TLS`],
    ["allowPlainHttp", isServer && isLoopback(new URL(url.address).hostname), `${target} is this machine`],
    ["allowAnonymous", tokens !== undefined, `the server requires a token of ${tokens}`],
    ["allowAnonymous", isLoopback(host), `${host} is open to this machine only`],
    ["allowedHost", tokens !== undefined, `the server requires a token of ${tokens}`],
    ["maxTableAge", !isLive(rates), `the tables of ${withoutSecrets(rates)} are recorded and do not age`],
    ["changeSource", db.kind === "memory", "a new ledger in memory has no source yet"],
    ["changeSource", changeSource === rates, "--rates names the same source"],
  ];
  for (const [name, hasNoEffect, reason] of cases) {
    if (!hasNoEffect || sources[name] !== "cli") continue;
    throw new UsageError(`${flagOf(name)} has no effect, because ${reason}. Leave it out.`);
  }
}

/** Refuses a blank value, which comes from an unset variable of a script: ignored, the option would be lost. */
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

/** The description, and in one bracket whether the option is required, its variable, and its default. */
function optionDescription(option: Option): string {
  const { description, mandatory, argChoices, required, defaultValue, defaultValueDescription } = option;
  const name = settingNames.find((name) => name === option.attributeName());
  const isShown = defaultValue !== undefined && required;
  const facts = [
    mandatory ? "required" : "",
    argChoices === undefined ? "" : `one of: ${argChoices.join(", ")}`,
    name === undefined ? "" : `env: ${variableOf(name)}`,
    isShown ? `default: ${defaultValueDescription ?? defaultValue}` : "",
  ].filter(Boolean);
  return facts.length === 0 ? description : `${description} (${facts.join("; ")})`;
}
