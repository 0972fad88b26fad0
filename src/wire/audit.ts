import * as z from "zod";
import { isClean } from "../core/checkpoint.ts";
import type { AuditReport } from "../core/service.ts";
import { by, count, orNull } from "./fields.ts";

/** Audits, and the shapes of a checkpoint's lines. */

export const hash = z.string().meta({ pattern: "^[0-9a-f]{64}$" });
const customer = z.string().meta({
  pattern: "^[A-P]{20}$",
  description: "A pseudonym of the PESEL, derived with a key of the ledger's own",
});

/** An account that lacks what a checkpoint saw. */
const lostHead = z.object({
  customer,
  account: orNull(z.string()).meta({ description: "The PESEL; null if there is no account" }),
  entries: count.meta({ description: "Number of the account's entries in the checkpoint" }),
  // A damaged row may have any number.
  entriesNow: z.number().meta({
    type: "integer",
    format: "int64",
    description:
      "Number of the account's entries in the ledger. If not fewer, the last entry that the checkpoint saw was replaced",
  }),
});
const finding = z.object({
  account: z.string(),
  // As the damaged row has it, even if no entry can have such a number: that is the finding.
  entry: orNull(z.number().meta({ type: "integer", format: "int64" })),
  id: orNull(z.string()),
  by,
  problem: z.string(),
  recorded: z.string(),
  recomputed: z.string(),
});

export const audit = z.codec(
  z
    .object({
      ok: z.boolean(),
      accounts: count,
      entries: count,
      findings: z.array(finding).readonly(),
      findingsTotal: count,
      digest: hash.meta({
        description:
          "SHA-256 over the lines of all accounts in a checkpoint, each with its line feed, by PESEL. It changes with " +
          "every entry",
      }),
      against: z
        .object({
          accounts: count.meta({ description: "Number of accounts in the checkpoint" }),
          found: count.meta({
            description: "How many of them the ledger has. If 0 of some, the checkpoint is of another ledger",
          }),
          lost: z
            .array(lostHead)
            .readonly()
            .meta({ description: "The accounts that lack what the checkpoint saw" }),
        })
        .optional()
        .meta({ description: "Present if the audit was against a checkpoint" }),
    })
    .meta({ id: "Audit" }),
  z.custom<AuditReport>(),
  {
    decode: ({ ok: _, against, ...report }) => (against === undefined ? report : { ...report, against }),
    encode: (report) => ({ ok: isClean(report), ...report }),
  },
);
export type AuditJson = z.input<typeof audit>;

/** The lines of a checkpoint: the first, one for each account by PESEL, and the last. */
export const checkpointHead = z
  .object({
    checkpoint: z
      .int()
      .min(1)
      .meta({ format: "int32", examples: [1], description: "Version of the format" }),
    time: z.iso.datetime().meta({ description: "When the audit began" }),
    // A refusal repeats it.
    fx: z.string().max(100).meta({ description: "Version of fx" }),
    schemaVersion: z.int().meta({ format: "int32", description: "Version of the ledger's schema" }),
    entries: count.meta({ description: "Approximate number of entries; the last line has the exact one" }),
    source: z.string().optional().meta({ description: "Where `fx audit` read the ledger" }),
  })
  .meta({ id: "CheckpointStart" });
export const accountHead = z
  .object({ customer, entries: count, hash: hash.meta({ description: "Hash of the last entry" }) })
  .meta({ id: "AccountHead" });
export const checkpointLine = z
  .union([checkpointHead, accountHead, audit])
  .meta({ id: "CheckpointLine", description: "A checkpoint ends with its audit" });
export type CheckpointStart = z.infer<typeof checkpointHead>;

/** The checkpoint of a ledger without accounts. */
export const emptyCheckpoint = [
  { checkpoint: 1, time: "2026-06-08T12:00:00.000Z", fx: "0.1.0", schemaVersion: 1, entries: 0 },
  {
    ...{ ok: true, accounts: 0, entries: 0, findings: [], findingsTotal: 0 },
    digest: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  },
]
  .map((line) => `${JSON.stringify(line)}\n`)
  .join("");
