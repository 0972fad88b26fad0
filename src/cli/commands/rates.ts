import type { Command } from "commander";
import { parseCurrencyCode } from "../../core/currency.ts";
import { asking, command, wholeArgument } from "../command.ts";
import type { CommandOptions, Context } from "../context.ts";
import { rateColumns, rateRows } from "../figures.ts";
import { rateText, writeTable, writeText } from "../output.ts";
import { write } from "../terminal.ts";

const needs = { rates: true };

export function defineRates(program: Command, context: Context): void {
  const rates = program
    .command("rates")
    .description("show the bank's rates")
    .addHelpText("after", "\nExamples:\n  $ fx rates\n  $ fx rates history USD --days 90");
  const { stdout } = context.terminal;

  asking(
    command(
      rates,
      "show",
      "show the rate table in force (fx rates alone does it)",
      ["fx rates show", "fx rates --json"],
      { isDefault: true },
    ),
    needs,
  ).action(async (options: CommandOptions) => {
    const service = await context.service(options, needs);
    const inForce = await service.rates();
    if (options.json) {
      const { encodeRates } = await import("../../wire/codecs.ts");
      return context.document(encodeRates(inForce));
    }
    const { table, previous, source } = inForce;
    if (stdout.rich) {
      writeText(stdout, `Table ${table.number} of ${table.effectiveDate}, source: ${source}`);
      writeText(stdout, "PLN for one unit: the bank buys at bid and sells at ask", stdout.paint.dim);
      write(stdout, "");
    }
    await writeTable(stdout, rateColumns, rateRows(stdout, inForce));
    if (stdout.rich && previous !== undefined) {
      write(stdout, "");
      writeText(
        stdout,
        `Change: against table ${previous.number} of ${previous.effectiveDate}`,
        stdout.paint.dim,
      );
    }
  });

  asking(
    command(rates, "history", "show one currency's rates, table by table", [
      "fx rates history USD --days 30",
    ]),
    needs,
  )
    .argument("<currency>", "such as USD")
    .option("--days <number>", "how many days back, up to 3660", wholeArgument(1, 3660), 90)
    .action(async (argument: string, options: CommandOptions & { readonly days: number }) => {
      const currency = parseCurrencyCode(argument);
      const service = await context.service(options, needs);
      const history = await service.rateHistory(currency, options.days);
      if (options.json) {
        const { encodeRateHistory } = await import("../../wire/codecs.ts");
        return context.document(encodeRateHistory(currency, history));
      }
      const columns = [
        { title: "Effective" },
        { title: "Bid", align: "right" },
        { title: "Ask", align: "right" },
        { title: "Table", optional: true },
      ] as const;
      const rows = history.map(({ effectiveDate, bid, ask, table }) => [
        effectiveDate,
        rateText(stdout, bid),
        rateText(stdout, ask),
        table,
      ]);
      await writeTable(stdout, columns, rows);
    });
}
