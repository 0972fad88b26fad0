import type { FxCommand } from "../command.ts";
import type { Context } from "../context.ts";
import { amountText, moneyText, numbers, writeRecord, writeTable } from "../terminal/output.ts";
import { writeGap } from "../terminal/terminal.ts";
import type { AtOptions } from "./account.ts";

const columns = [{ title: "Currency" }, ...numbers("Customers", "House", "In the drawer", "At the bank")];

export function definePosition(program: FxCommand, context: Context): void {
  program
    .add("position", "Show what customers hold, the house's position, its money and the spread earned", [
      "fx position",
      "fx position --at 2026-06-30",
    ])
    .target()
    .json()
    .at()
    .action(async ({ at, json }: AtOptions) => {
      const { stdout } = context.terminal;
      const position = await (await context.service()).position(at);
      if (json) return context.document((await import("../../wire/ledger.ts")).position.encode(position));
      const rows = position.currencies.map(({ currency, customers, house, cash, bank }) => [
        currency,
        ...[customers, house, cash, bank].map((minor) => amountText(stdout, { currency, minor })),
      ]);
      await writeTable(stdout, columns, rows);
      writeGap(stdout);
      writeRecord(stdout, [["spread earned", moneyText(stdout, position.spreadEarned)]]);
    });
}
