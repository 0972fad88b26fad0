import type { Command } from "commander";
import { nearMiss } from "../wire/near-miss.ts";
import { configPath, readConfigFile, readSmallFile, sharedToken } from "./config-file.ts";
import { reasonOf, UsageError } from "./errors.ts";
import {
  parseSetting,
  refuseBlank,
  type SettingName,
  type Settings,
  settingNames,
  settingOf,
  variableOf,
} from "./settings.ts";
import { withoutSecrets } from "./target.ts";
import type { Environment } from "./terminal/terminal.ts";

/** The source of a value: a flag, the environment, the config file, or nothing. */
export type Source = "cli" | "env" | "config" | "default";

export interface Config {
  readonly settings: Settings;
  readonly sources: Readonly<Record<SettingName, Source>>;
  /** The config file's path, whether it exists or not. */
  readonly file: string;
  /** The variables that set something, such as FX_PORT, or FX_PORT_FILE if that names a file of the value. */
  readonly variables: Readonly<Partial<Record<SettingName, string>>>;
  /** The settings whose variables Kubernetes has set for a Service. */
  readonly ignored: readonly SettingName[];
}

/**
 * Completes the flags of a command with the environment, the config file and the defaults, in this order.
 * @param command with its flags parsed. It keeps every value, with its source.
 * @throws UsageError
 */
export function readConfig(command: Command, env: Environment): Config {
  refuseMisspelt(env);
  const { config } = command.optsWithGlobals<{ config?: string }>();
  const file = configPath(config, env);
  const inFile = readConfigFile(file, settingNames);
  const variables: Partial<Record<SettingName, string>> = {};
  for (const name of settingNames) {
    if (command.getOptionValueSource(name) === "cli") continue;
    const set = readVariable(variableOf(name), env);
    if (set !== undefined) {
      variables[name] = set.variable;
      command.setOptionValueWithSource(name, parseSetting(name, set.text, set.variable), "env");
    } else if (inFile[name] !== undefined) {
      const value = parseSetting(name, inFile[name], `"${name}" in ${file.path}`);
      command.setOptionValueWithSource(name, value, "config");
    } else command.setOptionValueWithSource(name, settingOf(name).unset, "default");
  }
  const settings: Settings = { ...command.opts<Settings>() };
  const sources = Object.fromEntries(
    settingNames.map((name) => [name, command.getOptionValueSource(name)]),
  ) as Config["sources"];
  const tokenOfFile = sources.token === "config";
  // A token in the config file without a server there belongs to the default one.
  const fileUrl = inFile.url ?? (tokenOfFile ? "http://127.0.0.1:8080" : undefined);
  const owner = (tokenOfFile ? undefined : readVariable("FX_URL", env)?.text) ?? fileUrl;
  const names: [string, string] = tokenOfFile
    ? [`"token" in ${file.path}`, '"url" beside it']
    : [variables.token ?? "FX_TOKEN", "FX_URL"];
  refuseOtherServer(settings, owner, names);
  const ignored = settingNames.filter((name) => isServicePort(variableOf(name), env));
  return { settings, sources, file: file.path, variables, ignored };
}

/** Whether Kubernetes has set the variable, as it sets FX_PORT in every pod beside a Service called fx. */
function isServicePort(variable: string, env: Environment): boolean {
  return variable.endsWith("_PORT") && /^(tcp|udp|sctp):\/\/\S+:\d+$/.test(env[variable] ?? "");
}

/**
 * A variable, or the content of the file that `<variable>_FILE` names, which is how containers are given secrets.
 * @throws UsageError
 */
function readVariable(variable: string, env: Environment): { text: string; variable: string } | undefined {
  const value = isServicePort(variable, env) ? undefined : env[variable];
  const path = env[`${variable}_FILE`];
  refuseBlank(value, variable);
  if (path === undefined) return value === undefined ? undefined : { text: value, variable };
  refuseBlank(path, `${variable}_FILE`);
  if (value !== undefined) throw new UsageError(`Set ${variable} or ${variable}_FILE, not both.`);
  const place = `The file ${path} that ${variable}_FILE names`;
  try {
    const { text, isShared } = readSmallFile(path);
    if (variable === "FX_TOKEN" && isShared) throw sharedToken(place, path);
    refuseBlank(text, place);
    return { text: text.trim(), variable: `${variable}_FILE` };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${place} cannot be read (${reasonOf(error)}).`);
  }
}

/**
 * Refuses an environment variable that nearly matches a setting: a server whose FX_DB is misspelt would keep its
 * accounts in memory. Other variables may belong to another program called fx.
 * @throws UsageError
 */
function refuseMisspelt(env: Environment): void {
  const variables = settingNames.map(variableOf);
  const known = [...variables, ...variables.map((variable) => `${variable}_FILE`), "FX_CONFIG"];
  const withoutPrefix = (variable: string) => variable.slice("FX_".length);
  for (const [variable, value] of Object.entries(env)) {
    if (!variable.startsWith("FX_") || value === undefined || known.includes(variable)) continue;
    const meant = nearMiss(withoutPrefix(variable), known.map(withoutPrefix));
    if (meant === undefined) continue;
    throw new UsageError(
      `${variable} is not a setting of fx. If you mean FX_${meant}, rename it; otherwise unset it.`,
    );
  }
}

/**
 * Refuses to send a token to another server than the one configured where the token is set, or below that.
 * @param owner the address of the token's server; undefined lets the token go wherever the command works
 * @param names the setting that has the token, and the one that would name another server for it
 * @throws UsageError
 */
function refuseOtherServer({ url, token }: Settings, owner: unknown, names: readonly [string, string]): void {
  if (token === undefined || url.kind !== "server") return;
  const { origin, username, password } = new URL(url.address);
  if (username !== "" || password !== "") {
    throw new UsageError(
      "The server's address has a user, and there is a token. A request can carry only one of the two: remove the other.",
    );
  }
  const named = String(owner);
  if (owner === undefined || (URL.canParse(named) && new URL(named).origin === origin)) return;
  throw new UsageError(
    `The token of ${names[0]} is for ${withoutSecrets(named)}, and is not sent to ${origin}. ` +
      `Set FX_TOKEN to a token of ${origin}, and FX_URL to its address. If this is the token of that server, set ${names[1]} to ${origin}.`,
  );
}
