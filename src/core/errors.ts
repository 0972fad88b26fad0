/** Every way in which fx refuses or fails. Stable: programs tell errors apart by these and by nothing else. */
export const errorCodes = [
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
  "account-not-found",
  "not-found",
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

export type ErrorCode = (typeof errorCodes)[number];

/** One field of a request that is wrong. `pointer` is an RFC 6901 JSON pointer into the body. */
export interface FieldError {
  readonly pointer: string;
  readonly detail: string;
}

/** A refusal or failure with a code of the closed set. `message` says what happened, why, and what to do. */
export class FxError extends Error {
  override readonly name = "FxError";
  readonly code: ErrorCode;
  readonly fields: readonly FieldError[] | undefined;
  /** After how many seconds the same request may well succeed. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { fields?: readonly FieldError[]; retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.fields = options.fields;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}
