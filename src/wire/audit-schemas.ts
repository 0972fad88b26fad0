import * as z from "zod";
import { by, count } from "./schemas.ts";

/** The shapes of an audit, and of the lines of a checkpoint. */

const hash = z.string().meta({ pattern: "^[0-9a-f]{64}$" });
const customer = z.string().meta({
  pattern: "^[A-P]{20}$",
  description: "Stands for the PESEL; made of it with a key of the ledger's own",
});

/** An account that lacks what a checkpoint saw. */
export const lostHead = z.object({
  customer,
  account: z.string().nullable().meta({ description: "The PESEL; null if there is no account" }),
  entries: count.meta({ description: "In the checkpoint" }),
  entriesNow: count.meta({
    description: "In the ledger. If not fewer, the last that the checkpoint saw is another now",
  }),
});

export const audit = z
  .object({
    ok: z.boolean(),
    accounts: count,
    entries: count,
    findings: z.array(
      z.object({
        account: z.string(),
        entry: z.int().meta({ format: "int64" }).nullable(),
        id: z.string().nullable(),
        by,
        problem: z.string(),
        recorded: z.string(),
        recomputed: z.string(),
      }),
    ),
    findingsTotal: count,
    digest: hash.meta({
      description:
        "SHA-256 over the lines of all accounts in a checkpoint, each with its line feed, by PESEL. It changes with " +
        "every entry",
    }),
    against: z
      .object({
        accounts: count.meta({ description: "Of the checkpoint" }),
        found: count.meta({
          description: "How many of them the ledger has. If 0, the checkpoint is of another ledger",
        }),
        lost: z.array(lostHead).meta({ description: "The accounts that lack what the checkpoint saw" }),
      })
      .optional()
      .meta({ description: "Where the audit is against a checkpoint" }),
  })
  .meta({ id: "Audit" });

/** The lines of a checkpoint: the first, one for each account by PESEL, and the last. */
export const checkpointStart = z
  .object({
    checkpoint: z
      .int()
      .min(1)
      .meta({ format: "int32", examples: [1], description: "Version of the format" }),
    time: z.iso.datetime().meta({ description: "When the audit began" }),
    // A refusal repeats it.
    fx: z.string().max(100).meta({ description: "Version of fx" }),
    schemaVersion: z.int().meta({ format: "int32", description: "Of the ledger" }),
    entries: count.meta({ description: "About how many; the last line has the exact number" }),
    source: z.string().optional().meta({ description: "Where `fx audit` read the ledger" }),
  })
  .meta({ id: "CheckpointStart" });
const accountHead = z
  .object({ customer, entries: count, hash: hash.meta({ description: "Of the last entry" }) })
  .meta({ id: "AccountHead" });
export const checkpointLine = z
  .union([checkpointStart, accountHead, audit])
  .meta({ id: "CheckpointLine", description: "A checkpoint ends with its audit" });

export type AuditJson = z.infer<typeof audit>;
export type CheckpointStartJson = z.infer<typeof checkpointStart>;
