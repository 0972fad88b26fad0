import { FxError } from "../../core/errors.ts";
import type { Receipt } from "../../core/journal.ts";
import type { ExchangeService } from "../../core/service.ts";
import type { FxCommand } from "../command.ts";
import type { CommandOptions, Context } from "../context.ts";
import { UsageError } from "../errors.ts";
import { receiptPairs } from "../terminal/figures.ts";
import { writeRecord } from "../terminal/output.ts";
import { defineProof } from "./receipt/proof.ts";
import { type ReasonOptions, settle } from "./settle.ts";

interface ShowOptions extends CommandOptions {
  readonly pesel?: string;
  readonly key?: string;
}

export function defineReceipt(program: FxCommand, context: Context): void {
  const examples = [
    "fx receipt 019e9a70-3c5e",
    "fx receipt 019e9a70-3c5e-7000-8000-5d1f0c2b7a11 --json",
    "fx receipt --pesel 44051401359 --key monday-1",
  ];
  const receipt = program.add("receipt", "Show or prove a receipt, or reverse what was done", examples);
  receipt
    .addShow("Show a receipt", ["fx receipt show 019e9a70-3c5e", ...examples], "[options] [id]")
    .target()
    .receipt("[id]")
    .option("--pesel <pesel>", "with --key: PESEL of the account, or - to read it from standard input")
    .option("--key <key>", "with --pesel: idempotency key of the request")
    .action((id: string | undefined, options: ShowOptions) => showReceipt(context, id, options));

  defineProof(receipt, context);

  receipt
    .add("reverse", "Reverse an exchange, a deposit or a withdrawal; at a terminal, ask first", [
      'fx receipt reverse 019e9a70-3c5e --reason "wrong amount"',
    ])
    .target()
    .receipt()
    .settles()
    .reason()
    .action((id: string, options: ReasonOptions) =>
      settle(context, options, async (key) => async (service) => {
        const undone = await service.receipt(id);
        const { pesel } = undone;
        const { reason } = options;
        return { request: { kind: "reversal", pesel, reverses: undone.id, reason, key }, undone };
      }),
    );
}

async function showReceipt(context: Context, id: string | undefined, options: ShowOptions): Promise<void> {
  const { pesel: argument, key, json } = options;
  const byKey = argument !== undefined && key !== undefined;
  const byId = id !== undefined && argument === undefined && key === undefined;
  if (byKey === byId || (byKey && id !== undefined)) {
    throw new UsageError("Give the id of a receipt, or --pesel and --key.");
  }
  const pesel = byKey ? await context.questions.pesel(argument) : undefined;
  const service = await context.service();
  const receipt =
    pesel === undefined || key === undefined
      ? await service.receipt(id ?? "")
      : await receiptOf(service, pesel, key);
  if (json) return context.document((await import("../../wire/entries.ts")).entry.encode(receipt));
  writeRecord(context.terminal.stdout, receiptPairs(context.terminal.stdout, receipt));
}

async function receiptOf(service: ExchangeService, pesel: Receipt["pesel"], key: string): Promise<Receipt> {
  const { items } = await service.statement(pesel, { limit: 1, key });
  const [found] = items;
  if (found !== undefined) return found;
  throw new FxError("not-found", "The account has no receipt with this key.", {
    hint: "No request with it has been done so far. If one may be under way, send it again with the same key.",
  });
}
