import { existsSync } from "node:fs";
import type { Command } from "commander";
import {
  type Config,
  definitions,
  type Origin,
  type SettingName,
  type Settings,
  settingNames,
} from "../../config.ts";
import type { CommandOptions, Context } from "../../context.ts";
import { command, serviceCommand } from "../../options.ts";
import { type Target, withoutSecrets } from "../../target.ts";
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
    const config = context.asking(options);
    context.watchSignals();
    const { examine } = await import("./checkup.ts");
    const checks = await examine(config);
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
        check.ok ? { text: "ok", paint: paint.green } : { text: "wrong", paint: paint.red },
        check.detail,
      ]),
    );
  });
}

/** The value without secrets, and where it came from. */
function shown({ settings, origins }: Config, name: SettingName) {
  return { value: shownValue(settings[name], definitions[name].isSecret), origin: origins[name] };
}

function shownValue(value: Settings[SettingName], isSecret = false): string | number | boolean | null {
  if (typeof value === "number" || typeof value === "boolean" || value === undefined) return value ?? null;
  return isSecret ? "***" : withoutSecrets(textOf(value));
}

function textOf(value: string | readonly string[] | Target): string {
  if (typeof value === "string") return value;
  return "address" in value ? value.address : value.join(",");
}

function originText(name: SettingName, origin: Origin): string {
  return origin === "environment" ? definitions[name].env : origin;
}
