import * as z from "zod";
import type { CurrencyCode } from "../core/currency.ts";
import { exportFormats, type Position, type Till } from "../core/service.ts";
import { hash } from "./audit.ts";
import {
  count,
  currency,
  date,
  decodeTotal,
  encodeTotal,
  entryId,
  givenDate,
  givenPeriod,
  givenTime,
  orNull,
  time,
  total,
  totalOfMoney,
  totals,
} from "./fields.ts";

/** The house's position, and exports of the journal. */

const currencyPosition = z.codec(z.object(totals), z.custom<Position["currencies"][number]>(), {
  decode: ({ symbol, ...held }, context) => ({
    currency: symbol as CurrencyCode,
    customers: decodeTotal(held.customers, symbol, context),
    house: decodeTotal(held.house, symbol, context),
    cash: decodeTotal(held.cash, symbol, context),
    bank: decodeTotal(held.bank, symbol, context),
  }),
  encode: ({ currency, ...held }) => ({
    symbol: currency,
    customers: encodeTotal(held.customers, currency),
    house: encodeTotal(held.house, currency),
    cash: encodeTotal(held.cash, currency),
    bank: encodeTotal(held.bank, currency),
  }),
});

export const position = z.codec(
  z.object({ currencies: z.array(currencyPosition), spreadEarned: totalOfMoney }).meta({ id: "Position" }),
  z.custom<Position>(),
  {
    decode: (position) => position,
    encode: (position) => ({ ...position, currencies: [...position.currencies] }),
  },
);
export type PositionJson = z.input<typeof position>;

const tillEntry = orNull(z.object({ id: entryId, time }).meta({ id: "TillEntry" }));
const cashFlow = z.codec(
  z.object({ symbol: currency, in: total, out: total }).meta({ id: "CashFlow" }),
  z.custom<Till["currencies"][number]>(),
  {
    decode: ({ symbol, in: came, out }, context) => ({
      currency: symbol as CurrencyCode,
      came: decodeTotal(came, symbol, context),
      went: decodeTotal(out, symbol, context),
    }),
    encode: ({ currency, came, went }) => ({
      symbol: currency,
      in: encodeTotal(came, currency),
      out: encodeTotal(went, currency),
    }),
  },
);

export const till = z.codec(
  z
    .object({
      date,
      by: orNull(z.string()).meta({ description: "The name of the token; null for entries without one" }),
      currencies: z.array(cashFlow),
      entries: count.meta({ description: "How many entries moved cash" }),
      first: tillEntry,
      last: tillEntry,
      digest: hash.meta({
        description: "SHA-256 over the hashes of these entries, one a line, in the order of the journal",
      }),
    })
    .meta({ id: "Till" }),
  z.custom<Till>(),
  {
    decode: (till) => till,
    encode: (till) => ({ ...till, currencies: [...till.currencies] }),
  },
);
export type TillJson = z.input<typeof till>;

export const tillQuery = z.strictObject({
  date: givenDate.optional().meta({ description: "A day in Poland; by default today" }),
  by: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: "The name of a token; by default that of the request", examples: ["till-3"] }),
});

export const exportQuery = z.strictObject({
  format: z
    .enum(exportFormats, { error: `must be one of ${exportFormats.join(", ")}` })
    .meta({ examples: ["hledger"] }),
  ...givenPeriod,
  at: givenTime.optional(),
  full: z
    .codec(z.enum(["true", "false"]), z.custom<boolean>(), {
      decode: (text) => text === "true",
      encode: (full) => (full ? "true" : "false"),
    })
    .default(false)
    .meta({
      description:
        "With PESELs, names, notes, reasons, idempotency keys and the names of tokens (by default false)",
    }),
});
