import { existsSync } from "node:fs";
import type { Command } from "commander";
import {
  type Config,
  definitions,
  type Origin,
  type SettingName,
  settingNames,
  withoutPassword,
} from "../../config.ts";
import type { CommandOptions, Context } from "../../context.ts";
import { command, serviceCommand } from "../../options.ts";
import type { Place } from "../../place.ts";
import { writeTable, writeText } from "../../terminal/output.ts";
import { write } from "../../terminal/terminal.ts";

export function defineDoctor(program: Command, context: Context): void {
  serviceCommand(
    command(program, "doctor", "look at the settings and at all they lead to; exit 1 if anything is wrong", [
      "fx doctor",
      "fx doctor --url sqlite:fx.db --json",
    ]),
    { rates: true },
  ).action(async (options: CommandOptions) => {
    const { stdout } = context.terminal;
    const config = context.config(options);
    context.watchSignals();
    const { examine } = await import("./checkup.ts");
    const checks = await examine(config.settings);
    const ok = checks.every((check) => check.ok);
    if (!ok) context.exit = 1;
    const { file } = config;
    const settings = settingNames.map((name) => ({ name, ...shown(config, name) }));
    if (options.json) {
      const configFile = { path: file, exists: existsSync(file) };
      return context.document({ ok, version: context.version, configFile, settings, checks });
    }
    const { paint, rich } = stdout;
    if (rich) {
      const there = existsSync(file) ? "" : " (not there)";
      writeText(stdout, `fx ${context.version}, config file ${file}${there}`);
      write(stdout, "");
    }
    await writeTable(
      stdout,
      [
        { title: "", pipeOnly: true },
        { title: "Setting" },
        { title: "Value", wraps: true },
        { title: "From" },
      ],
      settings.map(({ name, value, origin }) => [
        "setting",
        name,
        String(value ?? ""),
        originText(name, origin),
      ]),
    );
    if (rich) write(stdout, "");
    await writeTable(
      stdout,
      [
        { title: "", pipeOnly: true },
        { title: "Check" },
        { title: "State" },
        { title: "Found", wraps: true },
      ],
      checks.map((check) => [
        "check",
        check.check,
        check.ok ? paint.green("ok") : paint.red("wrong"),
        check.detail,
      ]),
    );
  });
}

/** The value without secrets, and where it came from. */
function shown({ settings, origins }: Config, name: SettingName) {
  const value = settings[name];
  const isPlain = typeof value === "number" || typeof value === "boolean" || value === undefined;
  return { value: isPlain ? (value ?? null) : withoutSecrets(textOf(value)), origin: origins[name] };
}

function textOf(value: string | readonly string[] | Place): string {
  if (typeof value === "string") return value;
  return "address" in value ? value.address : value.join(",");
}

/** In the address of an API, the user and the parameters may be a secret too. */
function withoutSecrets(address: string): string {
  return withoutPassword(address)
    .replace(/^(https?:\/\/)[^/@]*@/i, "$1***@")
    .replace(/^(https?:[^?]*\?).*/i, "$1***");
}

function originText(name: SettingName, origin: Origin): string {
  return origin === "environment" ? definitions[name].env : origin;
}
