import * as z from "zod";
import { parseDate, parseTime } from "../core/date.ts";
import { cursor, wholeNumber } from "./schemas.ts";

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
    from: givenDate.optional().meta({ description: "The first day, in Poland" }),
    to: givenDate.optional().meta({ description: "The last day, in Poland" }),
  })
  .refine(({ from, to }) => from === undefined || to === undefined || from <= to, {
    path: ["to"],
    error: "must not be before from",
  });

export const atQuery = z.strictObject({ at: at.optional() });

export const accountsQuery = z.strictObject({ ...page, at: at.optional() });

/** The time in a query, where + is a space, though many clients send it as it is. */
export function timeIn(text: string): Date | undefined {
  return parseTime(text.replace(/ (?=\d\d:\d\d$)/, "+"));
}
