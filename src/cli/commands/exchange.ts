import type { Command } from "commander";
import { credit, debit } from "../../core/account.ts";
import { FxError } from "../../core/errors.ts";
import type { Context } from "../context.ts";
import { RequestFailed } from "../errors.ts";
import { command, peselArgument } from "../options.ts";
import { holderPairs, quotePairs } from "../terminal/figures.ts";
import { writeRecord } from "../terminal/output.ts";
import { type TermsOptions, tellQuote, termsOf, withTermsOptions } from "./quote.ts";
import { type SettleOptions, settle, withSettleOptions, writeBalances } from "./settle.ts";

interface ExchangeOptions extends TermsOptions, SettleOptions {
  readonly table?: string;
}

export function defineExchange(program: Command, context: Context): void {
  const { stderr } = context.terminal;
  withSettleOptions(
    withTermsOptions(
      command(
        program,
        "exchange",
        "exchange money on an account; at a terminal, after a quote and a question",
        [
          "fx exchange 44051401359 --from PLN --to USD --to-buy 100",
          "fx exchange 44051401359 --from USD --to PLN --to-sell 50 --yes --json",
          "fx exchange - --from PLN --to EUR --to-sell 1000 --yes < pesel.txt",
        ],
      ).addArgument(peselArgument()),
    ).option("--table <number>", "only if this rate table is in force, such as 108/C/NBP/2026; or its id"),
    "only show the quote, move nothing",
  ).action((argument: string, options: ExchangeOptions) =>
    settle<string>(context, options, async (key) => {
      const pesel = await context.pesel(argument);
      const terms = termsOf(options);
      const { table } = options;
      return {
        rates: true,
        order: (service) => ({
          request: { kind: "exchange", ...terms, pesel, key, table },
          question: "Exchange?",
          tell: async () => tellQuote(context, options, await service.quote(terms)),
          show: async () => {
            const [quote, account] = await Promise.all([service.quote(terms), service.account(pesel)]);
            writeRecord(stderr, [...holderPairs(account), ...quotePairs(stderr, quote)]);
            await writeBalances(
              stderr,
              account,
              credit(debit(account, quote.sold, quote.side === "toSell"), quote.bought),
            );
            return quote.tableId;
          },
          send: (shown) => service.exchange({ ...terms, pesel, key, table: table ?? shown }),
          changed: (refusal) =>
            table === undefined && isRateChange(refusal)
              ? "The rates have changed, and nothing was exchanged. The new quote:"
              : undefined,
        }),
      };
    }),
  );
}

function isRateChange(error: unknown): boolean {
  return (
    error instanceof RequestFailed && error.cause instanceof FxError && error.cause.code === "rate-changed"
  );
}
