import type { FxCommand } from "../command.ts";
import type { Context } from "../context.ts";
import { type TermsOptions, termsOf, withTermsOptions } from "./quote.ts";
import { type SettleOptions, settleAccount } from "./settle.ts";

interface ExchangeOptions extends TermsOptions, SettleOptions {
  readonly table?: string;
}

export function defineExchange(program: FxCommand, context: Context): void {
  const exchange = program
    .add("exchange", "Exchange money on an account; at a terminal, ask first", [
      "fx exchange 44051401359 --from PLN --to USD --to-buy 100",
      "fx exchange 44051401359 --from USD --to PLN --to-sell 50 --yes --json",
      "fx exchange - --from PLN --to EUR --to-sell 1000 --yes < pesel.txt",
    ])
    .pesel();
  withTermsOptions(exchange)
    .option(
      "--table <table>",
      "refuse the order unless this rate table is in force: its id, or its number, which a correction has, too",
    )
    .settles()
    .action((argument: string, options: ExchangeOptions) =>
      settleAccount(context, argument, options, (ids) => ({
        kind: "exchange",
        ...termsOf(options),
        table: options.table,
        ...ids,
      })),
    );
}
