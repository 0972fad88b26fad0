import { existsSync } from "node:fs";
import type { FxCommand } from "../../command.ts";
import type { Config, Source } from "../../config.ts";
import type { Context } from "../../context.ts";
import { findingsExit } from "../../exits.ts";
import { type SettingName, settingNames, settingOf } from "../../settings.ts";
import { withoutSecrets } from "../../target.ts";
import { type Column, tableText, writeSections, writeText } from "../../terminal/output.ts";
import { write } from "../../terminal/terminal.ts";
import type { Check } from "./checkup.ts";

interface Shown {
  readonly name: SettingName;
  /** The value, without secrets. */
  readonly value: string | number | boolean | null;
  readonly origin: string;
}

export function defineDoctor(program: FxCommand, context: Context): void {
  program
    .add("doctor", "Check the configuration and everything it connects to; exit 11 if anything is wrong", [
      "fx doctor",
      "fx doctor --url sqlite:fx.db --json",
    ])
    .target({ rates: true })
    .action(({ json = false }: { readonly json?: boolean }) => diagnose(context, json));
}

function settingColumns({ variables }: Config): readonly Column<Shown>[] {
  return [
    { title: "", pipeOnly: true, cell: () => "setting" },
    { title: "Setting", cell: ({ name }) => name },
    { title: "Value", wraps: true, cell: ({ value }) => String(value ?? "") },
    { title: "From", cell: ({ name, origin }) => variables[name] ?? origin },
  ];
}

const checkColumns: readonly Column<Check>[] = [
  { title: "", pipeOnly: true, cell: () => "check" },
  { title: "Check", cell: ({ check }) => check },
  {
    title: "State",
    cell: ({ ok }, { paint }) =>
      ok ? { text: "ok", paint: paint.green } : { text: "wrong", paint: paint.red },
  },
  { title: "Found", wraps: true, cell: ({ detail }) => detail },
];

async function diagnose(context: Context, json: boolean): Promise<void> {
  const { version, terminal } = context;
  const { stdout } = terminal;
  const config = context.config();
  context.signals.watch();
  const { examine } = await import("./checkup.ts");
  const checks = await examine(config);
  const ok = checks.every((check) => check.ok);
  if (!ok) context.exit = findingsExit;
  const configFile = { path: config.file, exists: existsSync(config.file) };
  const settings = settingNames.map((name) => shown(config, name));
  if (json) return context.document({ ok, version, configFile, settings, checks });
  if (stdout.rich) {
    const note = configFile.exists ? "" : " (not there)";
    writeText(stdout, `fx ${version}, config file ${configFile.path}${note}`);
    write(stdout, "");
  }
  const checked = tableText(stdout, checkColumns, checks);
  writeSections(stdout, tableText(stdout, settingColumns(config), settings), checked);
}

const origins: Readonly<Record<Source, string>> = {
  cli: "flag",
  env: "environment",
  config: "file",
  default: "default",
};

function shown({ settings, sources }: Config, name: SettingName): Shown {
  const origin = origins[sources[name]];
  const value = settings[name];
  if (value === undefined) return { name, value: null, origin };
  if (typeof value === "number" || typeof value === "boolean") return { name, value, origin };
  if (settingOf(name).isSecret) return { name, value: "***", origin };
  const text = typeof value === "string" ? value : "address" in value ? value.address : value.join(",");
  return { name, value: withoutSecrets(text), origin };
}
