import type * as z from "zod";
import type { AnswerCode } from "../core/errors.ts";
import type { Role } from "./role.ts";

/** The request headers with a meaning of their own for operations that move money or change an account. */
export const orderHeaders = ["Idempotency-Key", "Fx-Table"] as const;
export type OrderHeader = (typeof orderHeaders)[number];

type TextType =
  | "text/plain"
  | "text/csv"
  | "text/event-stream"
  | "application/json"
  | "application/x-ndjson"
  | "application/xml";

/** One operation of the HTTP interface: what the server routes by and what the OpenAPI document says. */
export interface Operation {
  readonly method: "GET" | "POST";
  /** With parameters in braces. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: "accounts" | "exchange" | "changes" | "rates" | "ledger" | "server";
  /** The least role that a token must have, where tokens are in force. */
  readonly role: Role | "anyone";
  /** Without it, the operation takes no parameters. */
  readonly query?: z.ZodObject;
  /** Given for every operation that moves money or changes an account. Headers that resemble these are refused. */
  readonly headers?: readonly OrderHeader[];
  readonly body?: z.ZodType;
  /** The part that is newline-delimited JSON: its schema is that of a line. */
  readonly lines?: "body" | "answer" | "both";
  /** A body of lines that can be sent as it is. */
  readonly example?: string;
  /** Whether the body may be left out. */
  readonly isBodyOptional?: boolean;
  readonly success: {
    readonly status: 200 | 204;
    /** The shape of a JSON answer. */
    readonly schema?: z.ZodType;
    /** Media types of an answer without a schema, or of one that a client may ask for instead. */
    readonly types?: readonly TextType[];
    readonly headers?: readonly ("Fx-Account" | "Fx-Receipt" | "Idempotency-Replayed")[];
  };
  /** Beside those that `errorsOf` adds. */
  readonly errors: readonly AnswerCode[];
  /** A status whose body has the shape of success, too. */
  readonly sameShape?: number;
}

/** The codes that the operation may answer with, except those of any path: for another method, and for a bug. */
export function errorsOf(operation: Operation): readonly AnswerCode[] {
  const all: AnswerCode[] = ["invalid-request", ...operation.errors];
  if (operation.role !== "anyone") all.push("unauthorized");
  all.push("forbidden");
  if (!isProbe(operation.path)) all.push("rate-limited");
  return all;
}

/** Whether the path is a probe's. Probes are not logged, and have no limit of their rate. */
export function isProbe(path: string): boolean {
  return path.startsWith("/health/");
}

export function hasLines({ lines }: Operation, part: "body" | "answer"): boolean {
  return lines === part || lines === "both";
}
