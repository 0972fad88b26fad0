import type { Command } from "commander";
import type { CommandOptions, Context } from "../context.ts";
import { command, serviceCommand, withAtOption } from "../options.ts";
import { amountText, moneyText, writeRecord, writeTable } from "../terminal/output.ts";
import { write } from "../terminal/terminal.ts";

const needs = { rates: false, access: "read" } as const;

const columns = [
  { title: "Currency" },
  { title: "Customers", align: "right" },
  { title: "House", align: "right" },
  { title: "In the drawer", align: "right" },
  { title: "At the bank", align: "right" },
] as const;

export function definePosition(program: Command, context: Context): void {
  withAtOption(
    serviceCommand(
      command(
        program,
        "position",
        "Show what customers hold, the house's position, its money and the spread earned",
        ["fx position", "fx position --at 2026-06-30"],
      ),
      needs,
    ),
  ).action(async ({ at, ...options }: CommandOptions & { readonly at?: Date }) => {
    const { stdout } = context.terminal;
    const service = await context.service(options, needs);
    const position = await service.position(at);
    if (options.json) {
      const { position: shape } = await import("../../wire/ledger.ts");
      return context.document(shape.encode(position));
    }
    const rows = position.currencies.map(({ currency, customers, house, cash, bank }) => [
      currency,
      ...[customers, house, cash, bank].map((minor) => amountText(stdout, { currency, minor })),
    ]);
    await writeTable(stdout, columns, rows);
    if (stdout.rich) write(stdout, "");
    writeRecord(stdout, [["spread earned", moneyText(stdout, position.spreadEarned)]]);
  });
}
