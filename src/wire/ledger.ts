import * as z from "zod";
import type { CurrencyCode } from "../core/currency.ts";
import { exportFormats, type Position, type Till } from "../core/service.ts";
import { hash } from "./audit.ts";
import { count, currency, date, entryId, orNull, time } from "./fields.ts";
import { givenDate, givenPeriod, givenTime } from "./parameters.ts";
import { decodeTotals, encodeTotals, total, totalOfMoney } from "./totals.ts";

/** The house's position, and exports of the journal. */

const currencyPosition = z.codec(
  z.object({ symbol: currency, customers: total, house: total, cash: total, bank: total }),
  z.custom<Position["currencies"][number]>(),
  {
    decode: ({ symbol, ...held }, context) => ({
      currency: symbol as CurrencyCode,
      ...decodeTotals(held, symbol, context),
    }),
    encode: ({ currency, ...held }) => ({ symbol: currency, ...encodeTotals(held, currency) }),
  },
);

export const position = z
  .object({ currencies: z.array(currencyPosition).readonly(), spreadEarned: totalOfMoney })
  .meta({ id: "Position" });
export type PositionJson = z.input<typeof position>;

const tillEntry = orNull(z.object({ id: entryId, time }).meta({ id: "TillEntry" }));
const cashFlow = z.codec(
  z.object({ symbol: currency, in: total, out: total }).meta({ id: "CashFlow" }),
  z.custom<Till["currencies"][number]>(),
  {
    decode: ({ symbol, ...flow }, context) => ({
      currency: symbol as CurrencyCode,
      ...decodeTotals(flow, symbol, context),
    }),
    encode: ({ currency, ...flow }) => ({ symbol: currency, ...encodeTotals(flow, currency) }),
  },
);

export const till = z
  .object({
    date,
    by: orNull(z.string()).meta({ description: "The name of the token; null for entries without one" }),
    currencies: z.array(cashFlow).readonly(),
    entries: count.meta({ description: "How many entries moved cash" }),
    first: tillEntry,
    last: tillEntry,
    digest: hash.meta({
      description: "SHA-256 over the hashes of these entries, one a line, in the order of the journal",
    }),
  })
  .meta({ id: "Till" });
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
