import * as z from "zod";
import { parseDate, parseTime } from "../core/date.ts";
import { exportFormats } from "../core/export.ts";
import { cursor } from "./schemas.ts";

/** The shapes of queries, as those of bodies and answers are in schemas.ts. */

export const pageQuery = z.strictObject({
  limit: wholeNumber(z.int().min(1).max(1000).default(50)).meta({
    format: "int32",
    description: "Maximum number of items on the page",
  }),
  cursor: cursor.optional(),
});

export const accountsQuery = pageQuery.extend({
  name: z
    .string()
    .optional()
    .meta({
      pattern: "[^\\s]",
      description:
        "Accounts of this name only: each of its words begins a word of the holder's name or surname, in any order, " +
        "in any case, with or without marks",
      example: "kowal jan",
    }),
});

export const statementQuery = pageQuery.extend({
  key: z
    .string()
    .meta({
      pattern: "^[!-~]{1,255}$",
      description: "Only the entry whose request had this `Idempotency-Key`",
      examples: ["7f3a6c1e-9d0b-4f57-8a52-6f6f4f1f0f7e"],
    })
    .optional(),
});

export const rateHistoryQuery = z.strictObject({
  days: wholeNumber(z.int().min(1).max(3660).default(90)).meta({
    format: "int32",
    description: "Number of days, ending with that of the table in force",
  }),
});

const dateText = z.string().refine((text) => parseDate(text) !== undefined, {
  error: "must be a date such as 2026-01-31",
});

export const exportQuery = z.strictObject({
  format: z
    .string()
    .refine((text) => exportFormats.some((format) => format === text), {
      error: `must be one of ${exportFormats.join(", ")}`,
    })
    .meta({ pattern: `^(${exportFormats.join("|")})$`, description: `One of ${exportFormats.join(", ")}` }),
  from: dateText.optional().meta({ format: "date", description: "The first day, in Warsaw" }),
  to: dateText.optional().meta({ format: "date", description: "The last day, in Warsaw" }),
  at: z
    .string()
    .refine((text) => parseTime(text) !== undefined, {
      error: "must be a time such as 2026-01-31T23:59:59Z",
    })
    .optional()
    .meta({ format: "date-time", description: "The journal as it was then; at least 10 s ago" }),
  full: z
    .string()
    .refine((text) => text === "true" || text === "false", { error: "must be true or false" })
    .optional()
    .meta({
      pattern: "^(true|false)$",
      description: "With PESELs, names, notes, reasons and idempotency keys (by default false)",
    }),
});

/** A whole number that comes as the text of a query. */
function wholeNumber<T extends z.ZodType>(schema: T) {
  return z.preprocess(
    (text) => (typeof text === "string" && /^\d{1,9}$/.test(text) ? Number(text) : text),
    schema,
  );
}
