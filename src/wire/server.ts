import * as z from "zod";
import { date, orNull, reasonCode, source, tableNumber, time } from "./fields.ts";
import type { Operation } from "./operation.ts";
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

const live = z.object({ status: z.literal("live") }).meta({ id: "Live" });

export const ready = z
  .object({
    status: z.enum(["ready", "draining", "store-unavailable"]),
    version: z.string().meta({ description: "Of fx" }),
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
      table: tableNumber.nullable(),
      effectiveDate: date.nullable(),
      tradable: z.boolean().meta({ description: "Whether orders are settled now" }),
      reason: z.string().nullable().meta({ description: "Why no orders are settled; null if they are" }),
      reasonCode,
      heldBack: orNull(tableNumber).meta({
        description: "The number of the newest table, if a check holds it back",
      }),
      problem: z.string().nullable().meta({
        description: "Why there is no newer table: the source does not answer, or a table is held back",
      }),
      clock: z.string().nullable().meta({
        description: "How far the server's clock is from the source's, if that is more than five minutes",
      }),
    }),
  })
  .meta({ id: "Ready" });
export type ReadyJson = z.input<typeof ready>;

/** The operations for monitoring and tools. */
export const serverOperations = {
  token: {
    method: "GET",
    path: "/api/token",
    summary: "Whose token the request has, and what it allows",
    description: "Where no tokens are in force, everybody is an operator.",
    tag: "server",
    role: "viewer",
    success: { status: 200, schema: token },
    errors: [],
  },
  live: {
    method: "GET",
    path: "/health/live",
    summary: "Whether the process runs",
    description: "Does not ask the database.",
    tag: "server",
    role: "anyone",
    success: { status: 200, schema: live },
    errors: [],
  },
  ready: {
    method: "GET",
    path: "/health/ready",
    summary: "Whether the store answers and the server is not stopping",
    description: "Answers 503 while the server stops, and while the database does not answer.",
    tag: "server",
    role: "anyone",
    success: { status: 200, schema: ready },
    errors: [],
    sameShape: 503,
  },
  metrics: {
    method: "GET",
    path: "/metrics",
    summary: "Metrics for Prometheus",
    description: "In the text format of Prometheus.",
    tag: "server",
    role: "operator",
    success: { status: 200, types: ["text/plain"] },
    errors: ["overloaded"],
  },
  openApi: {
    method: "GET",
    path: "/openapi.json",
    summary: "This document",
    description: "OpenAPI 3.1. `/docs` shows it, and lets you try it.",
    tag: "server",
    role: "anyone",
    success: { status: 200, types: ["application/json"] },
    errors: [],
  },
} as const satisfies Record<string, Operation>;
