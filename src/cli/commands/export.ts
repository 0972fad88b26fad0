import { type Command, Option } from "commander";
import type { CalendarDate } from "../../core/date.ts";
import { type ExportFormat, exportFormats } from "../../core/service.ts";
import type { CommandOptions, Context } from "../context.ts";
import { command, withAtOption, withPeriodOptions } from "../options.ts";
import { settingOption } from "../settings.ts";
import { writeParts } from "../terminal/pages.ts";

interface ExportOptions extends CommandOptions {
  readonly format: ExportFormat;
  readonly from?: CalendarDate;
  readonly to?: CalendarDate;
  readonly at?: Date;
  readonly full?: boolean;
}

const needs = { rates: false, access: "read" } as const;

export function defineExport(program: Command, context: Context): void {
  withAtOption(
    withPeriodOptions(
      command(program, "export", "Print the journal in double entry, or the register of an exchange office", [
        "fx export --format hledger > fx.journal",
        "fx export --format csv --from 2026-10-01 --to 2026-10-31 > october.csv",
        "fx export --format register --from 2026-10-01 --to 2026-10-31 > register.csv",
      ]).addOption(
        new Option("--format <format>", "file format").choices(exportFormats).makeOptionMandatory(),
      ),
    ),
  )
    .option("--full", "include PESELs, names, notes, reasons, keys and the names of tokens")
    .addOption(settingOption("url"))
    .addOption(settingOption("allowPlainHttp"))
    .action(async ({ format, from, to, at, full = false, ...options }: ExportOptions) => {
      const service = await context.service(options, needs);
      await writeParts(context.terminal.stdout, service.export({ format, from, to, at, full }));
    });
}
