import { isIP } from "node:net";
import { Option } from "commander";
import { UsageError } from "./errors.ts";
import { holdsSecret, parseStoreTarget, parseTarget, sqliteAdvice } from "./target.ts";

const logLevels = ["silent", "error", "warn", "info", "debug"] as const;

/** One thing that can be set: by a flag, an environment variable, or the config file. */
interface Setting {
  /** The name of the value in the help; absent for a flag that takes none. */
  readonly placeholder?: string;
  readonly meaning: string;
  /** The form of a value, as an error states it. */
  readonly form: string;
  /** The only values, where they are few words. */
  readonly choices?: readonly string[];
  /** Reads one value; undefined if it is not of that form. */
  readonly parse: (text: string) => unknown;
  /** Taken where nothing else is set. */
  readonly fallback?: string;
  /** A list: several flags, commas in a variable, an array in the config file. */
  readonly isList?: true;
  /** Has no flag and is never shown, because every process can read command lines. */
  readonly isSecret?: true;
}

/** Every setting. The flag, the variable, the key in the config file, the help and the man page follow from its row. */
const settingTable = {
  url: {
    placeholder: "<target>",
    meaning: "where to work: a running server, or sqlite:PATH, postgres://… or memory: in this process",
    form: "http(s)://…, sqlite:PATH, postgres://… or memory:",
    parse: parseTarget,
    fallback: "http://127.0.0.1:8080",
  },
  token: {
    placeholder: "<token>",
    meaning: "token to send to the server; it has no flag",
    form: "a token as fx token create prints it",
    parse: (text) => (/^[\w.~+/-]{1,1000}=*$/.test(text) ? text : undefined),
    isSecret: true,
  },
  allowPlainHttp: {
    meaning: "send a token or a password to another machine without TLS, where the network can read it",
    form: "true or false",
    parse: parseBoolean,
    fallback: "false",
  },
  host: {
    placeholder: "<host>",
    meaning: "address to listen on",
    form: "a host name or an IP address",
    parse: (text) => (/^[\w.:-]+$/.test(text) ? text : undefined),
    fallback: "127.0.0.1",
  },
  port: {
    placeholder: "<number>",
    meaning: "port to listen on; 0 takes a free one",
    form: "a whole number from 0 to 65535",
    parse: wholeNumber(0, 65_535),
    fallback: "8080",
  },
  prefix: {
    placeholder: "<path>",
    meaning: "path under which a proxy shows the server; links begin with it",
    form: "a path such as /fx",
    parse: parsePrefix,
    fallback: "/",
  },
  tokens: {
    placeholder: "<file>",
    meaning: "file of the tokens that the server accepts",
    form: "a file that fx token create makes",
    parse: parsePath,
  },
  db: {
    placeholder: "<store>",
    meaning: "store of the accounts: memory:, sqlite:PATH or postgres://…",
    form: "memory:, sqlite:PATH or postgres://…",
    parse: parseStoreTarget,
    fallback: "memory:",
  },
  rates: {
    placeholder: "<source>",
    meaning: "nbp, the http(s) URL of an API of the same shape, a JSON file of rate tables, or demo",
    form: "nbp, demo, http(s)://… or a file",
    parse: (text) => (/^https?:/i.test(text) && !URL.canParse(text) ? undefined : text),
    fallback: "nbp",
  },
  maxTableAge: {
    placeholder: "<days>",
    meaning: "refuse orders at a rate table older than this; recorded tables do not age",
    form: "a whole number of days from 1 to 3650",
    parse: wholeNumber(1, 3650),
    fallback: "7",
  },
  acceptTable: {
    placeholder: "<number>",
    meaning: "accept this rate table, by number or id, once, overriding the sanity check",
    form: "a table number such as 108/C/NBP/2026, or a table's id",
    parse: (text) => (/^(\d{1,3}\/C\/NBP\/\d{4}|[0-9a-f]{32})$/.test(text) ? text : undefined),
  },
  changeSource: {
    placeholder: "<source>",
    meaning: "change the ledger's source of rates from this one to that of --rates",
    form: "a source of rates",
    parse: (text) => text,
  },
  stopTimeout: {
    placeholder: "<seconds>",
    meaning: "time that a stop leaves for requests under way before it cuts them off",
    form: "a whole number of seconds from 0 to 3600",
    parse: wholeNumber(0, 3600),
    fallback: "10",
  },
  maxConnections: {
    placeholder: "<number>",
    meaning: "maximum number of connections; further ones are closed at once",
    form: "a whole number from 1 to 65535",
    parse: wholeNumber(1, 65_535),
    fallback: "4096",
  },
  logLevel: {
    placeholder: "<level>",
    meaning: "least severe events to log",
    form: logLevels.join(", "),
    choices: logLevels,
    parse: (text) => logLevels.find((level) => level === text),
  },
  allowAnonymous: {
    meaning: "listen for other machines without tokens: whoever reaches fx may do everything",
    form: "true or false",
    parse: parseBoolean,
    fallback: "false",
  },
  allowedHost: {
    placeholder: "<name>",
    meaning: "additional Host header to accept while authentication is off",
    form: "a host name without a port, or several",
    parse: (text) => (/^([\w.-]+|\[[\da-f:]+\])$/i.test(text) ? text : undefined),
    isList: true,
  },
  adminPort: {
    placeholder: "<number>",
    meaning: "answer metrics and probes on this port too, without a token",
    form: "a whole number from 0 to 65535",
    parse: wholeNumber(0, 65_535),
  },
  tlsCert: {
    placeholder: "<file>",
    meaning: "TLS certificate chain (PEM, leaf first)",
    form: "the path of a file",
    parse: parsePath,
  },
  tlsKey: {
    placeholder: "<file>",
    meaning: "private key of the TLS certificate (PEM)",
    form: "the path of a file",
    parse: parsePath,
  },
  trustProxy: {
    placeholder: "<address>",
    meaning: "proxy, or network of proxies, whose X-Forwarded-For is believed",
    form: "an address, a network such as 10.0.0.0/8, loopback, linklocal or uniquelocal, or several",
    parse: parseNetwork,
    isList: true,
  },
  cors: {
    placeholder: "<origin>",
    meaning: "origin whose pages may use the API",
    form: "an origin such as https://bank.example, or several",
    parse: (text) =>
      /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text ? text : undefined,
    isList: true,
  },
  rateLimit: {
    placeholder: "<number>",
    meaning:
      "maximum requests a second for each token, or address without one, 0 for no limit; unless set 100, and no limit on loopback",
    form: "a whole number of requests a second from 0 to 99999",
    parse: wholeNumber(0, 99_999),
  },
  officeName: {
    placeholder: "<text>",
    meaning: "name of the office on the page's printed receipts and statements",
    form: "one line of at most 200 characters",
    parse: parseLine,
  },
  officeAddress: {
    placeholder: "<text>",
    meaning: "its address there",
    form: "one line of at most 200 characters",
    parse: parseLine,
  },
  officeTax: {
    placeholder: "<number>",
    meaning: "its tax number there",
    form: "one line of at most 200 characters",
    parse: parseLine,
  },
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingName = keyof typeof settingTable;

type ValueOf<Row extends Setting> = Row extends { readonly isList: true }
  ? readonly Exclude<ReturnType<Row["parse"]>, undefined>[]
  : Row extends { readonly fallback: string }
    ? Exclude<ReturnType<Row["parse"]>, undefined>
    : ReturnType<Row["parse"]> | undefined;

/** The value in force of every setting. */
export type Settings = { readonly [Name in SettingName]: ValueOf<(typeof settingTable)[Name]> };

export const settingNames = Object.keys(settingTable) as readonly SettingName[];

export function settingOf(name: SettingName): Setting {
  return settingTable[name];
}

/** "--max-table-age" of "maxTableAge". */
export function flagOf(name: SettingName): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** "FX_MAX_TABLE_AGE" of "maxTableAge". */
export function variableOf(name: SettingName): string {
  return `FX_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/**
 * The flag of a setting. It is not commander's `.env()`, which takes FX_ALLOW_ANONYMOUS=false for yes and knows no
 * FX_DB_FILE: `config.ts` reads the variables.
 */
export function settingOption(name: SettingName, detail = ""): Option {
  const { placeholder = "", meaning, fallback, isList, choices } = settingOf(name);
  const flag = flagOf(name);
  const option = new Option(`${flag} ${placeholder}`.trim(), `${meaning}${detail}`);
  if (fallback !== undefined) option.default(defaultOf(name), fallback);
  if (choices !== undefined) return option.choices(choices);
  if (placeholder === "") return option;
  return option.argParser((text, before: unknown) => {
    if (holdsSecret(text)) {
      throw new UsageError(
        `A password, key or token does not belong on a command line, where every process can read it. Put the address of ${flag} into ${variableOf(name)}, a file that ${variableOf(name)}_FILE names, or the config file.`,
      );
    }
    const value = parseSetting(name, text, flag);
    return isList && Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
  });
}

export function defaultOf(name: SettingName): unknown {
  const { fallback, parse, isList } = settingOf(name);
  return fallback === undefined ? (isList && []) || undefined : parse(fallback);
}

/**
 * Reads a value: text, or what the config file has as JSON.
 * @param place where it is set, for the error
 * @throws UsageError
 */
export function parseSetting(name: SettingName, raw: unknown, place: string): unknown {
  const { form, parse, isList } = settingOf(name);
  refuseBlank(raw, place);
  if (!isList) refusePadded(raw, place);
  const items =
    isList && typeof raw === "string" ? raw.split(",") : isList && Array.isArray(raw) ? raw : [raw];
  const values = items.map((item) => {
    const isPlain = ["string", "number", "boolean"].includes(typeof item);
    const value = isPlain ? parse(isList ? String(item).trim() : String(item)) : undefined;
    if (value !== undefined) return value;
    throw new UsageError([`${place} must be ${form}.`, sqliteAdvice(String(item))].filter(Boolean).join(" "));
  });
  return isList ? values : values[0];
}

/**
 * A blank value is what Compose and shells make of a name that is not set. Accepting FX_TOKENS= would open the server.
 * @throws UsageError
 */
export function refuseBlank(raw: unknown, place: string): void {
  if (typeof raw === "string" && raw.trim() === "") {
    throw new UsageError(`${place} is blank. Give it a value, or remove it.`);
  }
}

/**
 * A carriage return is what Docker and shells keep of a file of variables from Windows. With it, FX_DB=sqlite:fx.db would
 * name another ledger, which is empty.
 * @throws UsageError
 */
function refusePadded(raw: unknown, place: string): void {
  if (typeof raw === "string" && raw !== raw.trim()) {
    throw new UsageError(
      `${place} begins or ends with a space, a line end or another character that cannot be seen. Remove it.`,
    );
  }
}

function parseBoolean(text: string): boolean | undefined {
  return text === "true" ? true : text === "false" ? false : undefined;
}

function wholeNumber(least: number, most: number): (text: string) => number | undefined {
  return (text) => {
    const number = Number(text);
    return /^\d{1,5}$/.test(text) && number >= least && number <= most ? number : undefined;
  };
}

/** A path without a slash at its end; "/" for none. */
function parsePrefix(text: string): string | undefined {
  const isPath = /^\/$|^(\/(?!\.\.?(\/|$))[\w.~-]+)+\/?$/.test(text);
  return isPath ? text.replace(/(.)\/$/, "$1") : undefined;
}

/** Refuses a key itself, which FX_TLS_KEY_FILE could bring here, so that no error shows it. */
function parsePath(text: string): string | undefined {
  return text.includes("\n") ? undefined : text;
}

function parseLine(text: string): string | undefined {
  return /^[^\p{Cc}]{1,200}$/u.test(text) ? text : undefined;
}

function parseNetwork(text: string): string | undefined {
  if (/^(loopback|linklocal|uniquelocal)$/.test(text)) return text;
  const [, address = "", bits = "0"] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  return Number(bits) <= { 0: -1, 4: 32, 6: 128 }[isIP(address) as 0 | 4 | 6] ? text : undefined;
}
