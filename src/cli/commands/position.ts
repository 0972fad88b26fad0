import type { Command } from "commander";
import type { Money } from "../../core/money.ts";
import type { CommandOptions, Context } from "../context.ts";
import { command, serviceCommand } from "../options.ts";
import { amountText, moneyText, writeRecord, writeTable } from "../terminal/output.ts";
import { write } from "../terminal/terminal.ts";

const needs = { rates: false, access: "read" } as const;

export function definePosition(program: Command, context: Context): void {
  const { stdout } = context.terminal;
  serviceCommand(
    command(program, "position", "show what customers hold and where the house stands", ["fx position"]),
    needs,
  ).action(async (options: CommandOptions) => {
    const service = await context.service(options, needs);
    const position = await service.position();
    if (options.json) {
      const { encodePosition } = await import("../../wire/codecs.ts");
      return context.document(encodePosition(position));
    }
    const columns = [
      { title: "Currency" },
      { title: "Customers", align: "right" },
      { title: "House", align: "right" },
    ] as const;
    const amount = (money: Money) => amountText(stdout, money);
    const rows = position.currencies.map(({ currency, customers, house }) => [
      currency,
      amount({ currency, minor: customers }),
      amount({ currency, minor: house }),
    ]);
    await writeTable(stdout, columns, rows);
    if (stdout.rich) write(stdout, "");
    writeRecord(stdout, [["spread earned", moneyText(stdout, position.spreadEarned)]]);
  });
}
