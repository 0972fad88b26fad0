import { cyan, magenta, plot } from "asciichart";
import { type CurrencyCode, parseCurrencyCode } from "../../../core/currency.ts";
import { formatDecimal } from "../../../core/decimal.ts";
import type { LatestTable, RateOfTable } from "../../../core/rates.ts";
import { type FxCommand, wholeArgument } from "../../command.ts";
import type { CommandOptions, Context } from "../../context.ts";
import { tellWarning } from "../../errors.ts";
import { changeText, tableLine } from "../../terminal/figures.ts";
import { type Column, fold, proseText, rateText, writeSections, writeTable } from "../../terminal/output.ts";
import { type Screen, write } from "../../terminal/terminal.ts";
import { boardText, readBoard } from "./board.ts";

interface HistoryOptions extends CommandOptions {
  readonly days: number;
}

export function defineRates(program: FxCommand, context: Context): void {
  const rates = program.add("rates", "Show the bank's rates", [
    "fx rates",
    "fx rates --json",
    "fx rates history USD",
  ]);
  rates
    .addShow("Show the rate table in force", ["fx rates show", "fx rates --json"])
    .target({ rates: true })
    .action((options: CommandOptions) => showRates(context, options));
  rates
    .add("history", "Show a currency's rates: a chart, or in a pipe one rate table a line", [
      "fx rates history USD --days 30",
      "fx rates history EUR --days 365 | cut -f 1,3",
    ])
    .target({ rates: true })
    .argument("<currency>", "currency, such as USD", parseCurrencyCode)
    .option("--days <number>", "number of days, up to 3660", wholeArgument(1, 3660), 90)
    .action((currency: CurrencyCode, options: HistoryOptions) => showHistory(context, currency, options));
}

async function showRates(context: Context, { json }: CommandOptions): Promise<void> {
  const { stdout } = context.terminal;
  const service = await context.service();
  if (json) {
    const { rates } = await import("../../../wire/rates.ts");
    return context.document(rates.encode(await service.rates()));
  }
  const board = await readBoard(service, stdout);
  const meaning = "PLN for one unit: the bank buys at bid and sells at ask";
  const head = proseText(stdout, tableLine(board.inForce)) + proseText(stdout, meaning, stdout.paint.dim);
  writeSections(stdout, stdout.rich ? head : "", boardText(stdout, board));
  warnIfNotTraded(context, board.inForce, false);
}

async function showHistory(
  context: Context,
  currency: CurrencyCode,
  { days, json = false }: HistoryOptions,
): Promise<void> {
  const { stdout } = context.terminal;
  const service = await context.service();
  const [history, inForce] = await Promise.all([service.rateHistory(currency, days), service.rates()]);
  warnIfNotTraded(context, inForce, json);
  if (json) {
    const { rateHistory } = await import("../../../wire/rates.ts");
    return context.document(rateHistory.encode({ currency, rates: history }));
  }
  const [first, last] = [history[0], history.at(-1)];
  if (stdout.rich && stdout.unicode && first !== undefined && last !== undefined && first !== last) {
    writeChart(stdout, currency, history, { from: first.effectiveDate, to: last.effectiveDate });
    return writeTable(stdout, summaryColumns(history), sidesOf(stdout, history));
  }
  writeTable(stdout, historyColumns, history);
}

function warnIfNotTraded({ terminal }: Context, { notTraded }: LatestTable, json: boolean): void {
  if (notTraded === undefined) return;
  tellWarning(terminal, `No order is settled at this table. ${notTraded.reason}`, json);
}

const historyColumns: readonly Column<RateOfTable>[] = [
  { title: "Effective", cell: ({ effectiveDate }) => effectiveDate },
  { title: "Bid", align: "right", cell: ({ bid }, screen) => rateText(screen, bid) },
  { title: "Ask", align: "right", cell: ({ ask }, screen) => rateText(screen, ask) },
  { title: "Table", optional: true, cell: ({ number }) => number },
];

