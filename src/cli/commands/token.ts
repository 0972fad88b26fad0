import { Option } from "commander";
import { type Role, roles } from "../../wire/role.ts";
import type { FxCommand } from "../command.ts";
import type { CommandOptions, Context } from "../context.ts";
import { UsageError } from "../errors.ts";
import { timeText, writeRecord, writeTable, writeText } from "../terminal/output.ts";
import { write } from "../terminal/terminal.ts";
import type { KeptToken } from "../tokens/file.ts";

interface LifetimeOptions extends CommandOptions {
  readonly expires?: number;
}

interface CreateOptions extends LifetimeOptions {
  readonly role: Role;
}

export function defineToken(program: FxCommand, context: Context): void {
  const token = program.add("token", "Manage the tokens that a server accepts", [
    "fx token create till-3 --role teller --tokens tokens.json",
    "fx serve --tokens tokens.json",
  ]);
  const add = (name: string, description: string, ...examples: readonly string[]) =>
    token.add(name, description, examples).setting("tokens", "; required here or in FX_TOKENS");

  add(
    "create",
    "Create a token and print it once",
    "fx token create till-3 --role teller --expires 90d --tokens tokens.json",
    "FX_TOKENS=tokens.json fx token create backup --role operator > new.token && mv new.token backup.token",
  )
    .argument("<name>", "who or what uses it; the journal and the log have the name")
    .addOption(new Option("--role <role>", "what the token allows").choices(roles).makeOptionMandatory())
    .option("--expires <time>", "lifetime in days or hours, such as 90d or 12h (default: no end)", lifetime)
    .action((name: string, options: CreateOptions) => addToken(context, name, options));

  add(
    "rotate",
    "Replace a token's secret; its name and role stay, and the old secret is revoked",
    "fx token rotate till-3 --tokens tokens.json > new.token && mv new.token till-3.token",
  )
    .argument("<name>", "name of the token")
    .option("--expires <time>", "lifetime of the new secret (default: that of the old one)", lifetime)
    .action((name: string, options: LifetimeOptions) => rotateToken(context, name, options));

  add("list", "List tokens (secrets are not shown)", "fx token list --tokens tokens.json")
    .json()
    .action((options: CommandOptions) => listTokens(context, options));

  add(
    "revoke",
    "Revoke a token; a running server follows within a second",
    "fx token revoke till-3 --tokens tokens.json",
  )
    .argument("<name>", "name of the token")
    .action(async (name: string, options: CommandOptions) => {
      await changeToken(pathOf(options), name, () => []);
      context.sending.ifUnwritten = `The token ${name} was revoked.`;
      writeRecord(context.terminal.stdout, [["revoked", name]]);
    });
}

async function addToken(
  context: Context,
  name: string,
  { role, expires, ...options }: CreateOptions,
): Promise<void> {
  const path = pathOf(options);
  const { changeTokenFile, nameFault } = await import("../tokens/file.ts");
  const fault = nameFault(name);
  if (fault !== undefined) throw new UsageError(`The name of a token ${fault}.`);
  const { secret, sha256 } = await newSecret();
  await changeTokenFile(path, (tokens) => {
    if (tokens.every((other) => other.name !== name)) {
      return [...tokens, { name, role, ...lifetimeFrom(expires), sha256 }];
    }
    throw new UsageError(
      `There is a token ${name} in ${path}. fx token rotate ${name} replaces it, fx token revoke ${name} ends it.`,
    );
  });
  showSecret(context, name, secret);
}

async function rotateToken(context: Context, name: string, options: LifetimeOptions): Promise<void> {
  const { secret, sha256 } = await newSecret();
  await changeToken(pathOf(options), name, ({ role, created, expires }) => {
    const before = expires === null ? undefined : Date.parse(expires) - Date.parse(created);
    return [{ name, role, ...lifetimeFrom(options.expires ?? before), sha256 }];
  });
  showSecret(context, name, secret);
}

async function listTokens(context: Context, options: CommandOptions): Promise<void> {
  const { stdout } = context.terminal;
  const { readTokenFile } = await import("../tokens/file.ts");
  const tokens = await readTokenFile(pathOf(options));
  if (options.json) return context.document(tokens.map(({ sha256, ...shown }) => shown));
  const inForce = ({ expires }: KeptToken) => expires === null || Date.parse(expires) > Date.now();
  writeTable<KeptToken>(
    stdout,
    [
      { title: "Name", cell: ({ name }) => name },
      { title: "Role", cell: ({ role }) => role },
      { title: "Created", cell: ({ created }) => timeText(stdout, new Date(created)) },
      {
        title: "Expires",
        cell: ({ expires }) => (expires === null ? "" : timeText(stdout, new Date(expires))),
      },
      { title: "State", cell: (token) => (inForce(token) ? "in force" : "expired") },
    ],
    tokens,
  );
}

/**
 * @param replace returns the tokens that take the place of the one with this name: one or none
 * @throws UsageError if there is no token of this name
 */
async function changeToken(
  path: string,
  name: string,
  replace: (old: KeptToken) => readonly KeptToken[],
): Promise<void> {
  const { changeTokenFile } = await import("../tokens/file.ts");
  await changeTokenFile(path, (tokens) => {
    if (tokens.every((token) => token.name !== name)) {
      throw new UsageError(`There is no token ${name} in ${path}. fx token list shows the tokens.`);
    }
    return tokens.flatMap((token) => (token.name === name ? replace(token) : [token]));
  });
}

async function newSecret(): Promise<{ secret: string; sha256: string }> {
  const { createToken, hashOf } = await import("../tokens/token.ts");
  const secret = createToken();
  return { secret, sha256: hashOf(secret).toString("hex") };
}

/** @param ms undefined for a token that does not expire */
function lifetimeFrom(ms: number | undefined): Pick<KeptToken, "created" | "expires"> {
  const now = Date.now();
  return {
    created: new Date(now).toISOString(),
    expires: ms === undefined ? null : new Date(now + ms).toISOString(),
  };
}

function showSecret({ terminal: { stdout, stderr }, sending }: Context, name: string, secret: string): void {
  sending.ifUnwritten = `The token ${name} was made, and nobody has its secret. fx token rotate ${name} makes another.`;
  writeText(stderr, "The token is shown only this once: the file keeps a hash of it.");
  write(stdout, secret);
}

function pathOf({ tokens }: CommandOptions): string {
  if (tokens !== undefined) return tokens;
  throw new UsageError("Name the file of the server's tokens with --tokens or FX_TOKENS.");
}

const unitMs: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000 };

function lifetime(text: string): number {
  const [, count = "", unit = ""] = /^([1-9]\d{0,3})([dh])$/.exec(text) ?? [];
  const ms = Number(count) * (unitMs[unit] ?? 0);
  if (ms > 0) return ms;
  throw new UsageError(`"${text}" is not a lifetime. Write one such as 90d or 12h; the longest is 9999d.`);
}
