import * as z from "zod";
import type { Exchange } from "../core/exchange.ts";
import { type EntryKind, entryKinds, type Receipt } from "../core/journal.ts";
import type { Money } from "../core/money.ts";
import type { Pesel } from "../core/pesel.ts";
import type { EntriesPage, Statement } from "../core/service.ts";
import { exchange, exchangeFields, exchangeOf, withRate } from "./exchanges.ts";
import { accountNumber, balances, by, entryId, keptHolder, key, money, orNull, time } from "./fields.ts";
import { cursor, givenPeriod, next, page } from "./parameters.ts";

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

/** The facts that entries of some kinds have. */
interface Facts {
  readonly blocked?: true | undefined;
  readonly initial?: Money;
  readonly sold?: Money;
  readonly bought?: Money;
  readonly debited?: Money | undefined;
  readonly credited?: Money | undefined;
  readonly exchange?: Exchange | undefined;
  readonly note?: string | undefined;
  readonly reason?: string;
  readonly reverses?: string;
  readonly reversedBy?: string | undefined;
}

function receiptOf(json: z.output<typeof entryJson>): Receipt {
  const { kind, id, pesel, sequence, time, key, by, name, surname, currencies: balances } = json;
  const { blocked, initial, sold, bought, reason, ...facts }: Facts = json;
  return {
    ...{ kind, id, pesel: pesel as Pesel, sequence, time, key, by, holder: { name, surname }, balances },
    blocked: blocked === true,
    reverses: facts.reverses,
    note: facts.note ?? reason,
    debited: facts.debited ?? sold,
    credited: facts.credited ?? bought ?? initial,
    exchange: json.kind === "exchange" ? exchangeOf(json) : facts.exchange,
    reversedBy: facts.reversedBy,
  };
}

/** Gives each fact under every name that a kind may have for it; the shape of the kind keeps its own. */
function jsonOf(receipt: Receipt): z.output<typeof entryJson> {
  const { holder, balances: currencies, blocked, credited, note, exchange, ...facts } = receipt;
  return {
    ...(exchange && withRate(exchange)),
    ...{ ...facts, ...holder, blocked: blocked || undefined },
    ...{ credited, initial: credited, note, reason: note, exchange, currencies },
  } as z.output<typeof entryJson>;
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

export const statementQuery = z.strictObject({
  ...page,
  key: key.optional().meta({ description: "Only the entry whose request had this `Idempotency-Key`" }),
  ...givenPeriod,
});

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
