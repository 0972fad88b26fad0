import { nearMiss } from "../wire/near-miss.ts";
import { ConfigError, configPath, readConfigFile, refuseBlank, sharedToken } from "./config-file.ts";
import { isNetwork, listOf, pathOf, trueOrFalse, wholeNumber } from "./forms.ts";
import { reasonOf } from "./reason.ts";
import { readSmallFile } from "./small-file.ts";
import {
  holdsSecret,
  parseStoreTarget,
  parseTarget,
  type StoreTarget,
  sqliteAdvice,
  type Target,
  withoutSecrets,
} from "./target.ts";

export const logLevels = ["silent", "error", "warn", "info", "debug"] as const;

type LogLevel = (typeof logLevels)[number];

/** Everything that can be set, with its value in force. */
export interface Settings {
  /** Where a command works. */
  readonly url: Target;
  /** What a command shows the server at `url`, to be let in. */
  readonly token: string | undefined;
  /** Whether a token or a password may go to another machine without TLS. */
  readonly allowPlainHttp: boolean;
  readonly host: string;
  readonly port: number;
  /** The path under which a proxy shows the server, without a slash at its end; "/" for none. */
  readonly prefix: string;
  /** The file of the tokens that the server takes; undefined asks nobody for one. */
  readonly tokens: string | undefined;
  /** Where `fx serve` keeps the accounts. */
  readonly db: StoreTarget;
  readonly rates: string;
  /** In days. A live table that is older is not traded on. */
  readonly maxTableAge: number;
  /** The number or id of a table to put in force although a check holds it back. */
  readonly acceptTable: string | undefined;
  /** The source that the ledger is to leave for `rates`. */
  readonly changeSource: string | undefined;
  /** In seconds. */
  readonly stopTimeout: number;
  readonly maxConnections: number;
  /** Undefined leaves it to `fx serve`. */
  readonly logLevel: LogLevel | undefined;
  /** Whether a server may listen for other machines without tokens. */
  readonly allowAnonymous: boolean;
  /** Names that a request's Host may have, beside those of loopback. */
  readonly allowedHost: readonly string[];
  /** Where metrics and probes are answered, too. */
  readonly adminPort: number | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  /** Addresses, networks, and names of some such as "loopback". */
  readonly trustProxy: readonly string[];
  readonly cors: readonly string[];
  /** Requests a second; 0 for no limit. Undefined leaves it to `fx serve`. */
  readonly rateLimit: number | undefined;
}

export type SettingName = keyof Settings;

/** What gave a setting its value. A flag beats the environment beats the file beats the default. */
export type Origin = "flag" | "environment" | "file" | "default";

export interface Config {
  readonly settings: Settings;
  readonly origins: Readonly<Record<SettingName, Origin>>;
  /** The config file's path, whether it exists or not. */
  readonly file: string;
  /** The settings whose variables Kubernetes has set for something else. */
  readonly ignored: readonly SettingName[];
}

interface Definition<T> {
  readonly env: string;
  /** As text, like what a flag gives. */
  readonly fallback: string | undefined;
  /** Reads the text; undefined if it is not `form`. */
  readonly parse: (text: string) => T | undefined;
  readonly form: string;
  /** Whether the flag may be given more than once, instead of a list with commas. */
  readonly repeats?: true;
  /** Whether it has no flag, and is never shown: the command lines of all processes can be read. */
  readonly isSecret?: true;
}

