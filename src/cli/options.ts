import { Argument, type Command, type CommandOptions, Option } from "commander";
import type { CalendarDate } from "../core/date.ts";
import { type Decimal, parseDecimal } from "../core/decimal.ts";
import { parseDate, parseTime } from "../wire/times.ts";
import { definitions, flagOf, type SettingName } from "./config.ts";
import { UsageError } from "./errors.ts";
import type { Needs } from "./open.ts";

export const meanings: Readonly<Record<SettingName, readonly [placeholder: string, meaning: string]>> = {
  url: [
    "<place>",
    "where to work: a running server, or sqlite:PATH, postgres://… or memory: in this process",
  ],
  token: ["<token>", "the token that a command shows the server; it has no flag"],
  allowPlainHttp: [
    "",
    "send a token or a password to another machine without TLS, where the network can read it",
  ],
  host: ["<host>", "address to listen on"],
  port: ["<number>", "port to listen on, 0 for any that is free"],
  prefix: ["<path>", "path under which a proxy shows the server; links begin with it"],
  tokens: ["<file>", "file of the tokens that the server takes; without it, nobody is asked for one"],
  db: ["<place>", "where the accounts are kept: memory:, sqlite:PATH or postgres://…"],
  rates: ["<source>", "nbp, the http(s) URL of an API of the same shape, a JSON file of tables, or demo"],
  maxTableAge: ["<days>", "do not trade on a live table older than this"],
  acceptTable: ["<number>", "put this table, by number or id, in force once although a check holds it back"],
  changeSource: ["<source>", "if the ledger trades at this source, change it to that of --rates"],
  stopTimeout: ["<seconds>", "how long a stop waits for requests under way before it cuts them off"],
  maxConnections: ["<number>", "connections at once; further ones are closed as they come"],
  logLevel: ["<level>", "silent, error, warn, info or debug"],
  allowAnonymous: ["", "listen for other machines without tokens: whoever reaches fx may do everything"],
  allowedHost: [
    "<name>",
    "a name, beside those of loopback, that a request's Host may have where no tokens are in force",
  ],
  adminPort: ["<number>", "answer metrics and probes on this port too, without a token"],
  tlsCert: ["<file>", "serve https with this certificate (PEM, with those below its authority)"],
  tlsKey: ["<file>", "the certificate's key (PEM)"],
  trustProxy: ["<address>", "a proxy, or a network of them, whose X-Forwarded-For is believed"],
  cors: ["<origin>", "an origin whose pages may use the API"],
  rateLimit: [
    "<number>",
    "requests a second for each token, or address without one; 0 for no limit, as on loopback unless set, elsewhere 100",
  ],
};

export const replayNote = "This key was used before. What was done then is shown; nothing was done again.";

/** A command with a description and examples, which every command's help has. */
export function command(
  parent: Command,
  name: string,
  description: string,
  examples: readonly string[],
  options: CommandOptions = {},
): Command {
  return parent
    .command(name, options)
    .description(description)
    .addHelpText("after", `\nExamples:\n${examples.map((example) => `  $ ${example}`).join("\n")}`);
}

/** The option of a setting. Its environment variable and default stand in the help. */
export function setting(name: SettingName, detail = ""): Option {
  const [placeholder, meaning] = meanings[name];
  const { env, fallback, repeats } = definitions[name];
  const values = [`env: ${env}`, ...(fallback ? [`default: ${fallback}`] : [])].join(", ");
  const option = new Option(`${flagOf(name)} ${placeholder}`.trim(), `${meaning}${detail} (${values})`);
  return repeats
    ? option.argParser((text, before?: string) => (before === undefined ? text : `${before},${text}`))
    : option;
}

/** The options of every command that asks a service. */
export function serviceCommand(command: Command, needs: Pick<Needs, "rates">): Command {
  command.addOption(setting("url")).addOption(setting("allowPlainHttp"));
  if (needs.rates) command.addOption(setting("rates", ", for a store in this process"));
  return command.option("--json", "print one JSON document");
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

export function timeArgument(text: string): Date {
  const time = parseTime(text);
  if (time !== undefined) return time;
  throw new UsageError(`"${text}" is not a time. Write one with its offset, like 2026-01-31T23:59:59+01:00.`);
}

export function wholeArgument(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d{1,9}$/.test(text) && number >= least && number <= most) return number;
    throw new UsageError(`"${text}" is not a whole number from ${least} to ${most}.`);
  };
}

/** The option of the commands that show what was. */
export function withAtOption(command: Command): Command {
  return command.option("--at <time>", "as it was then, at least 10 seconds ago", timeArgument);
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
