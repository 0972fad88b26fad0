import * as z from "zod";
import { type EntryKind, entryKinds, type Receipt } from "../core/journal.ts";
import type { Pesel } from "../core/pesel.ts";
import type { EntriesPage, Statement } from "../core/service.ts";
import { exchange, exchangeFields, exchangeOf, withRate } from "./exchanges.ts";
import {
  accountNumber,
  balances,
  by,
  cursor,
  endsAfterItBegins,
  entryId,
  givenPeriod,
  keptHolder,
  key,
  money,
  next,
  orNull,
  page,
  time,
} from "./fields.ts";

/** Entries of the journal, which are receipts, too. */

const entryFields = {
  id: entryId,
  pesel: accountNumber,
  sequence: z.int().min(1).meta({ format: "int64", description: "1 for the opening, then counted up by 1" }),
  time,
  // As it was kept: what a ledger has is shown, whatever it is.
  key: orNull(z.string().meta({ minLength: 1, maxLength: 255 })).meta({
    description: "The Idempotency-Key of the request",
  }),
  by,
  ...keptHolder,
  blocked: z
    .literal(true)
    .optional()
    .meta({ description: "Present if the account is blocked after the entry" }),
};
const currencies = balances.meta({ description: "All balances after the entry" });
const reversedBy = orNull(entryId).meta({ description: "The receipt that reversed this one" });
const note = orNull(z.string());

/** The fields of an entry of each kind beside those of all. */
const factFields = {
  opening: { initial: money },
  exchange: { ...exchangeFields, reversedBy },
  deposit: { credited: money, note, reversedBy },
  withdrawal: { debited: money, note, reversedBy },
  reversal: {
    reverses: entryId.meta({ description: "The receipt that this one reverses" }),
    reason: z.string(),
    debited: orNull(money),
    credited: orNull(money),
    exchange: orNull(exchange).meta({ description: "The exchange that is undone" }),
  },
  renaming: {},
  closing: {},
  block: { reason: z.string() },
  unblock: { reason: z.string() },
} as const satisfies Record<EntryKind, z.ZodRawShape>;

function entryOf<Kind extends EntryKind>(kind: Kind) {
  return z
    .object({ kind: z.literal(kind), ...entryFields, ...factFields[kind], currencies })
    .meta({ id: nameOf(kind) });
}

function nameOf(kind: EntryKind): string {
  return `${kind[0]?.toUpperCase()}${kind.slice(1)}Entry`;
}

const entryJson = z
  .discriminatedUnion("kind", [
    entryOf("opening"),
    entryOf("exchange"),
    entryOf("deposit"),
    entryOf("withdrawal"),
    entryOf("reversal"),
    entryOf("renaming"),
    entryOf("closing"),
    entryOf("block"),
    entryOf("unblock"),
  ])
  .meta({
    id: "Entry",
    discriminator: {
      propertyName: "kind",
      mapping: Object.fromEntries(entryKinds.map((kind) => [kind, `#/components/schemas/${nameOf(kind)}`])),
    },
  });

export const entry = z.codec(entryJson, z.custom<Receipt>(), { decode: receiptOf, encode: jsonOf });
export type EntryJson = z.input<typeof entry>;

function receiptOf(json: z.output<typeof entryJson>): Receipt {
  const { kind, id, pesel, sequence, time, key, by, name, surname, currencies: balances } = json;
  const receipt: Receipt = {
    ...{ kind, id, pesel: pesel as Pesel, sequence, time, key, by, holder: { name, surname }, balances },
    ...{ blocked: json.blocked === true, reverses: undefined, note: undefined },
    ...{ debited: undefined, credited: undefined, exchange: undefined },
    reversedBy: "reversedBy" in json ? json.reversedBy : undefined,
  };
  switch (json.kind) {
    case "opening":
      return { ...receipt, credited: json.initial };
    case "exchange": {
      const { side, sold, bought, bid, ask, rate, table, tableId, effectiveDate } = json;
      const exchange = exchangeOf({ side, sold, bought, bid, ask, rate, table, tableId, effectiveDate });
      return { ...receipt, debited: sold, credited: bought, exchange };
    }
    case "deposit":
      return { ...receipt, credited: json.credited, note: json.note };
    case "withdrawal":
      return { ...receipt, debited: json.debited, note: json.note };
    case "reversal": {
      const { reverses, reason: note, debited, credited, exchange } = json;
      return { ...receipt, reverses, note, debited, credited, exchange };
    }
    case "renaming":
    case "closing":
      return receipt;
    case "block":
    case "unblock":
      return { ...receipt, note: json.reason };
  }
}

function jsonOf(receipt: Receipt): z.output<typeof entryJson> {
  const { id, pesel, sequence, time, key, by, balances: currencies, reversedBy } = receipt;
  const { holder, blocked, debited, credited, exchange, note, reverses } = receipt;
  const state = { ...holder, ...(blocked && { blocked }) };
  const head = { id, pesel, sequence, time, key, ...(by !== undefined && { by }), ...state };
  switch (receipt.kind) {
    case "opening":
      return { kind: "opening", ...head, initial: whole(credited), currencies };
    case "exchange":
      return { kind: "exchange", ...head, ...withRate(whole(exchange)), reversedBy, currencies };
    case "deposit":
      return { kind: "deposit", ...head, credited: whole(credited), note, reversedBy, currencies };
    case "withdrawal":
      return { kind: "withdrawal", ...head, debited: whole(debited), note, reversedBy, currencies };
    case "reversal": {
      const undone = { reverses: whole(reverses), reason: whole(note), debited, credited, exchange };
      return { kind: "reversal", ...head, ...undone, currencies };
    }
    case "renaming":
      return { kind: "renaming", ...head, currencies };
    case "closing":
      return { kind: "closing", ...head, currencies };
    case "block":
    case "unblock":
      return { kind: receipt.kind, ...head, reason: whole(note), currencies };
  }
}

/** A fact that every entry of the kind has. */
function whole<Fact>(fact: Fact | undefined): Fact {
  if (fact === undefined) throw new RangeError("an entry lacks what its kind has");
  return fact;
}

export const statement = z.codec(
  z
    .object({
      entries: z.array(entry).readonly(),
      next,
      opening: orNull(balances).meta({
        description:
          "All balances before the first entry of the period; empty without `from`. null after the first page",
      }),
      closing: orNull(balances).meta({
        description: "All balances after the last entry of the period. null after the first page",
      }),
    })
    .meta({ id: "Statement", description: "Newest first" }),
  z.custom<Statement>(),
  {
    decode: ({ entries: items, ...rest }) => ({ items, ...rest }),
    encode: ({ items, ...rest }) => ({ entries: items, ...rest }),
  },
);
export type StatementJson = z.input<typeof statement>;

export const statementQuery = z
  .strictObject({
    ...page,
    key: key.optional().meta({ description: "Only the entry whose request had this `Idempotency-Key`" }),
    ...givenPeriod,
  })
  .refine(...endsAfterItBegins);

export const entriesQuery = z.strictObject({
  after: cursor.optional().meta({
    description: "The id of an entry: only later ones. Without it, from the first entry on",
  }),
  limit: page.limit,
});

export const entriesPage = z.codec(
  z
    .object({
      entries: z.array(entry).readonly(),
      next: orNull(entryId).meta({
        description:
          "The `after` of the next request, also if there are no more entries now. null while there are none at all",
      }),
    })
    .meta({ id: "Entries", description: "In the order in which they were committed" }),
  z.custom<EntriesPage>(),
  {
    decode: ({ entries: items, next }) => ({ items, next }),
    encode: ({ items, next }) => ({ entries: items, next }),
  },
);
