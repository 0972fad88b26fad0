import { isIP } from "node:net";
import { Option } from "commander";
import { UsageError } from "./errors.ts";
import { holdsSecret, parseStoreTarget, parseTarget } from "./target.ts";

/** A form of values, such as a port or a path. */
interface Form<V> {
  /** The form in words, for errors. */
  readonly form: string;
  /** Reads one value; undefined if it is not of this form. */
  readonly parse: (text: string) => V | undefined;
  readonly choices?: readonly string[];
}

/** One thing that can be set: by a flag, an environment variable, or the config file. */
interface Setting<V = unknown> extends Form<unknown> {
  readonly placeholder: string;
  readonly meaning: string;
  /** The value in force where nothing else is set, and its text for the help. */
  readonly unset: V;
  readonly fallback?: string;
  /** Takes several values: repeated flags, commas in a variable, an array in the config file. */
  readonly isList?: true;
  /** Has no flag and is never shown, because every process can read command lines. */
  readonly isSecret?: true;
}

function optional<V>(placeholder: string, meaning: string, form: Form<V>): Setting<V | undefined> {
  return { placeholder, meaning, ...form, unset: undefined };
}

function withDefault<V>(placeholder: string, meaning: string, form: Form<V>, fallback: string): Setting<V> {
  return { placeholder, meaning, ...form, unset: form.parse(fallback) as V, fallback };
}

function list<V>(placeholder: string, meaning: string, form: Form<V>): Setting<readonly V[]> {
  return { placeholder, meaning, ...form, unset: [], isList: true };
}

function flag(meaning: string): Setting<boolean> {
  return withDefault("", meaning, trueOrFalse, "false");
}

const trueOrFalse: Form<boolean> = {
  form: "true or false",
  parse: (text) => (text === "true" ? true : text === "false" ? false : undefined),
};

/** Refuses a key itself, which FX_TLS_KEY_FILE could bring here, so that no error shows it. */
const path = matching(/^.*$/, "the path of a file");
const line = matching(/^[^\p{Cc}]{1,200}$/u, "one line of at most 200 characters");
const logLevels = ["silent", "error", "warn", "info", "debug"] as const;

