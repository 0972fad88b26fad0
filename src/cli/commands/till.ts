import type { Command } from "commander";
import type { CalendarDate } from "../../core/date.ts";
import type { CommandOptions, Context } from "../context.ts";
import { command, dateArgument, serviceCommand } from "../options.ts";
import { optional } from "../terminal/figures.ts";
import { amountText, timeText, writeRecord, writeTable } from "../terminal/output.ts";
import { write } from "../terminal/terminal.ts";

interface TillOptions extends CommandOptions {
  readonly date?: CalendarDate;
  readonly by?: string;
}

const needs = { rates: false, access: "read" } as const;

const columns = [
  { title: "Currency" },
  { title: "In", align: "right" },
  { title: "Out", align: "right" },
  { title: "Left", align: "right" },
] as const;

export function defineTill(program: Command, context: Context): void {
  serviceCommand(
    command(program, "till", "Show the cash that passed through a till on a day", [
      "fx till",
      "fx till --date 2026-11-26 --by till-3",
      "fx till --json | jq -r .digest",
    ]),
    needs,
  )
    .option("--date <date>", "day in Warsaw, such as 2026-01-31 (default: today)", dateArgument)
    .option(
      "--by <name>",
      "name of a token (default: that of your token; without one, entries without a name)",
    )
    .action(async ({ date, by, ...options }: TillOptions) => {
      const { stdout } = context.terminal;
      const service = await context.service(options, needs);
      const till = await service.till({ date, by });
      if (options.json) {
        const { till: shape } = await import("../../wire/ledger.ts");
        return context.document(shape.encode(till));
      }
      const rows = till.currencies.map(({ currency, came, went }) => [
        currency,
        ...[came, went, came - went].map((minor) => amountText(stdout, { currency, minor })),
      ]);
      const gap = () => (stdout.rich && rows.length > 0 ? write(stdout, "") : undefined);
      writeRecord(stdout, [["date", till.date], ...optional("by", till.by)]);
      gap();
      await writeTable(stdout, columns, rows);
      gap();
      writeRecord(stdout, [
        ["entries", String(till.entries)],
        ...optional("first", till.first && `${timeText(stdout, till.first.time)}, ${till.first.id}`),
        ...optional("last", till.last && `${timeText(stdout, till.last.time)}, ${till.last.id}`),
        ["digest", till.digest],
      ]);
    });
}
