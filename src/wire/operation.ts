import type * as z from "zod";
import { type AnswerCode, answerCodes } from "../core/errors.ts";
import type { Role } from "./role.ts";

/** The request headers with a meaning of their own for operations that move money or change an account. */
export const orderHeaders = ["Idempotency-Key", "Fx-Table"] as const;
export type OrderHeader = (typeof orderHeaders)[number];

/** One operation of the HTTP interface: what the server routes by and what the OpenAPI document says. */
export interface Operation {
  readonly method: "GET" | "POST";
  /** The path, with parameters in braces. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: "accounts" | "exchange" | "changes" | "rates" | "ledger" | "server";
  /** The least role that a token must have, where tokens are in force. */
  readonly role: Role | "anyone";
  /** The query parameters; if absent, the operation takes none. */
  readonly query?: z.ZodObject;
  /** The order headers of an operation that moves money or changes an account. Headers that resemble these are refused. */
  readonly headers?: readonly OrderHeader[];
  readonly body?: z.ZodType;
  /** The part that is newline-delimited JSON: its schema is that of a line. */
  readonly lines?: "body" | "answer" | "both";
  /** A body of lines that can be sent as it is. */
  readonly example?: string;
  /** Whether the body may be left out. */
  readonly isBodyOptional?: boolean;
  /** The shape of a JSON answer. Without it and `types`, an operation that succeeds answers with 204. */
  readonly answer?: z.ZodType;
  /** Media types of an answer without a shape, or of one that a client may ask for instead. */
  readonly types?: readonly string[];
  /** Headers of the answer, beside those of an operation that takes an `Idempotency-Key`. */
  readonly answerHeaders?: readonly "Fx-Account"[];
  /** The codes that it may answer with, beside those that `errorsOf` adds. */
  readonly errors?: readonly AnswerCode[];
  /** A status whose body has the same shape as the answer. */
  readonly sameShape?: number;
}

/** The codes that the operation may answer with. */
export function errorsOf(operation: Operation): readonly AnswerCode[] {
  const { path, tag, role, lines, errors = [] } = operation;
  const all: AnswerCode[] = ["invalid-request", "forbidden", "method-not-allowed", "internal", ...errors];
  if (path.includes("{pesel}")) all.push("invalid-pesel", "account-not-found");
  if (takesKey(operation)) all.push("idempotency-key-reused");
  if (tag !== "server") all.push("overloaded");
  // The lines of a batch fail one by one.
  if (tag !== "server" && lines !== "both") all.push("storage-unavailable");
  if (role !== "anyone") all.push("unauthorized");
  if (!isProbe(path)) all.push("rate-limited");
  return answerCodes.filter((code) => all.includes(code));
}

export function takesKey({ headers }: Operation): boolean {
  return headers?.includes("Idempotency-Key") === true;
}

/** Whether the path is a probe's. Probes are not logged, and have no limit of their rate. */
export function isProbe(path: string): boolean {
  return path.startsWith("/health/");
}

export function hasLines({ lines }: Operation, part: "body" | "answer"): boolean {
  return lines === part || lines === "both";
}
