import * as z from "zod";
import { isDate } from "../core/date.ts";
import { type Decimal, formatDecimal, parseDecimal } from "../core/decimal.ts";
import { longestPage } from "../core/service.ts";
import { orderAmount, orNull, reject } from "./fields.ts";
import { parseTime } from "./times.ts";

/** Fields of queries, paths and headers: apart from those of bodies and lines, which the page needs. */

/** A date in a query. */
export const givenDate = z
  .string()
  .refine((text) => isDate(text), "must be a date, such as 2026-06-08")
  .meta({ format: "date", examples: ["2026-06-08"] });
/** The parameters of a period. */
export const givenPeriod = {
  from: givenDate.optional().meta({ description: "The first day, in Poland" }),
  to: givenDate.optional().meta({ description: "The last day, in Poland" }),
};
export const receiptId = z.string().meta({
  pattern: "^[0-9a-fA-F-]{8,36}$",
  description: "Id of an entry of the journal, and of its receipt",
  examples: ["019e9a70-3c5e-7000-8000-5d1f0c2b7a11"],
});
/** An idempotency key as the header has it. */
export const idempotencyKey = z.string().meta({
  pattern: '^([!#-~][!-~]{0,254}|"([!#-\\[\\]-~]|\\\\["\\\\]){1,255}")$',
  description:
    "1 to 255 visible ASCII characters, bare or quoted. A request repeated with the same key and body has no further " +
    "effect and gets the first answer, even if that was a refusal (kept for 30 days). The body is the same if it means " +
    "the same: spaces, the order of fields and another way to write an amount do not count. Only `rate-changed`, " +
    "`rates-unavailable`, 5xx and requests that are wrong in themselves leave the key free. A key that another token " +
    "used is refused",
  examples: ["7f3a6c1e-9d0b-4f57-8a52-6f6f4f1f0f7e"],
});
/** An amount in a query. */
export const amountText = z
  .codec(z.string(), z.custom<Decimal>(), {
    decode: (text, context) =>
      parseDecimal(text) ?? reject(context, "must be a decimal number, such as 12.30"),
    encode: (amount) => formatDecimal(amount),
  })
  .meta({ ...orderAmount.meta(), type: "number" });

export const cursor = z
  .string()
  .regex(/^[!-~]{1,100}$/)
  .meta({ description: "The `next` of the previous page", minLength: 1, maxLength: 100 });
/** The parameters of a page. */
export const page = {
  limit: wholeNumber(1, longestPage, 50).meta({
    format: "int32",
    description: "Maximum number of items on the page",
  }),
  cursor: cursor.optional(),
};
export const next = orNull(cursor).meta({ description: "The cursor of the next page; null on the last" });

/** A past time in a query, where a + may have become a space. */
export const givenTime = z
  .codec(z.string(), z.custom<Date>(), {
    decode: (text, context) =>
      parseTime(text.replace(/ (?=\d\d:\d\d$)/, "+")) ??
      reject(context, "must be a date and time with an offset, such as 2026-06-08T12:00:00Z"),
    encode: (at) => at.toISOString(),
  })
  .meta({
    format: "date-time",
    description: "As it was at this time (RFC 3339), which must be at least 10 seconds ago",
    examples: ["2026-06-08T12:00:00Z", "2026-06-08T14:00:00+02:00"],
  });

/** A whole number in a query. */
export function wholeNumber(least: number, most: number, usual: number) {
  return z
    .codec(z.string(), z.custom<number>(), {
      decode: (text, context) => {
        if (!/^\d{1,9}$/.test(text)) return reject(context, "must be a whole number");
        if (Number(text) < least) return reject(context, `must be at least ${least}`);
        return Number(text) <= most ? Number(text) : reject(context, `must be at most ${most}`);
      },
      encode: String,
    })
    .default(usual)
    .meta({ type: "integer", format: "int32", minimum: least, maximum: most, default: usual });
}
