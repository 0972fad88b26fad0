import type { Command } from "commander";
import type { CommandOptions, Context } from "../context.ts";
import { command, serviceCommand } from "../options.ts";
import { receiptPairs } from "../terminal/figures.ts";
import { writeRecord } from "../terminal/output.ts";

const needs = { rates: false, access: "read" } as const;

export function defineReceipt(program: Command, context: Context): void {
  const { stdout } = context.terminal;
  serviceCommand(
    command(program, "receipt", "show one exchange or opening", [
      "fx receipt 019e9a70-3c5e-7000-8000-5d1f0c2b7a11 --json",
    ]),
    needs,
  )
    .argument(
      "<id>",
      "as fx exchange prints it, or fx account history in a pipe or with --json; or the value of the header Fx-Receipt",
    )
    .action(async (argument: string, options: CommandOptions) => {
      const service = await context.service(options, needs);
      const entry = await service.receipt(receiptId(argument));
      if (!options.json) return writeRecord(stdout, receiptPairs(stdout, entry));
      const { encodeEntry } = await import("../../wire/codecs.ts");
      context.document(encodeEntry(entry));
    });
}

/** Of an id, or of a path or URL that ends with one, such as the header Fx-Receipt. */
function receiptId(text: string): string {
  return text.trim().replace(/^.*\/api\/receipts\//, "");
}
