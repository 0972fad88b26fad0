import { maskPesels } from "./mask.ts";

/** Every code with which fx refuses or fails. Stable: programs tell errors apart by the code alone. */
export const answerCodes = [
  "invalid-request",
  "invalid-pesel",
  "pesel-mismatch",
  "underage",
  "unsupported-currency",
  "same-currency",
  "invalid-amount",
  "amount-too-small",
  "insufficient-funds",
  "balance-limit",
  "rate-changed",
  "trading-suspended",
  "already-reversed",
  "not-reversible",
  "account-closed",
  "account-blocked",
  "account-not-blocked",
  "account-not-empty",
  "account-not-found",
  "not-found",
  "method-not-allowed",
  "account-exists",
  "idempotency-key-reused",
  "rates-unavailable",
  "storage-unavailable",
  "internal",
  "unauthorized",
  "forbidden",
  "rate-limited",
  "overloaded",
] as const;

export type AnswerCode = (typeof answerCodes)[number];

/**
 * Failures that only a client of a server finds. Unreachable: nothing can have been done. Outcome unknown: a request that
 * moves money was sent, and no answer of fx came back.
 */
type ClientCode = "unreachable" | "outcome-unknown";

export type ErrorCode = AnswerCode | ClientCode;

/** Codes of answers that do not say whether the request was done. */
export const undecided: readonly ErrorCode[] = ["storage-unavailable", "internal"];

/** Codes with which other requests would fail, too, and this one may succeed later. */
const notOfRequest: readonly ErrorCode[] = [
  ...undecided,
  "rates-unavailable",
  "trading-suspended",
  "unauthorized",
  "forbidden",
  "rate-limited",
  "overloaded",
  "unreachable",
  "outcome-unknown",
];

/** Whether a failure is that of one request, and not of the server or the caller. */
export function isOfRequest(code: ErrorCode): boolean {
  return !notOfRequest.includes(code);
}

/** One field of a request that is wrong. `pointer` is an RFC 6901 JSON pointer into the body. */
export interface FieldError {
  readonly pointer: string;
  readonly detail: string;
}

/**
 * A refusal or failure with a code of the closed set. `message` says what happened, why, and what to do. PESELs are
 * masked in it, and in the fields.
 */
export class FxError extends Error {
  override readonly name = "FxError";
  readonly code: ErrorCode;
  readonly fields: readonly FieldError[] | undefined;
  /** After how many seconds the same request may well succeed. */
  readonly retryAfterSeconds: number | undefined;
  /** Whether this repeats the answer to an earlier request with the same key. */
  readonly replayed: boolean;
  /** The advice to the user, if it differs between failures with this code. */
  readonly hint: string | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      fields?: readonly FieldError[];
      retryAfterSeconds?: number;
      replayed?: boolean;
      hint?: string;
      cause?: unknown;
    } = {},
  ) {
    super(maskPesels(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.fields = options.fields?.map(({ pointer, detail }) => {
      return { pointer: maskPesels(pointer), detail: maskPesels(detail) };
    });
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.replayed = options.replayed ?? false;
    this.hint = options.hint;
  }
}
