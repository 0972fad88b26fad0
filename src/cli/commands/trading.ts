import type { TradingState } from "../../core/rates.ts";
import type { FxCommand } from "../command.ts";
import type { CommandOptions, Context } from "../context.ts";
import { optional } from "../terminal/figures.ts";
import { timeText, writeRecord } from "../terminal/output.ts";

interface SuspendOptions extends CommandOptions {
  readonly reason: string;
}

export function defineTrading(program: FxCommand, context: Context): void {
  const trading = program.add("trading", "Show whether orders are settled, and stop or resume it", [
    "fx trading",
    'fx trading suspend --reason "The bank corrects its table"',
    "fx trading resume",
  ]);
  trading
    .addShow("Show whether orders are settled now", ["fx trading show", "fx trading --json"])
    .target({ rates: true })
    .action(async (options: CommandOptions) => {
      await tell(context, options, await (await context.service()).rates());
    });

  const change = async (options: CommandOptions, reason: string | undefined) => {
    context.beginChange();
    // A table that is to be stopped must not come into force first.
    const service = await context.service({ access: "write", ratesRole: "first" });
    const changed = context.sending.send(undefined, () => service.changeTrading({ reason, by: undefined }));
    await tell(context, options, await changed);
  };
  trading
    .add("suspend", "Refuse all orders, on every server of the ledger; everything else goes on", [
      'fx trading suspend --reason "The bank corrects its table"',
    ])
    .target({ rates: true })
    .reason("reason, up to 200 characters; everyone who can reach the server can read it")
    .action((options: SuspendOptions) => change(options, options.reason));
  trading
    .add("resume", "Settle orders again", ["fx trading resume"])
    .target({ rates: true })
    .action((options: CommandOptions) => change(options, undefined));
}

async function tell(context: Context, { json }: CommandOptions, state: TradingState): Promise<void> {
  if (json) return context.document((await import("../../wire/rates.ts")).trading.encode(state));
  const { stdout } = context.terminal;
  const { notTraded, suspension } = state;
  if (suspension === undefined) {
    const shown = notTraded === undefined ? "orders are settled" : `no order is settled. ${notTraded.reason}`;
    return writeRecord(stdout, [["trading", shown]]);
  }
  const { reason, by, since } = suspension;
  writeRecord(stdout, [
    ["trading", "suspended"],
    ["reason", reason],
    ["since", timeText(stdout, since)],
    ...optional("by", by),
  ]);
}
