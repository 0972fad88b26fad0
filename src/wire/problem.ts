import * as z from "zod";
import { type AnswerCode, answerCodes, FxError } from "../core/errors.ts";

export const problemType = "application/problem+json";

export const problem = z
  .object({
    type: z.string().meta({ format: "uri", examples: ["urn:fx:error:account-not-found"] }),
    title: z.string().meta({ examples: ["No such account"] }),
    status: z.int().meta({ format: "int32", minimum: 400, maximum: 599, examples: [404] }),
    detail: z.string().meta({ examples: ["There is no account for this PESEL."] }),
    instance: z.string().meta({ format: "uri", examples: ["urn:fx:request:kCDdJ7Fn-d"] }),
    code: z.enum(answerCodes),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
  })
  .meta({ id: "Problem", description: "RFC 9457. Tell errors apart by `code`" });
export type ProblemJson = z.infer<typeof problem>;

/** The HTTP status of each code. */
export const statusOf: Readonly<Record<AnswerCode, number>> = {
  "invalid-request": 400,
  "invalid-pesel": 400,
  "pesel-mismatch": 400,
  underage: 400,
  "unsupported-currency": 400,
  "same-currency": 400,
  "invalid-amount": 400,
  "amount-too-small": 400,
  "insufficient-funds": 400,
  "balance-limit": 400,
  "rate-changed": 400,
  "trading-suspended": 400,
  "already-reversed": 400,
  "not-reversible": 400,
  "account-closed": 400,
  "account-blocked": 400,
  "account-not-blocked": 400,
  "account-not-empty": 400,
  "account-not-found": 404,
  "not-found": 404,
  "method-not-allowed": 405,
  "account-exists": 409,
  "idempotency-key-reused": 422,
  "rates-unavailable": 500,
  "storage-unavailable": 500,
  internal: 500,
  unauthorized: 401,
  forbidden: 403,
  "rate-limited": 429,
  overloaded: 503,
};

const titleOf: Readonly<Record<AnswerCode, string>> = {
  "invalid-request": "The request is not valid",
  "invalid-pesel": "The PESEL is not valid",
  "pesel-mismatch": "The PESELs of path and body differ",
  underage: "The holder is a minor",
  "unsupported-currency": "The currency cannot be exchanged",
  "same-currency": "Both currencies are the same",
  "invalid-amount": "The amount is not valid",
  "amount-too-small": "The amount is too small",
  "insufficient-funds": "Not enough money",
  "balance-limit": "The balance would be too large",
  "rate-changed": "Another rate table is in force",
  "trading-suspended": "Trading is suspended",
  "already-reversed": "Reversed before",
  "not-reversible": "This cannot be reversed",
  "account-closed": "The account is closed",
  "account-blocked": "The account is blocked",
  "account-not-blocked": "The account is not blocked",
  "account-not-empty": "The account holds money",
  "account-not-found": "No such account",
  "not-found": "Not found",
  "method-not-allowed": "Method not allowed",
  "account-exists": "The account exists",
  "idempotency-key-reused": "The Idempotency-Key was used before",
  "rates-unavailable": "No usable rates",
  "storage-unavailable": "The store failed",
  internal: "Internal error",
  unauthorized: "Not authenticated",
  forbidden: "Not allowed",
  "rate-limited": "Too many requests",
  overloaded: "Overloaded",
};

/** The RFC 9457 body of an error. */
export function encodeProblem(error: FxError, requestId: string): ProblemJson {
  const code = answerCodes.find((known) => known === error.code) ?? "internal";
  return {
    type: `urn:fx:error:${code}`,
    title: titleOf[code],
    status: statusOf[code],
    detail: error.message,
    instance: `urn:fx:request:${requestId}`,
    code,
    ...(error.fields !== undefined && { errors: [...error.fields] }),
  };
}

/** The error in the body of an answer with this status, or undefined if fx did not send it. */
export function decodeProblem(
  body: unknown,
  status: number,
  { retryAfterSeconds, replayed }: { retryAfterSeconds?: number | undefined; replayed?: boolean } = {},
): FxError | undefined {
  const { data } = problem.safeParse(body);
  if (data === undefined || statusOf[data.code] !== status) return undefined;
  return new FxError(data.code, data.detail, {
    ...(data.errors !== undefined && { fields: data.errors }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(replayed !== undefined && { replayed }),
  });
}
