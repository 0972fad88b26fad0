import type { Command } from "commander";
import type { Money } from "../../core/money.ts";
import type { CommandOptions, Context } from "../context.ts";
import { command, serviceCommand, withAtOption } from "../options.ts";
import { amountText, moneyText, writeRecord, writeTable } from "../terminal/output.ts";
import { write } from "../terminal/terminal.ts";

const needs = { rates: false, access: "read" } as const;

export function definePosition(program: Command, context: Context): void {
  const { stdout } = context.terminal;
  withAtOption(
    serviceCommand(
      command(program, "position", "show what customers hold and where the house stands", [
        "fx position",
        "fx position --at 2026-06-30T23:59:59+02:00",
      ]),
      needs,
    ),
  ).action(async ({ at, ...options }: CommandOptions & { readonly at?: Date }) => {
    const service = await context.service(options, needs);
    const position = await service.position(at);
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
