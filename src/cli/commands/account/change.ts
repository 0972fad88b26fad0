import type { Command } from "commander";
import { parseHolder } from "../../../core/account.ts";
import { type Cash, parseCash } from "../../../core/change.ts";
import { pln } from "../../../core/currency.ts";
import type { Decimal } from "../../../core/decimal.ts";
import type { Context } from "../../context.ts";
import { amountArgument, command, peselArgument, serviceCommand } from "../../options.ts";
import { changeOrder } from "../change.ts";
import { type SettleOptions, settle, withSettleOptions } from "../settle.ts";

interface CashOptions extends SettleOptions {
  readonly amount: Decimal;
  readonly currency: string;
  readonly note?: string;
}

interface RenameOptions extends SettleOptions {
  readonly name: string;
  readonly surname: string;
}

/** The commands that change an account, and do not exchange. */
export function defineAccountChanges(account: Command, context: Context): void {
  const subcommand = (name: string, about: string, examples: readonly string[], rates = false) =>
    withSettleOptions(
      serviceCommand(command(account, name, about, examples), { rates }).addArgument(peselArgument()),
      "only show what it would come to, change nothing",
    );

  const cash = (kind: Cash["kind"], command: Command) =>
    command
      .requiredOption("--amount <amount>", "how much", amountArgument)
      .requiredOption("--currency <currency>", "such as PLN")
      .option("--note <text>", "kept with the entry: up to 200 characters")
      .action((argument: string, options: CashOptions) =>
        settle(context, options, async (key) => {
          const { amount, currency, note } = options;
          const pesel = await context.pesel(argument);
          const change = parseCash({ kind, pesel, amount, currency, note, key }, await context.today());
          return {
            rates: kind === "deposit" && change.currency !== pln,
            order: (service) => changeOrder(context, options, service, change),
          };
        }),
      );

  cash(
    "deposit",
    subcommand(
      "deposit",
      "put money into an account; at a terminal, after a question",
      [
        "fx account deposit 44051401359 --amount 100 --currency PLN",
        'fx account deposit 44051401359 --amount 250.50 --currency EUR --note "from the old system, no. 17" --yes',
      ],
      true,
    ),
  );

  cash(
    "withdrawal",
    subcommand("withdraw", "take money out of an account; at a terminal, after a question", [
      "fx account withdraw 44051401359 --amount 100 --currency PLN",
    ]),
  );

  subcommand("rename", "change the holder's name; at a terminal, after a question", [
    "fx account rename 44051401359 --name Maria --surname Nowak",
  ])
    .requiredOption("--name <name>", "first name from now on")
    .requiredOption("--surname <surname>", "surname from now on")
    .action((argument: string, options: RenameOptions) =>
      settle(context, options, async (key) => {
        const pesel = await context.pesel(argument);
        const change = { kind: "renaming", ...parseHolder(options), pesel, key } as const;
        return { rates: false, order: (service) => changeOrder(context, options, service, change) };
      }),
    );

  subcommand("close", "close an account whose balances are all 0; at a terminal, after a question", [
    "fx account close 44051401359",
  ]).action((argument: string, options: SettleOptions) =>
    settle(context, options, async (key) => {
      const change = { kind: "closing", pesel: await context.pesel(argument), key } as const;
      return { rates: false, order: (service) => changeOrder(context, options, service, change) };
    }),
  );
}
