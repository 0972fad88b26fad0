import type { Command } from "commander";
import { parseHolder } from "../../../core/account.ts";
import { type Block, type Cash, parseCash, parseReason } from "../../../core/change.ts";
import { pln } from "../../../core/currency.ts";
import { warsawDate } from "../../../core/date.ts";
import type { Context } from "../../context.ts";
import { command, peselArgument, serviceCommand, withCashOptions, withReasonOption } from "../../options.ts";
import {
  type CashOptions,
  type ReasonOptions,
  type SettleOptions,
  settle,
  withSettleOptions,
} from "../settle.ts";

interface RenameOptions extends SettleOptions {
  readonly name: string;
  readonly surname: string;
}

/** Defines the commands that change an account otherwise than by an exchange. */
export function defineAccountChanges(account: Command, context: Context): void {
  const subcommand = (name: string, description: string, examples: readonly string[], rates = false) =>
    withSettleOptions(
      serviceCommand(command(account, name, `${description}; at a terminal, ask first`, examples), {
        rates,
      }).addArgument(peselArgument()),
    );

  defineCash(
    context,
    "deposit",
    subcommand(
      "deposit",
      "Put money into an account",
      [
        "fx account deposit 44051401359 --amount 100 --currency PLN",
        'fx account deposit 44051401359 --amount 250.50 --currency EUR --note "from the old system, no. 17" --yes',
      ],
      true,
    ),
  );

  defineCash(
    context,
    "withdrawal",
    subcommand("withdraw", "Take money out of an account", [
      "fx account withdraw 44051401359 --amount 100 --currency PLN",
    ]),
  );

  subcommand("rename", "Change the holder's name", [
    "fx account rename 44051401359 --name Maria --surname Nowak",
  ])
    .requiredOption("--name <name>", "new first name")
    .requiredOption("--surname <surname>", "new surname")
    .action((argument: string, options: RenameOptions) =>
      settle(context, options, async (key) => {
        const pesel = await context.questions.pesel(argument);
        return { request: { kind: "renaming", ...parseHolder(options), pesel, key } };
      }),
    );

  subcommand("close", "Close an account whose balances are all 0", ["fx account close 44051401359"]).action(
    (argument: string, options: SettleOptions) =>
      settle(context, options, async (key) => ({
        request: { kind: "closing", pesel: await context.questions.pesel(argument), key },
      })),
  );

  for (const [kind, description, reason] of blocks) {
    const examples = [`fx account ${kind} 44051401359 --reason "${reason}"`];
    defineBlock(context, kind, subcommand(kind, description, examples));
  }
}

const blocks = [
  ["block", "Block an account: nothing leaves it, and nothing is exchanged", "freeze ordered, ref. 12/2026"],
  ["unblock", "Lift the block of an account", "freeze lifted, ref. 15/2026"],
] as const;

function defineBlock(context: Context, kind: Block["kind"], command: Command): void {
  withReasonOption(command).action((argument: string, options: ReasonOptions) =>
    settle(context, options, async (key) => {
      const reason = parseReason(options.reason);
      return { request: { kind, pesel: await context.questions.pesel(argument), reason, key } };
    }),
  );
}

function defineCash(context: Context, kind: Cash["kind"], command: Command): void {
  withCashOptions(command).action((argument: string, options: CashOptions) =>
    settle(context, options, async (key) => {
      const { amount, currency, note } = options;
      const pesel = await context.questions.pesel(argument);
      const request = parseCash({ kind, pesel, amount, currency, note, key }, warsawDate(new Date()));
      return { rates: kind === "deposit" && request.currency !== pln, request };
    }),
  );
}
