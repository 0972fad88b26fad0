import type { CalendarDate } from "../../core/date.ts";
import { dateArgument, type FxCommand } from "../command.ts";
import type { CommandOptions, Context } from "../context.ts";
import { optional } from "../terminal/figures.ts";
import { amountsText, recordText, timeText, writeSections } from "../terminal/output.ts";

interface TillOptions extends CommandOptions {
  readonly date?: CalendarDate;
  readonly by?: string;
}

export function defineTill(program: FxCommand, context: Context): void {
  program
    .add("till", "Show a till's cash for a day", [
      "fx till",
      "fx till --date 2026-11-26 --by till-3",
      "fx till --json | jq -r .digest",
    ])
    .target()
    .option("--date <date>", "day in Warsaw, such as 2026-01-31 (default: today)", dateArgument)
    .option(
      "--by <name>",
      "name of a token, for its entries and their reversals by anyone (default: that of your token; without a token, entries made without one)",
    )
    .action(async ({ date, by, json }: TillOptions) => {
      const { stdout } = context.terminal;
      const till = await (await context.service()).till({ date, by });
      if (json) return context.document((await import("../../wire/ledger.ts")).till.encode(till));
      const rows = till.currencies.map(
        ({ currency, in: came, out: went }) => [currency, came, went, came - went] as const,
      );
      writeSections(
        stdout,
        recordText(stdout, [["date", till.date], ...optional("by", till.by)]),
        amountsText(stdout, ["Currency", "In", "Out", "Left"], rows),
        recordText(stdout, [
          ["entries", String(till.entries)],
          ...optional("first", till.first && `${timeText(stdout, till.first.time)}, ${till.first.id}`),
          ...optional("last", till.last && `${timeText(stdout, till.last.time)}, ${till.last.id}`),
          ["digest", till.digest],
        ]),
      );
    });
}