/** One line of the chart: its rates, and their values for drawing, which are not exact. */
interface Side {
  readonly side: "ask" | "bid";
  readonly paint: (text: string) => string;
  /** The rate of several that the chart shows in one column: the highest ask, the lowest bid. */
  readonly outermost: (...rates: readonly number[]) => number;
  readonly texts: readonly string[];
  readonly values: readonly number[];
}

function sidesOf(screen: Screen, history: readonly RateOfTable[]): readonly Side[] {
  const side = (name: Side["side"], paint: Side["paint"], outermost: Side["outermost"]) => ({
    side: name,
    paint,
    outermost,
    texts: history.map((rates) => rateText(screen, rates[name])),
    values: history.map((rates) => Number(formatDecimal(rates[name]))),
  });
  return [side("ask", screen.paint.magenta, Math.max), side("bid", screen.paint.cyan, Math.min)];
}

/** The lines around the chart, with the prompt after them. */
const linesAround = 11;
/** In columns. A narrower terminal shows the summary alone. */
const narrowestChart = 10;

function writeChart(
  stdout: Screen,
  currency: CurrencyCode,
  history: readonly RateOfTable[],
  { from, to }: { readonly from: string; readonly to: string },
): void {
  const { paint, rows } = stdout;
  const sides = sidesOf(stdout, history);
  const texts = sides.flatMap((side) => side.texts);
  const decimals = Math.max(...texts.map((text) => text.length - text.indexOf(".") - 1));
  const indent = Math.max(...texts.map(({ length }) => length));
  const span = Math.min(stdout.columns, 100) - indent - 2;
  if (span < narrowestChart) return;
  // A rate holds until the next table. Where several tables share a column, it has the outermost of their rates.
  const startOf = (x: number) => Math.floor((x / span) * (history.length - 1));
  const columnsOf = ({ values, outermost }: Side) =>
    Array.from({ length: span + 1 }, (_, x) =>
      outermost(...values.slice(startOf(x), Math.max(startOf(x) + 1, startOf(x + 1)))),
    );
  const all = sides.flatMap(({ values }) => values);
  const chart = plot(sides.map(columnsOf), {
    min: Math.min(...all),
    max: Math.max(...all),
    height: Math.min(15, Math.max(4, rows - linesAround)),
    format: (value) => value.toFixed(decimals).padStart(indent),
    colors: paint.level > 0 ? [magenta, cyan] : [],
  });
  const title = `PLN for 1 ${currency}, in ${history.length} tables: ${paint.magenta("ask")} above, ${paint.cyan("bid")} below`;
  write(stdout, fold(title, stdout.columns).join("\n"));
  write(stdout, chart.replace(/ +$/gm, ""));
  const left = " ".repeat(indent + 1);
  write(stdout, `${left}└${"─".repeat(span)}`);
  write(stdout, `${paint.dim(`${left} ${from}${to.padStart(span - from.length)}`)}\n`);
}

function summaryColumns(history: readonly RateOfTable[]): readonly Column<Side>[] {
  const lowest = ({ values }: Side) => values.indexOf(Math.min(...values));
  const highest = ({ values }: Side) => values.indexOf(Math.max(...values));
  const rate = (side: Side, index: number) => side.texts.at(index) ?? "";
  const day = (index: number) => history[index]?.effectiveDate ?? "";
  const change = ({ values }: Side, screen: Screen) => changeText(screen, values[0] ?? 0, values.at(-1) ?? 0);
  return [
    { title: "", cell: ({ side, paint }) => ({ text: side, paint }) },
    { title: "Latest", align: "right", cell: (side) => rate(side, -1) },
    { title: "Change", align: "right", optional: true, cell: change },
    { title: "Lowest", align: "right", cell: (side) => rate(side, lowest(side)) },
    { title: "on", optional: true, cell: (side) => day(lowest(side)) },
    { title: "Highest", align: "right", cell: (side) => rate(side, highest(side)) },
    { title: "on", optional: true, cell: (side) => day(highest(side)) },
  ];
}
