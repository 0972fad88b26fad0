import * as z from "zod";
import { isDate } from "../core/date.ts";
import { type Decimal, formatDecimal, parseDecimal } from "../core/decimal.ts";
import { orderAmount, reject } from "./fields.ts";

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
/** The arguments of `refine` for a period. */
export const endsAfterItBegins: [
  check: (period: { from?: string | undefined; to?: string | undefined }) => boolean,
  problem: { path: string[]; error: string },
] = [
  ({ from, to }) => from === undefined || to === undefined || from <= to,
  { path: ["to"], error: "must not be before from" },
];
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
