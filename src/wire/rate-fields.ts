import * as z from "zod";
import { notTradedCodes } from "../core/rates.ts";
import { decimalNumber, orNull } from "./fields.ts";

/** Fields of answers about rates and their tables. */

export const tableNumber = z.string().meta({
  pattern: "^[0-9]{1,3}/C/NBP/[0-9]{4}$",
  description: "Number of a table C, as published",
  examples: ["108/C/NBP/2026"],
});
export const tableId = z
  .string()
  .regex(/^[0-9a-f]{32}$/)
  .meta({
    description: "Identifies one table of one source. A correction keeps the number and has another id",
    examples: ["2f1e64f8be8d4d2f9b0a1c64c8bd0c11"],
  });
export const reasonCode = orNull(z.enum(notTradedCodes)).meta({
  description:
    "`reason` as a code: there is no table, it takes effect later, it is too old, the ledger trades at another source, or trading is suspended",
});
export const source = z
  .string()
  .meta({ description: "nbp, demo, the path of a file, or the base URL of an API", examples: ["nbp"] });
export const rateValue = decimalNumber.meta({ format: "double", exclusiveMinimum: 0, examples: [4.2963] });