export const definitions: { readonly [Name in SettingName]: Definition<Settings[Name]> } = {
  url: {
    env: "FX_URL",
    fallback: "http://127.0.0.1:8080",
    parse: parseTarget,
    form: "http(s)://…, sqlite:PATH, postgres://… or memory:",
  },
  token: {
    env: "FX_TOKEN",
    fallback: undefined,
    parse: (text) => (/^[\w.~+/-]{1,1000}=*$/.test(text) ? text : undefined),
    form: "a token as fx token create prints it",
    isSecret: true,
  },
  allowPlainHttp: {
    env: "FX_ALLOW_PLAIN_HTTP",
    fallback: "false",
    parse: trueOrFalse,
    form: "true or false",
  },
  host: {
    env: "FX_HOST",
    fallback: "127.0.0.1",
    parse: (text) => (/^[\w.:-]+$/.test(text) ? text : undefined),
    form: "a host name or an IP address",
  },
  port: {
    env: "FX_PORT",
    fallback: "8080",
    parse: (text) => wholeNumber(text, 65_535),
    form: "a whole number from 0 to 65535",
  },
  prefix: {
    env: "FX_PREFIX",
    fallback: "/",
    parse: (text) =>
      /^\/$|^(\/(?!\.\.?(\/|$))[\w.~-]+)+\/?$/.test(text) ? text.replace(/(.)\/$/, "$1") || "/" : undefined,
    form: "a path such as /fx",
  },
  tokens: {
    env: "FX_TOKENS",
    fallback: undefined,
    parse: pathOf,
    form: "a file that fx token create makes",
  },
  db: {
    env: "FX_DB",
    fallback: "memory:",
    parse: parseStoreTarget,
    form: "memory:, sqlite:PATH or postgres://…",
  },
  rates: {
    env: "FX_RATES",
    fallback: "nbp",
    parse: (text) => (/^https?:/i.test(text) && !URL.canParse(text) ? undefined : text),
    form: "nbp, demo, http(s)://… or a file",
  },
  maxTableAge: {
    env: "FX_MAX_TABLE_AGE",
    fallback: "7",
    parse: (text) => wholeNumber(text, 3650) || undefined,
    form: "a whole number of days from 1 to 3650",
  },
  acceptTable: {
    env: "FX_ACCEPT_TABLE",
    fallback: undefined,
    parse: (text) => (/^(\d{1,3}\/C\/NBP\/\d{4}|[0-9a-f]{32})$/.test(text) ? text : undefined),
    form: "a table number such as 108/C/NBP/2026, or a table's id",
  },
  changeSource: {
    env: "FX_CHANGE_SOURCE",
    fallback: undefined,
    parse: (text) => text,
    form: "a source of rates",
  },
  stopTimeout: {
    env: "FX_STOP_TIMEOUT",
    fallback: "10",
    parse: (text) => wholeNumber(text, 3600),
    form: "a whole number of seconds from 0 to 3600",
  },
  maxConnections: {
    env: "FX_MAX_CONNECTIONS",
    fallback: "4096",
    parse: (text) => wholeNumber(text, 65_535) || undefined,
    form: "a whole number from 1 to 65535",
  },
  logLevel: {
    env: "FX_LOG_LEVEL",
    fallback: undefined,
    parse: (text) => logLevels.find((level) => level === text),
    form: "silent, error, warn, info or debug",
  },
  allowAnonymous: {
    env: "FX_ALLOW_ANONYMOUS",
    fallback: "false",
    parse: trueOrFalse,
    form: "true or false",
  },
  allowedHost: {
    env: "FX_ALLOWED_HOST",
    fallback: "",
    parse: listOf((text) => /^([\w.-]+|\[[\da-f:]+\])$/i.test(text)),
    form: "a host name without a port, or several with commas between",
    repeats: true,
  },
  adminPort: {
    env: "FX_ADMIN_PORT",
    fallback: undefined,
    parse: (text) => wholeNumber(text, 65_535),
    form: "a whole number from 0 to 65535",
  },
  tlsCert: {
    env: "FX_TLS_CERT",
    fallback: undefined,
    parse: pathOf,
    form: "the path of a file",
  },
  tlsKey: {
    env: "FX_TLS_KEY",
    fallback: undefined,
    parse: pathOf,
    form: "the path of a file",
  },
  trustProxy: {
    env: "FX_TRUST_PROXY",
    fallback: "",
    parse: listOf(isNetwork),
    form: "an address, a network such as 10.0.0.0/8, loopback, linklocal or uniquelocal, or several with commas between",
    repeats: true,
  },
  cors: {
    env: "FX_CORS",
    fallback: "",
    parse: listOf((text) => /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text),
    form: "an origin such as https://bank.example, or several with commas between",
    repeats: true,
  },
  rateLimit: {
    env: "FX_RATE_LIMIT",
    fallback: undefined,
    parse: (text) => wholeNumber(text, 99_999),
    form: "a whole number of requests a second from 0 to 99999",
  },
};

export const settingNames = Object.keys(definitions) as readonly SettingName[];

/**
 * Puts the settings together.
 * @param flags what the command line gave, by setting name; other names in it are ignored
 * @throws ConfigError
 */
