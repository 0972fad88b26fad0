import * as z from "zod";
import { type EntryKind, entryKinds } from "../core/journal.ts";
import { by, entryId, exchange, exchangeFields, keptName, money, next, pesel } from "./schemas.ts";

/** The shapes of entries, which are receipts, too. */

const entryHead = {
  id: entryId,
  pesel,
  sequence: z.int().min(1).meta({ format: "int64", description: "1 for the opening, then counted up by 1" }),
  time: z.iso.datetime().meta({ examples: ["2026-06-08T12:00:00.000Z"] }),
  key: z
    .string()
    .meta({ minLength: 1, maxLength: 255 })
    .nullable()
    .meta({ description: "The Idempotency-Key of the request" }),
  by,
  currencies: z.array(money).meta({ description: "All balances after the entry" }),
};

const reversedBy = entryId.nullable().meta({ description: "The receipt that reversed this one" });
const note = z.string().nullable();

/** What an entry of each kind says beside what all of them say. */
const entries = {
  opening: { name: keptName, surname: keptName, initial: money },
  exchange: { ...exchangeFields, reversedBy },
  deposit: { credited: money, note, reversedBy },
  withdrawal: { debited: money, note, reversedBy },
  reversal: {
    reverses: entryId.meta({ description: "The receipt that this one reverses" }),
    reason: z.string(),
    debited: money.nullable(),
    credited: money.nullable(),
    exchange: exchange.nullable().meta({ description: "The exchange that is undone" }),
  },
  renaming: { name: keptName, surname: keptName },
  closing: {},
} as const satisfies Record<EntryKind, z.ZodRawShape>;

function entryOf<Kind extends EntryKind>(kind: Kind) {
  const id = `${kind[0]?.toUpperCase()}${kind.slice(1)}Entry`;
  return z.object({ kind: z.literal(kind), ...entryHead, ...entries[kind] }).meta({ id });
}

export const entry = z
  .discriminatedUnion("kind", [
    entryOf("opening"),
    entryOf("exchange"),
    entryOf("deposit"),
    entryOf("withdrawal"),
    entryOf("reversal"),
    entryOf("renaming"),
    entryOf("closing"),
  ])
  .meta({
    id: "Entry",
    discriminator: {
      propertyName: "kind",
      mapping: Object.fromEntries(
        entryKinds.map((kind) => [
          kind,
          `#/components/schemas/${kind[0]?.toUpperCase()}${kind.slice(1)}Entry`,
        ]),
      ),
    },
  });

const balances = z.array(money).nullable();

export const statement = z
  .object({
    entries: z.array(entry),
    next,
    opening: balances.meta({
      description:
        "All balances before the first entry of the period; empty without `from`. null after the first page",
    }),
    closing: balances.meta({
      description: "All balances after the last entry of the period. null after the first page",
    }),
  })
  .meta({ id: "Statement", description: "Newest first" });

export type EntryJson = z.infer<typeof entry>;
export type StatementJson = z.infer<typeof statement>;
