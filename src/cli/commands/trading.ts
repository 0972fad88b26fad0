import type { Command } from "commander";
import { parseReason } from "../../core/change.ts";
import type { TradingState } from "../../core/rates.ts";
import type { CommandOptions, Context } from "../context.ts";
import type { Needs } from "../open.ts";
import { command, serviceCommand, showCommand } from "../options.ts";
import { optional } from "../terminal/figures.ts";
import { timeText, writeRecord } from "../terminal/output.ts";

interface SuspendOptions extends CommandOptions {
  readonly reason: string;
}

const reads: Needs = { rates: true, access: "read" };
const writes: Needs = { rates: true, access: "write" };

export function defineTrading(program: Command, context: Context): void {
  const trading = command(program, "trading", "Show whether orders are settled, and stop or resume it", [
    "fx trading",
    'fx trading suspend --reason "The bank corrects its table"',
    "fx trading resume",
  ]);
  const examples = ["fx trading show", "fx trading --json"];
  showCommand(trading, "Show whether orders are settled now", examples, (show) =>
    serviceCommand(show, reads).action(async (options: CommandOptions) => {
      const service = await context.service(options, reads);
      await tell(context, options, await service.rates());
    }),
  );

  serviceCommand(
    command(trading, "suspend", "Refuse all orders, on every server of the ledger; everything else goes on", [
      'fx trading suspend --reason "The bank corrects its table"',
    ]),
    writes,
  )
    .requiredOption("--reason <text>", "why, up to 200 characters; who can reach the server can read it")
    .action(async (options: SuspendOptions) => {
      const reason = parseReason(options.reason);
      const service = await context.service(options, writes);
      await tell(context, options, await service.changeTrading({ reason, by: undefined }));
    });

  serviceCommand(command(trading, "resume", "Settle orders again", ["fx trading resume"]), writes).action(
    async (options: CommandOptions) => {
      const service = await context.service(options, writes);
      await tell(context, options, await service.changeTrading({ reason: undefined, by: undefined }));
    },
  );
}

async function tell(context: Context, { json }: CommandOptions, state: TradingState): Promise<void> {
  if (json) {
    const { trading } = await import("../../wire/rates.ts");
    return context.document(trading.encode(state));
  }
  const { stdout } = context.terminal;
  const { notTraded, suspension } = state;
  if (suspension === undefined) {
    const shown = notTraded === undefined ? "orders are settled" : `no order is settled. ${notTraded}`;
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
