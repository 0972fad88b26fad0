import type { Command } from "commander";
import { type CurrencyCode, parseCurrencyCode } from "../../../core/currency.ts";
import { type Decimal, formatDecimal } from "../../../core/decimal.ts";
import type { LatestTable, RateOfTable } from "../../../core/rates.ts";
import type { CommandOptions, Context } from "../../context.ts";
import { tellWarning } from "../../errors.ts";
import { command, serviceCommand, wholeArgument } from "../../options.ts";
import { changeText, tableText } from "../../terminal/figures.ts";
import { fold, rateText, writeTable, writeText } from "../../terminal/output.ts";
import { type Screen, write } from "../../terminal/terminal.ts";
import { readBoard, writeBoard } from "./board.ts";
import { plot } from "./chart.ts";

const needs = { rates: true, access: "read" } as const;

export function defineRates(program: Command, context: Context): void {
  const rates = program
    .command("rates")
    .description("show the bank's rates")
    .addHelpText("after", "\nExamples:\n  $ fx rates\n  $ fx rates history USD --days 90");
  const { stdout, stderr } = context.terminal;
  const warnIfNotTraded = ({ notTraded }: LatestTable, json: boolean): void => {
    if (notTraded !== undefined) tellWarning(stderr, `No order is settled at this table. ${notTraded}`, json);
  };

  serviceCommand(
    command(
      rates,
      "show",
      "show the rate table in force, or the last one (the same as fx rates)",
      ["fx rates show", "fx rates --json"],
      { isDefault: true },
    ),
    needs,
  ).action(async (options: CommandOptions) => {
    const service = await context.service(options, needs);
    if (options.json) {
      const { encodeRates } = await import("../../../wire/codecs.ts");
      return context.document(encodeRates(await service.rates()));
    }
    const board = await readBoard(service, stdout);
    if (stdout.rich) {
      writeText(stdout, tableText(board.inForce));
      writeText(stdout, "PLN for one unit: the bank buys at bid and sells at ask", stdout.paint.dim);
      write(stdout, "");
    }
    await writeBoard(stdout, board);
    warnIfNotTraded(board.inForce, false);
  });

  serviceCommand(
    command(rates, "history", "show one currency's rates: a chart, and in a pipe table by table", [
      "fx rates history USD --days 30",
      "fx rates history EUR --days 365 | cut -f 1,3",
    ]),
    needs,
  )
    .argument("<currency>", "such as USD")
    .option("--days <number>", "how many days back, up to 3660", wholeArgument(1, 3660), 90)
    .action(async (argument: string, options: CommandOptions & { readonly days: number }) => {
      const currency = parseCurrencyCode(argument);
      const service = await context.service(options, needs);
      const [history, inForce] = await Promise.all([
        service.rateHistory(currency, options.days),
        service.rates(),
      ]);
      warnIfNotTraded(inForce, options.json === true);
      if (options.json) {
        const { encodeRateHistory } = await import("../../../wire/codecs.ts");
        return context.document(encodeRateHistory(currency, history));
      }
      if (stdout.rich && stdout.unicode && history.length > 1) return writeChart(stdout, currency, history);
      const rows = history.map(({ number, effectiveDate, bid, ask }) => [
        effectiveDate,
        rateText(stdout, bid),
        rateText(stdout, ask),
        number,
      ]);
      await writeTable(stdout, historyColumns, rows);
    });
}

const historyColumns = [
  { title: "Effective" },
  { title: "Bid", align: "right" },
  { title: "Ask", align: "right" },
  { title: "Table", optional: true },
] as const;

/** Lines under and over the chart, with the prompt after them. */
const besidesChart = 10;

async function writeChart(
  stdout: Screen,
  currency: CurrencyCode,
  history: readonly RateOfTable[],
): Promise<void> {
  const { paint, columns, rows } = stdout;
  const [first, last] = [history[0] as RateOfTable, history.at(-1) as RateOfTable];
  const sides = [
    { side: "ask", paint: paint.magenta, rates: history.map(({ ask }) => ask) },
    { side: "bid", paint: paint.cyan, rates: history.map(({ bid }) => bid) },
  ].map((line) => ({ ...line, values: line.rates.map((rate) => Number(formatDecimal(rate))) }));
  const places = Math.max(
    ...history
      .flatMap(({ bid, ask }) => [rateText(stdout, bid), rateText(stdout, ask)])
      .map((text) => text.length - text.indexOf(".") - 1),
  );
  const chart = plot(sides, {
    width: Math.min(columns, 100),
    height: Math.min(16, Math.max(5, rows - besidesChart)),
    label: (value) => value.toFixed(places),
  });
  const indent = (chart[0] ?? "").search(/[┤│]/);
  const span = Math.min(columns, 100) - indent - 1;
  const title = `PLN for 1 ${currency}, in ${history.length} tables: ${paint.magenta("ask")} above, ${paint.cyan("bid")} below`;
  write(stdout, fold(title, columns).join("\n"));
  write(stdout, chart.join("\n"));
  write(stdout, `${" ".repeat(indent)}└${"─".repeat(span)}`);
  const dates = `${first.effectiveDate}${last.effectiveDate.padStart(span - first.effectiveDate.length)}`;
  write(stdout, `${paint.dim(" ".repeat(indent + 1) + dates)}\n`);
  const summary = sides.map(({ side, paint: painted, rates, values }) => {
    const [low, high] = [values.indexOf(Math.min(...values)), values.indexOf(Math.max(...values))];
    const at = (index: number) => [
      rateText(stdout, rates[index] as Decimal),
      history[index]?.effectiveDate ?? "",
    ];
    const [latest = ""] = at(values.length - 1);
    return [
      { text: side, paint: painted },
      latest,
      changeText(stdout, values[0] ?? 0, values.at(-1) ?? 0),
      ...at(low),
      ...at(high),
    ];
  });
  await writeTable(stdout, summaryColumns, summary);
}

const summaryColumns = [
  { title: "" },
  { title: "Latest", align: "right" },
  { title: "Change", align: "right", optional: true },
  { title: "Lowest", align: "right" },
  { title: "on", optional: true },
  { title: "Highest", align: "right" },
  { title: "on", optional: true },
] as const;
