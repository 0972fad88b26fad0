import { type Command, Option } from "commander";
import { type Role, roles } from "../../wire/role.ts";
import type { CommandOptions, Context } from "../context.ts";
import { UsageError } from "../errors.ts";
import { command, setting } from "../options.ts";
import { timeText, writeRecord, writeTable, writeText } from "../terminal/output.ts";
import { write } from "../terminal/terminal.ts";
import type { KeptToken } from "../tokens/file.ts";

interface TokenOptions extends CommandOptions {
  readonly tokens?: string;
}

interface CreateOptions extends TokenOptions {
  readonly role: Role;
  /** In milliseconds. */
  readonly expires?: number;
}

export function defineToken(program: Command, context: Context): void {
  const { stdout, stderr } = context.terminal;
  const token = program
    .command("token")
    .description("who may ask the server, and for what")
    .addHelpText(
      "after",
      "\nExamples:\n  $ fx token create till-3 --role teller --tokens tokens.json\n  $ fx serve --tokens tokens.json",
    );

  command(token, "create", "make a token, and print it once", [
    "fx token create till-3 --role teller --expires 90d --tokens tokens.json",
    "FX_TOKENS=tokens.json fx token create backup --role operator > backup.token",
  ])
    .argument("<name>", "who or what it is for; the journal and the log have it")
    .addOption(new Option("--role <role>", "what it allows").choices(roles).makeOptionMandatory())
    .option("--expires <time>", "after how many days or hours it stops counting, as in 90d or 12h", lifetime)
    .addOption(setting("tokens"))
    .action(async (name: string, { role, expires, ...options }: CreateOptions) => {
      const path = pathOf(context, options);
      const [{ changeTokenFile, nameFault }, { createToken, hashOf }] = await Promise.all([
        import("../tokens/file.ts"),
        import("../tokens/token.ts"),
      ]);
      const fault = nameFault(name);
      if (fault !== undefined) throw new UsageError(`The name of a token ${fault}.`);
      const secret = createToken();
      const now = Date.now();
      const made: KeptToken = {
        name,
        role,
        created: new Date(now).toISOString(),
        expires: expires === undefined ? null : new Date(now + expires).toISOString(),
        sha256: hashOf(secret).toString("hex"),
      };
      await changeTokenFile(path, (tokens) => {
        if (!tokens.some((other) => other.name === name)) return [...tokens, made];
        throw new UsageError(
          `There is a token ${name} in ${path}. fx token revoke ${name} takes it out of force.`,
        );
      });
      writeText(stderr, "The token is shown only this once: the file keeps a hash of it.");
      write(stdout, secret);
    });

  command(token, "list", "list the tokens, which nobody can read any more", [
    "fx token list --tokens tokens.json",
  ])
    .addOption(setting("tokens"))
    .option("--json", "print one JSON document")
    .action(async (options: TokenOptions) => {
      const path = pathOf(context, options);
      const { readTokenFile } = await import("../tokens/file.ts");
      const { tokens } = await readTokenFile(path);
      if (options.json) return context.document(tokens.map(({ sha256, ...shown }) => shown));
      await writeTable(
        stdout,
        [
          { title: "Name" },
          { title: "Role" },
          { title: "Created" },
          { title: "Expires" },
          { title: "State" },
        ],
        tokens.map(({ name, role, created, expires }) => [
          name,
          role,
          timeText(stdout, new Date(created)),
          expires === null ? "" : timeText(stdout, new Date(expires)),
          expires !== null && Date.parse(expires) <= Date.now() ? "expired" : "in force",
        ]),
      );
    });

  command(token, "revoke", "take a token out of force; a running server follows within a second", [
    "fx token revoke till-3 --tokens tokens.json",
  ])
    .argument("<name>", "the token's")
    .addOption(setting("tokens"))
    .action(async (name: string, options: TokenOptions) => {
      const path = pathOf(context, options);
      const { changeTokenFile, readTokenFile } = await import("../tokens/file.ts");
      const requireName = (tokens: readonly KeptToken[]) => {
        if (tokens.some((other) => other.name === name)) return;
        throw new UsageError(`There is no token ${name} in ${path}. fx token list shows the tokens.`);
      };
      // First, so that no file is made.
      requireName((await readTokenFile(path)).tokens);
      await changeTokenFile(path, (tokens) => {
        requireName(tokens);
        return tokens.filter((other) => other.name !== name);
      });
      writeRecord(stdout, [["revoked", name]]);
    });
}

/** The file that the settings name. */
function pathOf(context: Context, options: TokenOptions): string {
  const { tokens } = context.config(options).settings;
  if (tokens !== undefined) return tokens;
  throw new UsageError("Name the file of the server's tokens with --tokens or FX_TOKENS.");
}

const unitMs: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000 };

function lifetime(text: string): number {
  const [, count = "", unit = ""] = /^([1-9]\d{0,3})([dh])$/.exec(text) ?? [];
  const ms = Number(count) * (unitMs[unit] ?? 0);
  if (ms > 0) return ms;
  throw new UsageError(`"${text}" is not a time to live. Write one such as 90d or 12h.`);
}
