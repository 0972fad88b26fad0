import { Option } from "commander";
import type { Decimal } from "../../core/decimal.ts";
import { type ExchangeTerms, parseTerms } from "../../core/exchange.ts";
import { amountArgument, type FxCommand } from "../command.ts";
import type { CommandOptions, Context } from "../context.ts";
import { UsageError } from "../errors.ts";
import { quotePairs } from "../terminal/figures.ts";
import { writeRecord } from "../terminal/output.ts";

export interface TermsOptions extends CommandOptions {
  readonly from: string;
  readonly to: string;
  readonly toBuy?: Decimal;
  readonly toSell?: Decimal;
}

export function defineQuote(program: FxCommand, context: Context): void {
  const quote = program.add("quote", "Show a quote at the current rates", [
    "fx quote --from PLN --to USD --to-buy 100",
    "fx quote --from EUR --to CHF --to-sell 250 --json",
  ]);
  withTermsOptions(quote).action(async (options: TermsOptions) => {
    const terms = termsOf(options);
    const quote = await (await context.service()).quote(terms);
    const { stdout } = context.terminal;
    if (!options.json) return writeRecord(stdout, quotePairs(stdout, quote));
    const { quote: shape } = await import("../../wire/exchanges.ts");
    context.document(shape.encode(quote));
  });
}

export function withTermsOptions(command: FxCommand): FxCommand {
  return command
    .target({ rates: true })
    .requiredOption("--from <currency>", "currency to sell, such as PLN")
    .requiredOption("--to <currency>", "currency to buy, such as USD")
    .addOption(
      new Option("--to-buy <amount>", "buy exactly this amount; one of --to-buy and --to-sell is required")
        .argParser(amountArgument)
        .conflicts("toSell"),
    )
    .option("--to-sell <amount>", "sell exactly this amount", amountArgument);
}

export function termsOf({ from, to, toBuy, toSell }: TermsOptions): ExchangeTerms {
  if (toBuy === undefined && toSell === undefined)
    throw new UsageError("Give --to-buy or --to-sell with an amount.");
  return parseTerms({ from, to, toBuy, toSell });
}
