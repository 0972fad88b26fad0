import * as z from "zod";
import { date, orNull, time } from "./fields.ts";
import { reasonCode, source, tableNumber } from "./rate-fields.ts";
import { roles } from "./role.ts";

/** Answers about the server itself and about its caller. */

export const token = z
  .object({
    name: orNull(z.string()).meta({
      description: "null where no tokens are in force",
      examples: ["till-3"],
    }),
    role: z.enum(roles).meta({ description: "operator where no tokens are in force" }),
    expires: orNull(time).meta({ examples: ["2027-02-20T12:00:00.000Z"] }),
    office: z
      .object({
        name: z
          .string()
          .nullable()
          .meta({ examples: ["Kantor Wawel"] }),
        address: z
          .string()
          .nullable()
          .meta({ examples: ["ul. Grodzka 1, 31-006 Kraków"] }),
        taxNumber: z
          .string()
          .nullable()
          .meta({ examples: ["676-000-00-00"] }),
      })
      .meta({ id: "Office", description: "The office that runs the server, as printed receipts name it" }),
  })
  .meta({ id: "Token" });
export type TokenJson = z.input<typeof token>;

export const live = z.object({ status: z.literal("live") }).meta({ id: "Live" });

export const ready = z
  .object({
    status: z.enum(["ready", "draining", "store-unavailable"]),
    version: z.string().meta({ description: "Version of fx" }),
    store: z
      .enum(["memory", "sqlite", "postgres"])
      .meta({ description: "With `memory`, the ledger is gone when the server ends" }),
    schemaVersion: z
      .int()
      .min(1)
      .meta({ format: "int64", description: "The version of the database schema that the server writes" }),
    rates: z.object({
      source,
      recorded: z.boolean(),
      table: orNull(tableNumber),
      effectiveDate: orNull(date),
      tradable: z.boolean().meta({ description: "Whether orders are settled now" }),
      reason: orNull(z.string()).meta({ description: "Why no orders are settled; null if they are" }),
      reasonCode,
      heldBack: orNull(tableNumber).meta({
        description: "The number of the newest table, if a check holds it back",
      }),
      problem: orNull(z.string()).meta({
        description: "Why there is no newer table: the source does not answer, or a table is held back",
      }),
      clock: orNull(z.string()).meta({
        description: "How far the server's clock is from the source's, if that is more than five minutes",
      }),
    }),
  })
  .meta({ id: "Ready" });
export type ReadyJson = z.input<typeof ready>;
