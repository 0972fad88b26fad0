import { Option } from "commander";
import type { CalendarDate } from "../../core/date.ts";
import { type ExportFormat, exportFormats } from "../../core/service.ts";
import type { FxCommand } from "../command.ts";
import type { CommandOptions, Context } from "../context.ts";
import { writeParts } from "../terminal/pages.ts";

interface ExportOptions extends CommandOptions {
  readonly format: ExportFormat;
  readonly from?: CalendarDate;
  readonly to?: CalendarDate;
  readonly at?: Date;
  readonly full?: boolean;
}

export function defineExport(program: FxCommand, context: Context): void {
  program
    .add("export", "Print the journal in double entry, or the register of an exchange office", [
      "fx export --format hledger > fx.journal",
      "fx export --format csv --from 2026-10-01 --to 2026-10-31 > october.csv",
      "fx export --format register --from 2026-10-01 --to 2026-10-31 > register.csv",
    ])
    .addOption(new Option("--format <format>", "file format").choices(exportFormats).makeOptionMandatory())
    .period()
    .at()
    .option("--full", "include PESELs, names, notes, reasons, keys and the names of tokens")
    .target({ json: false })
    .action(async ({ format, from, to, at, full = false }: ExportOptions) => {
      const service = await context.service();
      await writeParts(context.terminal.stdout, service.export({ format, from, to, at, full }));
    });
}
