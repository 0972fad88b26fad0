import { FxError } from "../../../core/errors.ts";
import type { ReceiptProof } from "../../../core/service.ts";
import type { FxCommand } from "../../command.ts";
import { readSmallFile } from "../../config-file.ts";
import type { CommandOptions, Context } from "../../context.ts";
import { reasonOf, tellWarning, UsageError } from "../../errors.ts";
import { findingsExit } from "../../exits.ts";
import { receiptPairs } from "../../terminal/figures.ts";
import { writeRecord } from "../../terminal/output.ts";

interface ProofOptions extends CommandOptions {
  readonly checkpoint?: string;
}

interface VerifyOptions {
  readonly checkpoint: string;
  readonly json?: boolean;
}

/** Bytes; longer than any proof. */
const longestProof = 8 * 1024 * 1024;

export function defineProof(receipt: FxCommand, context: Context): void {
  receipt
    .add("proof", "Print the proof that the ledger has an entry, for fx receipt verify", [
      "fx receipt proof 019e9a70-3c5e > receipt.proof",
      "fx receipt proof 019e9a70-3c5e --checkpoint 2026-11-22.checkpoint > receipt.proof",
    ])
    .receipt()
    .target({ json: false })
    .option("--checkpoint <file>", "end the proof where this checkpoint does, and exit 11 if it does not fit")
    .addHelpText(
      "after",
      "\nThe proof has the entry with its holder's name and PESEL, and the id of the account in checkpoints and exports.\n" +
        "Of later entries of the account it has hashes, and so their number.",
    )
    .action(async (id: string, { checkpoint }: ProofOptions) => {
      const proof = await (await context.service()).proof(id);
      const proven = checkpoint === undefined ? proof : (await compared(proof, checkpoint)).proven;
      if (typeof proven === "string") {
        context.exit = findingsExit;
        return tellWarning(context.terminal, proven, false);
      }
      context.document((await import("../../../wire/proof.ts")).receiptProof.encode(proven));
    });

  receipt
    .add("verify", "Check a proof against a checkpoint, offline; exit 11 if it does not fit", [
      "fx receipt verify receipt.proof --checkpoint 2026-11-22.checkpoint",
    ])
    .argument("<file>", "what fx receipt proof printed")
    .requiredOption(
      "--checkpoint <file>",
      "a checkpoint of the ledger, made after the entry, from whoever kept it",
    )
    .json()
    .addHelpText(
      "after",
      "\nIf it fits, the ledger had this entry when the checkpoint was made. Whether it was reversed is not shown.",
    )
    .action((file: string, options: VerifyOptions) => verify(context, file, options));
}

async function verify(context: Context, file: string, { checkpoint, json }: VerifyOptions): Promise<void> {
  const proof = await readProof(file);
  const { proven, time } = await compared(proof, checkpoint);
  const { stdout } = context.terminal;
  const { parseEntry } = await import("../../../core/journal.ts");
  if (typeof proven === "string") {
    context.exit = findingsExit;
    if (json) context.document({ ok: false, checkpoint: time, fault: proven });
    else tellWarning(context.terminal, proven, false);
    return;
  }
  const { customer, entries } = proven.head;
  const receipt = { ...parseEntry(proven.entry), reversedBy: undefined };
  if (json) {
    const { entry } = await import("../../../wire/entries.ts");
    // A reversal would be a later entry, and the proof has only the hashes of those.
    const { reversedBy: _, ...shown } = { reversedBy: null, ...entry.encode(receipt) };
    return context.document({ ok: true, checkpoint: time, customer, entries, receipt: shown });
  }
  writeRecord(stdout, [
    ["proven", `by the checkpoint of ${time}`],
    ["customer", customer],
    ["entries then", String(entries)],
    ...receiptPairs(stdout, receipt),
  ]);
}

/** @throws UsageError if the file cannot be read, or is not a proof that fx writes */
async function readProof(path: string): Promise<ReceiptProof> {
  const { receiptProof } = await import("../../../wire/proof.ts");
  const { parseJson } = await import("../../../wire/requests.ts");
  let proof: unknown;
  try {
    // A member that stood twice is refused: another program could read the other value.
    proof = parseJson(readSmallFile(path, longestProof).text, "file");
  } catch (error) {
    if (error instanceof FxError) throw new UsageError(`${path}: ${error.message}`);
    throw new UsageError(`The proof ${path} cannot be read (${reasonOf(error)}).`);
  }
  const { data, error } = receiptProof.safeParse(proof);
  if (data !== undefined) return data;
  throw new UsageError(
    `${path} is not a proof of fx, or was changed (at /${error.issues[0]?.path.join("/")}).`,
  );
}

/** Compares a proof with the checkpoint in a file, which is read to its end. */
async function compared(proof: ReceiptProof, path: string) {
  const [{ readHeads }, { provenBy }, { createHash }] = await Promise.all([
    import("../audit/checkpoint.ts"),
    import("../../../core/proof.ts"),
    import("node:crypto"),
  ]);
  let time = "";
  let seen: ReceiptProof["head"] | undefined;
  for await (const heads of readHeads(path, (start) => {
    time = start.time;
  })) {
    for (const head of heads) {
      if (head.customer !== proof.head.customer) continue;
      if (seen !== undefined) throw new UsageError(`${path} has two lines of customer ${head.customer}.`);
      seen = head;
    }
  }
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  return { proven: provenBy(proof, seen, sha256), time };
}
