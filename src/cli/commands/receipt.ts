import type { Command } from "commander";
import { parseReason } from "../../core/change.ts";
import { FxError } from "../../core/errors.ts";
import type { Receipt } from "../../core/journal.ts";
import type { ExchangeService } from "../../core/service.ts";
import type { CommandOptions, Context } from "../context.ts";
import { UsageError } from "../errors.ts";
import { command, serviceCommand, showCommand, withReasonOption } from "../options.ts";
import { receiptPairs } from "../terminal/figures.ts";
import { writeRecord } from "../terminal/output.ts";
import { defineProof } from "./receipt/proof.ts";
import { type ReasonOptions, settle, withSettleOptions } from "./settle.ts";

interface ShowOptions extends CommandOptions {
  readonly pesel?: string;
  readonly key?: string;
}

const needs = { rates: false, access: "read" } as const;
export const idDescription =
  "its id, the first 8 characters of it or more (below the role operator 18), or a header Fx-Receipt";

export function defineReceipt(program: Command, context: Context): void {
  const examples = [
    "fx receipt 019e9a70-3c5e",
    "fx receipt 019e9a70-3c5e-7000-8000-5d1f0c2b7a11 --json",
    "fx receipt --pesel 44051401359 --key monday-1",
  ];
  const receipt = command(program, "receipt", "Show or prove a receipt, or reverse what was done", examples);
  showCommand(receipt, "Show a receipt", ["fx receipt show 019e9a70-3c5e", ...examples], (show) =>
    serviceCommand(show, needs)
      .argument("[id]", idDescription)
      .option("--pesel <pesel>", "with --key: PESEL of the account, or - to read it from standard input")
      .option("--key <key>", "with --pesel: idempotency key of the request")
      .action((id: string | undefined, options: ShowOptions) => showReceipt(context, id, options)),
  );

  defineProof(receipt, context, idDescription, receiptId);

  const reverse = command(
    receipt,
    "reverse",
    "Reverse an exchange, a deposit or a withdrawal; at a terminal, ask first",
    ['fx receipt reverse 019e9a70-3c5e --reason "wrong amount"'],
  );
  withReasonOption(withSettleOptions(serviceCommand(reverse, needs)).argument("<id>", idDescription)).action(
    (id: string, options: ReasonOptions) =>
      settle(context, options, async (key) => {
        const reason = parseReason(options.reason);
        return {
          intent: async (service) => {
            const undone = await service.receipt(receiptId(id));
            const { pesel } = undone;
            return { request: { kind: "reversal", pesel, reverses: undone.id, reason, key }, undone };
          },
        };
      }),
  );
}

async function showReceipt(context: Context, id: string | undefined, options: ShowOptions): Promise<void> {
  const { pesel: argument, key } = options;
  const byKey = argument !== undefined && key !== undefined;
  const byId = id !== undefined && argument === undefined && key === undefined;
  if (byKey === byId || (byKey && id !== undefined)) {
    throw new UsageError("Give the id of a receipt, or --pesel and --key.");
  }
  const pesel = byKey ? await context.questions.pesel(argument) : undefined;
  const service = await context.service(options, needs);
  const receipt =
    pesel === undefined || key === undefined
      ? await service.receipt(receiptId(id ?? ""))
      : await receiptOf(service, pesel, key);
  if (!options.json)
    return writeRecord(context.terminal.stdout, receiptPairs(context.terminal.stdout, receipt));
  const { entry } = await import("../../wire/entries.ts");
  context.document(entry.encode(receipt));
}

/** @throws FxError not-found, and those of a statement */
async function receiptOf(service: ExchangeService, pesel: Receipt["pesel"], key: string): Promise<Receipt> {
  const { items } = await service.statement(pesel, { limit: 1, key });
  const [found] = items;
  if (found !== undefined) return found;
  throw new FxError("not-found", "The account has no receipt with this key.", {
    hint: "Nothing was done with it so far. If a request may be under way, send it again with the same key.",
  });
}

/** The id in a path or URL that ends with it, such as the header Fx-Receipt. */
export function receiptId(text: string): string {
  return text.trim().replace(/^.*\/api\/receipts\//, "");
}
