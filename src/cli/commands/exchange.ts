import type { Command } from "commander";
import type { Context } from "../context.ts";
import { command, peselArgument } from "../options.ts";
import { type TermsOptions, termsOf, withTermsOptions } from "./quote.ts";
import { type SettleOptions, settle, withSettleOptions } from "./settle.ts";

interface ExchangeOptions extends TermsOptions, SettleOptions {
  readonly table?: string;
}

export function defineExchange(program: Command, context: Context): void {
  const exchange = command(program, "exchange", "Exchange money on an account; at a terminal, ask first", [
    "fx exchange 44051401359 --from PLN --to USD --to-buy 100",
    "fx exchange 44051401359 --from USD --to PLN --to-sell 50 --yes --json",
    "fx exchange - --from PLN --to EUR --to-sell 1000 --yes < pesel.txt",
  ]).addArgument(peselArgument());
  withSettleOptions(
    withTermsOptions(exchange).option(
      "--table <number>",
      "refuse the order unless this rate table (number or id) is in force, such as 108/C/NBP/2026",
    ),
  ).action((argument: string, options: ExchangeOptions) =>
    settle(context, options, async (key) => {
      const pesel = await context.questions.pesel(argument);
      const request = { kind: "exchange", ...termsOf(options), pesel, key, table: options.table } as const;
      return { rates: true, request };
    }),
  );
}