export function loadConfig(
  flags: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
): Config {
  refuseNearMisses(env);
  const file = configPath(env);
  const fromFile = readConfigFile(file, settingNames);
  const origins = {} as Record<SettingName, Origin>;
  const value = <Name extends SettingName>(name: Name): Settings[Name] => {
    const {
      env: variable,
      fallback,
      parse,
      form,
      isSecret,
    } = definitions[name] as Definition<Settings[Name]>;
    const given: readonly [Origin, unknown, string][] = [
      ["flag", isSecret ? undefined : flags[name], flagOf(name)],
      ["environment", fromEnvironment(variable, env), variable],
      ["file", fromFile[name], `"${name}" in ${file}`],
    ];
    const [origin, raw, place] = given.find(([, text]) => text !== undefined) ?? ["default", undefined, ""];
    origins[name] = origin;
    if (raw === undefined) return (fallback === undefined ? undefined : parse(fallback)) as Settings[Name];
    if (origin === "flag") refuseBlank(String(raw), place);
    const parsed = ["string", "number", "boolean"].includes(typeof raw) ? parse(String(raw)) : undefined;
    if (parsed === undefined) {
      throw new ConfigError(
        [`${place} must be ${form}.`, sqliteAdvice(String(raw))].filter(Boolean).join(" "),
      );
    }
    if (origin === "flag") refuseSecret(String(raw), place, variable);
    return parsed;
  };
  const settings = Object.fromEntries(settingNames.map((name) => [name, value(name)])) as unknown as Settings;
  // A token in the config file without a server there is for the one that needs no naming.
  const ofFile = fromFile.url ?? definitions.url.fallback;
  const ofEnvironment = fromEnvironment(definitions.url.env, env) ?? fromFile.url;
  if (origins.token === "file") requireOneWayIn(settings, `"token" in ${file}`, ofFile, `"url" beside it`);
  else requireOneWayIn(settings, definitions.token.env, ofEnvironment, definitions.url.env);
  const ignored = settingNames.filter((name) => isService(definitions[name].env, env));
  return { settings, origins, file, ignored };
}

/** "--max-table-age" of "maxTableAge". */
export function flagOf(name: SettingName): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Whether Kubernetes has set the variable, as it does FX_PORT in every pod beside a Service that is called fx. */
function isService(variable: string, env: Readonly<Record<string, string | undefined>>): boolean {
  return variable.endsWith("_PORT") && /^(tcp|udp|sctp):\/\/\S+:\d+$/.test(env[variable] ?? "");
}

/**
 * A variable, or what is in the file that `<variable>_FILE` names, as containers are given their secrets.
 * @throws ConfigError
 */
function fromEnvironment(
  variable: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const value = isService(variable, env) ? undefined : env[variable];
  const path = env[`${variable}_FILE`];
  if (value !== undefined) refuseBlank(value, variable);
  if (path === undefined) return value;
  refuseBlank(path, `${variable}_FILE`);
  if (value !== undefined) throw new ConfigError(`Set ${variable} or ${variable}_FILE, not both.`);
  let file: ReturnType<typeof readSmallFile>;
  try {
    file = readSmallFile(path);
  } catch (error) {
    const reason = reasonOf(error);
    throw new ConfigError(`The file ${path} that ${variable}_FILE names cannot be read (${reason}).`);
  }
  if (variable === definitions.token.env && file.isShared) {
    throw sharedToken(`The file ${path} that ${variable}_FILE names`, path);
  }
  refuseBlank(file.text, `The file ${path} that ${variable}_FILE names`);
  return file.text.trim();
}

/**
 * A server whose FX_DB is misspelt would keep its accounts in memory. What is unlike every setting may belong to
 * another program of this name.
 * @throws ConfigError
 */
function refuseNearMisses(env: Readonly<Record<string, string | undefined>>): void {
  const known = settingNames.flatMap((name) => [definitions[name].env, `${definitions[name].env}_FILE`]);
  for (const [variable, value] of Object.entries(env)) {
    if (!variable.startsWith("FX_") || value === undefined || known.includes(variable)) continue;
    const meant = nearMiss(
      variable.slice("FX_".length),
      known.map((name) => name.slice("FX_".length)),
    );
    if (meant === undefined) continue;
    throw new ConfigError(
      `${variable} is not a setting of fx. If you mean FX_${meant}, rename it; otherwise unset it.`,
    );
  }
}

/**
 * A token goes to the server that is configured where the token is set, or below that, and to no other.
 * @param of names what sets the token
 * @param owner the address of the token's server; undefined lets the token go wherever the command works
 * @param setting would name another server for this token
 * @throws ConfigError
 */
function requireOneWayIn({ url, token }: Settings, of: string, owner: unknown, setting: string): void {
  if (token === undefined || url.kind !== "server") return;
  const { origin, username, password } = new URL(url.address);
  if (username !== "" || password !== "") {
    throw new ConfigError(
      "The server's address has a user, and there is a token. A request carries one of them: remove the other.",
    );
  }
  const named = String(owner);
  if (owner === undefined || (URL.canParse(named) && new URL(named).origin === origin)) return;
  throw new ConfigError(
    `The token of ${of} is for ${withoutSecrets(named)}, and is not sent to ${origin}. ` +
      `Set FX_TOKEN to a token of ${origin}, and FX_URL to its address. If this is the token of that server, set ${setting} to ${origin}.`,
  );
}

/** Every user of the machine can read the command lines of all processes. */
function refuseSecret(text: string, flag: string, variable: string): void {
  if (!holdsSecret(text)) return;
  throw new ConfigError(
    `A password, key or token does not belong on a command line, where every process can read it. ` +
      `Put the address of ${flag} into ${variable}, a file that ${variable}_FILE names, or the config file.`,
  );
}
