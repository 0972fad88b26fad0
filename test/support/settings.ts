import { Command } from "commander";
import { type Config, readConfig } from "../../src/cli/config.ts";
import { settingNames, settingOf, settingOption } from "../../src/cli/settings.ts";

/** Settings of a command that has every flag; the environment has no home unless given. */
export function configOf(
  flags: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Config {
  const command = new Command().exitOverride().option("--config <file>");
  for (const name of settingNames) if (!settingOf(name).isSecret) command.addOption(settingOption(name));
  return readConfig(command.parse(flags, { from: "user" }), { HOME: "/nonexistent", ...env });
}
