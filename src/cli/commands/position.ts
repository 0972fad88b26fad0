import type { FxCommand } from "../command.ts";
import type { Context } from "../context.ts";
import { amountsText, moneyText, recordText, writeSections } from "../terminal/output.ts";
import type { AtOptions } from "./account.ts";

export function definePosition(program: FxCommand, context: Context): void {
  program
    .add("position", "Show what customers hold, the house's position, its money and the spread earned", [
      "fx position",
      "fx position --at 2026-06-30",
    ])
    .target()
    .at()
    .action(async ({ at, json }: AtOptions) => {
      const { stdout } = context.terminal;
      const position = await (await context.service()).position(at);
      if (json) return context.document((await import("../../wire/ledger.ts")).position.encode(position));
      const rows = position.currencies.map(
        ({ currency, customers, house, cash, bank }) => [currency, customers, house, cash, bank] as const,
      );
      const titles = ["Currency", "Customers", "House", "In the drawer", "At the bank"];
      const spread = recordText(stdout, [["spread earned", moneyText(stdout, position.spreadEarned)]]);
      writeSections(stdout, amountsText(stdout, titles, rows), spread);
    });
}
