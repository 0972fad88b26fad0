import type { Account } from "../../core/account.ts";
import { type Change, type Plan, planChange } from "../../core/change.ts";
import { pln } from "../../core/currency.ts";
import { FxError } from "../../core/errors.ts";
import type { Receipt } from "../../core/journal.ts";
import type { RateTable } from "../../core/rates.ts";
import type { ExchangeService } from "../../core/service.ts";
import type { CommandOptions, Context } from "../context.ts";
import { accountState, factPairs, holderPairs, receiptPairs } from "../terminal/figures.ts";
import { writeRecord } from "../terminal/output.ts";
import type { Screen } from "../terminal/terminal.ts";
import { type Intent, writeBalances, writeGap } from "./settle.ts";

const questions: Readonly<Record<Change["kind"], string>> = {
  deposit: "Deposit?",
  withdrawal: "Withdraw?",
  reversal: "Reverse it?",
  renaming: "Change the name?",
  closing: "Close the account?",
};

/**
 * A change as a command's order. What it comes to is decided here as the ledger would, on the account as it is now.
 * @param undone by a reversal
 */
export function changeOrder(
  context: Context,
  options: CommandOptions,
  service: ExchangeService,
  change: Change,
  undone?: Receipt,
): Intent<void> {
  const { stdout, stderr } = context.terminal;
  const plan = async (account: Account) => {
    const table = await tableFor(service, change);
    const entry = () => undone && { entry: undone, reversedBy: undone.reversedBy };
    return planChange(account, change, { table, entry });
  };
  return {
    request: change,
    question: questions[change.kind],
    tell: async () => {
      const account = await service.account(change.pesel);
      const planned = await plan(account);
      if (!options.json) return writePlan(stdout, change, account, planned, undone);
      const { encodeListedAccount } = await import("../../wire/codecs.ts");
      context.document(encodeListedAccount(planned.account));
    },
    show: async () => {
      const account = await service.account(change.pesel);
      await writePlan(stderr, change, account, await plan(account), undone);
    },
    send: () => service.change(change),
  };
}

/** The table in force, which only a deposit of another currency than PLN needs. */
async function tableFor(service: ExchangeService, change: Change): Promise<() => RateTable> {
  if (change.kind !== "deposit" || change.currency === pln) return unneeded;
  const [rates] = await Promise.allSettled([service.rates()]);
  // Thrown where it is asked for, because the account may be refused before.
  return () => {
    if (rates.status === "rejected") throw rates.reason;
    const { table, notTraded } = rates.value;
    if (notTraded !== undefined) throw new FxError("rates-unavailable", notTraded);
    return table;
  };
}

function unneeded(): never {
  throw new Error("this change is decided without a rate table");
}

async function writePlan(
  screen: Screen,
  { kind }: Change,
  account: Account,
  plan: Plan,
  undone: Receipt | undefined,
): Promise<void> {
  if (undone !== undefined) {
    writeRecord(screen, receiptPairs(screen, undone));
    writeGap(screen);
  }
  const facts =
    kind === "closing"
      ? accountState(screen, plan.account)
      : factPairs(screen, { kind, ...plan, reverses: undefined });
  // A receipt has the PESEL already.
  const holder = holderPairs(account).slice(0, undone === undefined ? 2 : 1);
  writeRecord(screen, [...holder, ...facts]);
  await writeBalances(screen, account, plan.account);
}
