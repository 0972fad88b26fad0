import { type Command, Option } from "commander";
import type { CalendarDate } from "../../core/date.ts";
import { type ExportFormat, exportFormats } from "../../core/service.ts";
import type { CommandOptions, Context } from "../context.ts";
import { command, dateArgument, setting, timeArgument } from "../options.ts";
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
  command(program, "export", "print the journal as double entry, for hledger, beancount or a spreadsheet", [
    "fx export --format hledger > fx.journal",
    "fx export --format csv --from 2026-10-01 --to 2026-10-31 > october.csv",
  ])
    .addOption(new Option("--format <format>", "whose format").choices(exportFormats).makeOptionMandatory())
    .option("--from <date>", "the first day, in Warsaw (default: that of the first entry)", dateArgument)
    .option("--to <date>", "the last day, in Warsaw (default: that of the last entry)", dateArgument)
    .option("--at <time>", "the journal as it was then, at least 10 s ago", timeArgument)
    .option("--full", "with PESELs, names, notes, reasons, keys and the names of tokens")
    .addOption(setting("url"))
    .addOption(setting("allowPlainHttp"))
    .action(async ({ format, from, to, at, full = false, ...options }: ExportOptions) => {
      const service = await context.service(options, needs);
      await writeParts(context.terminal.stdout, service.export({ format, from, to, at, full }));
    });
}
