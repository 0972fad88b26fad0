import * as z from "zod";
import { laterEntriesAtMost } from "../core/proof.ts";
import type { ReceiptProof } from "../core/service.ts";
import { accountHead, hash } from "./audit.ts";

export const receiptProof = z.codec(
  z
    .object({
      proof: z.literal(1).meta({ type: "integer", format: "int32", description: "Version of the format" }),
      entry: z.string().meta({ description: "The entry's line of JSON, as the journal has it" }),
      before: z.string().meta({
        pattern: "^([0-9a-f]{64})?$",
        description: "The hash of the account's entry before it; empty for the first",
      }),
      after: z
        .array(hash)
        .max(laterEntriesAtMost)
        .readonly()
        .meta({ description: "SHA-256 of the lines of the account's later entries, in their order" }),
      head: accountHead.meta({
        description: "The newest entry of the account, as a checkpoint would have it",
      }),
    })
    .meta({ id: "ReceiptProof" }),
  z.custom<ReceiptProof>(),
  {
    decode: ({ proof: _, ...proof }) => proof,
    encode: (proof) => ({ proof: 1 as const, ...proof }),
  },
);
