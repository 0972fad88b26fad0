import type { Command } from "commander";
import { parseReason } from "../../core/change.ts";
import { FxError } from "../../core/errors.ts";
import type { Receipt } from "../../core/journal.ts";
import type { ExchangeService } from "../../core/service.ts";
import type { CommandOptions, Context } from "../context.ts";
import { UsageError } from "../errors.ts";
import { command, serviceCommand } from "../options.ts";
import { receiptPairs } from "../terminal/figures.ts";
import { writeRecord } from "../terminal/output.ts";
import { changeOrder } from "./change.ts";
import { type SettleOptions, settle, withSettleOptions } from "./settle.ts";

interface ShowOptions extends CommandOptions {
  readonly pesel?: string;
  readonly key?: string;
}

interface ReverseOptions extends SettleOptions {
  readonly reason: string;
}

const needs = { rates: false, access: "read" } as const;
const idMeaning = "its id, or the first 8 characters of that or more, or the value of the header Fx-Receipt";

export function defineReceipt(program: Command, context: Context): void {
  const { stdout } = context.terminal;
  const receipt = program
    .command("receipt")
    .description("show receipts, and reverse what was done")
    .addHelpText(
      "after",
      '\nExamples:\n  $ fx receipt 019e9a70-3c5e\n  $ fx receipt reverse 019e9a70-3c5e --reason "wrong amount"',
    );

  serviceCommand(
    command(
      receipt,
      "show",
      "show one receipt (the same as fx receipt)",
      [
        "fx receipt show 019e9a70-3c5e",
        "fx receipt 019e9a70-3c5e-7000-8000-5d1f0c2b7a11 --json",
        "fx receipt --pesel 44051401359 --key monday-1",
      ],
      { isDefault: true },
    ),
    needs,
  )
    .argument("[id]", idMeaning)
    .option("--pesel <pesel>", "with --key: the account, 11 digits, or - to read it from standard input")
    .option("--key <key>", "with --pesel: the idempotency key of what was done")
    .action(async (argument: string | undefined, options: ShowOptions) => {
      const find = await receiptFinder(context, argument, options);
      const found = await find(await context.service(options, needs));
      if (!options.json) return writeRecord(stdout, receiptPairs(stdout, found));
      const { encodeEntry } = await import("../../wire/codecs.ts");
      context.document(encodeEntry(found));
    });

  withSettleOptions(
    serviceCommand(
      command(
        receipt,
        "reverse",
        "undo an exchange, a deposit or a withdrawal; at a terminal, after a question",
        ['fx receipt reverse 019e9a70-3c5e --reason "wrong amount"'],
      ),
      needs,
    )
      .argument("<id>", idMeaning)
      .requiredOption("--reason <text>", "kept with the entry: up to 200 characters"),
    "only show what it would come to, change nothing",
  ).action((argument: string, options: ReverseOptions) =>
    settle(context, options, async (key) => {
      const reason = parseReason(options.reason);
      return {
        rates: false,
        order: async (service) => {
          const undone = await service.receipt(receiptId(argument));
          const change = { kind: "reversal", pesel: undone.pesel, reverses: undone.id, reason, key } as const;
          return changeOrder(context, options, service, change, undone);
        },
      };
    }),
  );
}

/** @throws UsageError */
async function receiptFinder(
  context: Context,
  id: string | undefined,
  { pesel: argument, key }: ShowOptions,
): Promise<(service: ExchangeService) => Promise<Receipt>> {
  if (id !== undefined && argument === undefined && key === undefined) {
    return (service) => service.receipt(receiptId(id));
  }
  if (id !== undefined || argument === undefined || key === undefined) {
    throw new UsageError("Give the id of a receipt, or --pesel and --key.");
  }
  const pesel = await context.pesel(argument);
  return async (service) => {
    const { items } = await service.statement(pesel, { limit: 1, key });
    const [found] = items;
    if (found !== undefined) return found;
    throw new FxError("not-found", "The account has no receipt with this key.", {
      hint: "Nothing was done with it so far. A request that may be under way can be sent again with the same key.",
    });
  };
}

/** Of an id, or of a path or URL that ends with one, such as the header Fx-Receipt. */
function receiptId(text: string): string {
  return text.trim().replace(/^.*\/api\/receipts\//, "");
}
