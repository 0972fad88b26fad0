import { type Change, type GivenChange, parseChange } from "../../../core/change.ts";
import { warsawDate } from "../../../core/date.ts";
import type { FxCommand } from "../../command.ts";
import type { Context } from "../../context.ts";
import { type SettleOptions, settleAccount } from "../settle.ts";

export function defineAccountChanges(account: FxCommand, context: Context): void {
  const add = (name: string, description: string, examples: readonly string[], rates = false) =>
    account
      .add(name, `${description}; at a terminal, ask first`, examples)
      .target({ rates })
      .pesel()
      .settles();

  const change = (kind: Change["kind"]) => (argument: string, options: SettleOptions) =>
    settleAccount(context, argument, options, (ids) =>
      parseChange({ ...options, ...ids, kind } as GivenChange, warsawDate(new Date())),
    );

  const deposits = [
    "fx account deposit 44051401359 --amount 100 --currency PLN",
    'fx account deposit 44051401359 --amount 250.50 --currency EUR --note "from the old system, no. 17" --yes',
  ];
  add("deposit", "Put money into an account", deposits, true).cash().action(change("deposit"));
  add("withdraw", "Take money out of an account", [
    "fx account withdraw 44051401359 --amount 100 --currency PLN",
  ])
    .cash()
    .action(change("withdrawal"));

  add("rename", "Change the holder's name", ["fx account rename 44051401359 --name Maria --surname Nowak"])
    .requiredOption("--name <name>", "new first name")
    .requiredOption("--surname <surname>", "new surname")
    .action(change("renaming"));

  add("close", "Close an account whose balances are all 0", ["fx account close 44051401359"]).action(
    change("closing"),
  );

  for (const [kind, description, example] of blocks) {
    add(kind, description, [`fx account ${kind} 44051401359 --reason "${example}"`])
      .reason()
      .action(change(kind));
  }
}

const blocks = [
  ["block", "Block an account: nothing leaves it, and nothing is exchanged", "freeze ordered, ref. 12/2026"],
  ["unblock", "Lift the block of an account", "freeze lifted, ref. 15/2026"],
] as const;
