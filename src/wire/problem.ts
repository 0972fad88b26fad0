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

const kinds: Readonly<Record<AnswerCode, readonly [status: number, title: string]>> = {
  "invalid-request": [400, "The request is not valid"],
  "invalid-pesel": [400, "The PESEL is not valid"],
  "pesel-mismatch": [400, "The PESELs of path and body differ"],
  underage: [400, "The holder is a minor"],
  "unsupported-currency": [400, "The currency cannot be exchanged"],
  "same-currency": [400, "Both currencies are the same"],
  "invalid-amount": [400, "The amount is not valid"],
  "amount-too-small": [400, "The amount is too small"],
  "insufficient-funds": [400, "Not enough money"],
  "balance-limit": [400, "The balance would be too large"],
  "rate-changed": [400, "Another rate table is in force"],
  "trading-suspended": [400, "Trading is suspended"],
  "already-reversed": [400, "Reversed before"],
  "not-reversible": [400, "This cannot be reversed"],
  "account-closed": [400, "The account is closed"],
  "account-blocked": [400, "The account is blocked"],
  "account-not-blocked": [400, "The account is not blocked"],
  "account-not-empty": [400, "The account holds money"],
  "account-not-found": [404, "No such account"],
  "not-found": [404, "Not found"],
  "method-not-allowed": [405, "Method not allowed"],
  "account-exists": [409, "The account exists"],
  "idempotency-key-reused": [422, "The Idempotency-Key was used before"],
  "rates-unavailable": [500, "No usable rates"],
  "storage-unavailable": [500, "The store failed"],
  internal: [500, "Internal error"],
  unauthorized: [401, "Not authenticated"],
  forbidden: [403, "Not allowed"],
  "rate-limited": [429, "Too many requests"],
  overloaded: [503, "Overloaded"],
};

/** The HTTP status of each code. */
export const statusOf = Object.fromEntries(answerCodes.map((code) => [code, kinds[code][0]])) as Readonly<
  Record<AnswerCode, number>
>;

/** A gateway's problems have another type, even if they have a code of fx. */
const typeOf = (code: AnswerCode) => `urn:fx:error:${code}`;

/** The RFC 9457 body of an error. */
export function encodeProblem(error: FxError, requestId: string): ProblemJson {
  const code = answerCodes.find((known) => known === error.code) ?? "internal";
  const [status, title] = kinds[code];
  return {
    type: typeOf(code),
    title,
    status,
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
  if (data === undefined || statusOf[data.code] !== status || data.type !== typeOf(data.code))
    return undefined;
  return new FxError(data.code, data.detail, {
    ...(data.errors !== undefined && { fields: data.errors }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(replayed !== undefined && { replayed }),
  });
}