/** Every setting. The flag, the variable, the key in the config file, the help and the man page follow from its row. */
const settingTable = {
  url: withDefault(
    "<target>",
    "target: the URL of a server, or sqlite:PATH, postgres://… or memory: to open a store in this process",
    { form: "http(s)://…, sqlite:PATH, postgres://… or memory:", parse: parseTarget },
    "http://127.0.0.1:8080",
  ),
  token: {
    ...optional(
      "<token>",
      "token to send to the server; it has no flag",
      matching(/^[\w.~+/-]{1,1000}=*$/, "a token as fx token create prints it"),
    ),
    isSecret: true,
  },
  allowPlainHttp: flag(
    "send a token or a password to another machine without TLS, where the network can read it",
  ),
  host: withDefault(
    "<host>",
    "address to listen on",
    matching(/^[\w.:-]+$/, "a host name or an IP address"),
    "127.0.0.1",
  ),
  port: withDefault("<number>", "port to listen on; 0 takes a free one", wholeNumber(0, 65_535), "8080"),
  prefix: withDefault(
    "<path>",
    "path prefix behind a reverse proxy, such as /fx",
    { form: "a path such as /fx", parse: parsePrefix },
    "/",
  ),
  tokens: optional("<file>", "file of the tokens that the server accepts", {
    ...path,
    form: "a file that fx token create makes",
  }),
  db: withDefault(
    "<store>",
    "store of the accounts: memory:, sqlite:PATH or postgres://…",
    { form: "memory:, sqlite:PATH or postgres://…", parse: parseStoreTarget },
    "memory:",
  ),
  rates: withDefault(
    "<source>",
    "nbp, the http(s) URL of an API of the same shape, a JSON file of rate tables, or demo",
    {
      form: "nbp, demo, http(s)://… or a file",
      parse: (text) => (/^https?:/i.test(text) && !URL.canParse(text) ? undefined : text),
    },
    "nbp",
  ),
  maxTableAge: withDefault(
    "<days>",
    "refuse orders at a rate table older than this; recorded tables do not age",
    wholeNumber(1, 3650, " of days"),
    "7",
  ),
  acceptTable: optional(
    "<number>",
    "accept this rate table, by number or id, once, overriding the sanity check",
    matching(
      /^(\d{1,3}\/C\/NBP\/\d{4}|[0-9a-f]{32})$/,
      "a table number such as 108/C/NBP/2026, or a table's id",
    ),
  ),
  changeSource: optional(
    "<source>",
    "change the ledger's source of rates from this one to that of --rates",
    matching(/^/, "a source of rates"),
  ),
  stopTimeout: withDefault(
    "<seconds>",
    "seconds that requests under way have to finish on shutdown",
    wholeNumber(0, 3600, " of seconds"),
    "10",
  ),
  maxConnections: withDefault(
    "<number>",
    "maximum number of connections; further ones are closed at once",
    wholeNumber(1, 65_535),
    "4096",
  ),
  logLevel: optional("<level>", "minimum level to log", {
    form: logLevels.join(", "),
    choices: logLevels,
    parse: (text) => logLevels.find((level) => level === text),
  }),
  allowAnonymous: flag("listen for other machines without tokens: whoever reaches fx may do everything"),
  allowedHost: list(
    "<name>",
    "additional Host header to accept while authentication is off",
    matching(/^([\w.-]+|\[[\da-f:]+\])$/i, "a host name without a port, or several"),
  ),
  adminPort: optional(
    "<number>",
    "answer metrics and probes on this port too, without a token",
    wholeNumber(0, 65_535),
  ),
  tlsCert: optional("<file>", "TLS certificate chain (PEM, leaf first)", path),
  tlsKey: optional("<file>", "private key of the TLS certificate (PEM)", path),
  trustProxy: list("<address>", "proxy, or network of proxies, whose X-Forwarded-For is believed", {
    form: "an address, a network such as 10.0.0.0/8, loopback, linklocal or uniquelocal, or several",
    parse: parseNetwork,
  }),
  cors: list("<origin>", "origin whose pages may use the API", {
    form: "an origin such as https://bank.example, or several",
    parse: (text) =>
      /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text ? text : undefined,
  }),
  rateLimit: optional(
    "<number>",
    "maximum requests per second for each token, or address without one; 0 for no limit; default: 100, none on loopback",
    wholeNumber(0, 99_999, " of requests a second"),
  ),
  officeName: optional("<text>", "name of the office on printed receipts and statements", line),
  officeAddress: optional("<text>", "address of the office on printed receipts and statements", line),
  officeTax: optional("<number>", "tax number of the office on printed receipts and statements", line),
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingName = keyof typeof settingTable;

export type Settings = { readonly [Name in SettingName]: (typeof settingTable)[Name]["unset"] };

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
  const { placeholder, meaning, unset, fallback, isList, choices } = settingOf(name);
  const flag = flagOf(name);
  const option = new Option(`${flag} ${placeholder}`.trim(), `${meaning}${detail}`);
  if (fallback !== undefined) option.default(unset, fallback);
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
    throw new UsageError(`${place} must be ${form}.`);
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

function matching(pattern: RegExp, form: string): Form<string> {
  return { form, parse: (text) => (pattern.test(text) ? text : undefined) };
}

function wholeNumber(least: number, most: number, unit = ""): Form<number> {
  const parse = (text: string) => {
    const number = Number(text);
    return /^\d{1,5}$/.test(text) && number >= least && number <= most ? number : undefined;
  };
  return { form: `a whole number${unit} from ${least} to ${most}`, parse };
}

/** A path without a slash at its end; "/" for none. */
function parsePrefix(text: string): string | undefined {
  const isPath = /^\/$|^(\/(?!\.\.?(\/|$))[\w.~-]+)+\/?$/.test(text);
  return isPath ? text.replace(/(.)\/$/, "$1") : undefined;
}

function parseNetwork(text: string): string | undefined {
  if (/^(loopback|linklocal|uniquelocal)$/.test(text)) return text;
  const [, address = "", bits = "0"] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  return Number(bits) <= { 0: -1, 4: 32, 6: 128 }[isIP(address) as 0 | 4 | 6] ? text : undefined;
}
