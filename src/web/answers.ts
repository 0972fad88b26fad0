import { type ErrorCode, FxError, isOfRequest, undecided } from "../core/errors.ts";

/** No answer came, or none of fx: whether a request that moves money was carried out is not known. */
export class NoAnswer extends Error {}

/** Whether a failure is a refusal with this code. */
export function isRefusal(failure: unknown, code: ErrorCode): boolean {
  return failure instanceof FxError && failure.code === code;
}

/**
 * Whether the outcome of the request that failed so is unknown.
 * @param wasUnknown whether an earlier attempt has an unknown outcome. A server that is busy or refuses the token says
 * nothing about that one; one that has its key with an earlier token says only that it arrived.
 */
export function isOutcomeUnknown(failure: unknown, wasUnknown: boolean): boolean {
  if (!(failure instanceof FxError)) return true;
  const { code } = failure;
  return (
    undecided.includes(code) || (wasUnknown && (!isOfRequest(code) || code === "idempotency-key-reused"))
  );
}

export interface KeyedRequest {
  readonly body: object;
  /** The idempotency key: a request that is sent again with it is not carried out again. */
  readonly key: string;
  /** The id of the only table that an order may be settled at. */
  readonly tableId?: string | undefined;
}

export type Query = Readonly<Record<string, string | number | undefined>>;

/** @param path without a slash at its start, with its parts encoded */
export function urlOf(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]));
  return given.length === 0 ? path : `${path}?${search}`;
}

/** The server, as the page asks it. */
export interface Server {
  /** @param url of `urlOf` */
  get<T>(url: string, signal?: AbortSignal): Promise<T>;
  /** @returns the id of the receipt, which is empty where there is none */
  change(path: string, change: KeyedRequest): Promise<string>;
}

/** A key that no request has had. */
export function newKey(): string {
  // crypto.randomUUID is there only for pages of https and of loopback.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
