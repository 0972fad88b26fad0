import * as z from "zod";
import { exportFormats } from "../core/service.ts";
import { cursor, wholeNumber } from "./schemas.ts";
import { parseDate, parseTime } from "./times.ts";

/** The shapes of queries about pages, periods and times. */

const page = {
  limit: wholeNumber(z.int().min(1).max(1000).default(50)).meta({
    format: "int32",
    description: "Maximum number of items on the page",
  }),
  cursor: cursor.optional(),
};
const givenDate = z
  .string()
  .refine((text) => parseDate(text) !== undefined, "must be a date, such as 2026-06-08")
  .meta({ format: "date", examples: ["2026-06-08"] });
const at = z
  .string()
  .refine(
    (text) => timeIn(text) !== undefined,
    "must be a date and time with an offset, such as 2026-06-08T12:00:00Z",
  )
  .meta({
    format: "date-time",
    description: "As it was at this time (RFC 3339), which must be at least 10 seconds ago",
    examples: ["2026-06-08T12:00:00Z", "2026-06-08T14:00:00+02:00"],
  });

export const statementQuery = z
  .strictObject({
    ...page,
    key: z
      .string()
      .meta({
        pattern: "^[!-~]{1,255}$",
        description: "Only the entry whose request had this `Idempotency-Key`",
        examples: ["7f3a6c1e-9d0b-4f57-8a52-6f6f4f1f0f7e"],
      })
      .optional(),
    from: givenDate.optional().meta({ description: "The first day, in Poland" }),
    to: givenDate.optional().meta({ description: "The last day, in Poland" }),
  })
  .refine(({ from, to }) => from === undefined || to === undefined || from <= to, {
    path: ["to"],
    error: "must not be before from",
  });

export const atQuery = z.strictObject({ at: at.optional() });

export const accountsQuery = z.strictObject({
  ...page,
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
  at: at.optional(),
});

export const exportQuery = z.strictObject({
  format: z
    .string()
    .refine((text) => exportFormats.some((format) => format === text), {
      error: `must be one of ${exportFormats.join(", ")}`,
    })
    .meta({ pattern: `^(${exportFormats.join("|")})$`, description: `One of ${exportFormats.join(", ")}` }),
  from: givenDate.optional().meta({ description: "The first day, in Poland" }),
  to: givenDate.optional().meta({ description: "The last day, in Poland" }),
  at: at.optional(),
  full: z
    .string()
    .refine((text) => text === "true" || text === "false", { error: "must be true or false" })
    .optional()
    .meta({
      pattern: "^(true|false)$",
      description:
        "With PESELs, names, notes, reasons, idempotency keys and the names of tokens (by default false)",
    }),
});

/** The time in a query, where + is a space, though many clients send it as it is. */
export function timeIn(text: string): Date | undefined {
  return parseTime(text.replace(/ (?=\d\d:\d\d$)/, "+"));
}

export const bulkQuery = z.strictObject({
  dryRun: z
    .enum(["true", "false"])
    .default("false")
    .meta({ description: "`true`: answer what each line would come to, and do nothing" }),
});
