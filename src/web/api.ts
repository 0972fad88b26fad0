import { isOfRequest, undecided } from "../core/errors.ts";
import type { ProblemJson } from "../wire/schemas.ts";

/** What the server answered instead of what was asked for. */
export class Refusal extends Error {
  readonly problem: ProblemJson;

  constructor(problem: ProblemJson) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** No answer came, or none of fx: whether a request that moves money was carried out is not known. */
export class NoAnswer extends Error {}

/**
 * Whether it is not known what became of the request that failed so.
 * @param wasOpen whether it was not known before this attempt, either. A server that is busy or takes no token says
 * nothing of that one.
 */
export function isOpen(failure: unknown, wasOpen: boolean): boolean {
  if (!(failure instanceof Refusal)) return true;
  const { code } = failure.problem;
  return undecided.includes(code) || (wasOpen && !isOfRequest(code));
}

/** What a change of an account came to. */
export interface Done<T> {
  /** Undefined where the answer has no body. */
  readonly body: T;
  readonly receiptId: string;
}

export interface Change {
  readonly body: object;
  /** The idempotency key: a request that is sent again with it is not carried out again. */
  readonly key: string;
  /** The id of the only table that an order may be settled at. */
  readonly tableId?: string;
}

type Query = Readonly<Record<string, string | number | undefined>>;

const timeoutMs = 30_000;

/** The public HTTP API of the server that the page came from. */
export class Api {
  #token: string | undefined;
  readonly #onUnauthorized: () => void;

  /** @param onUnauthorized is called when the server asks for a token, or for another */
  constructor(token: string | undefined, onUnauthorized: () => void) {
    this.#token = token;
    this.#onUnauthorized = onUnauthorized;
  }

  set token(token: string | undefined) {
    this.#token = token;
  }

  /** @param path without a slash at its start, with its parts encoded */
  async get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
    const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
    const response = await this.#send(given.length === 0 ? path : `${path}?${search}`, { signal });
    return (await bodyOf(response)) as T;
  }

  async change<T>(path: string, { body, key, tableId }: Change): Promise<Done<T>> {
    const headers = {
      "content-type": "application/json",
      "idempotency-key": key,
      ...(tableId !== undefined && { "fx-table": tableId }),
    };
    const response = await this.#send(path, { method: "POST", headers, body: JSON.stringify(body) });
    const receipt = response.headers.get("fx-receipt") ?? "";
    return {
      body: (response.status === 204 ? undefined : await bodyOf(response)) as T,
      receiptId: receipt.slice(receipt.lastIndexOf("/") + 1),
    };
  }

  /** The lines of an answer, as many at a time as come together. It may take any time. */
  async *lines(
    path: string,
    signal: AbortSignal,
    init: Omit<RequestInit, "signal"> = {},
  ): AsyncGenerator<readonly string[]> {
    const { body } = await this.#send(path, { ...init, signal }, Infinity);
    const reader = (body ?? new Blob().stream()).pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read().catch((error: unknown) => {
        if (signal.aborted) throw error;
        throw new NoAnswer();
      });
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      if (lines.length > 0) yield lines;
    }
    // A line without an end was cut off.
    if (rest !== "") throw new NoAnswer();
  }

  async #send(
    path: string,
    init: Omit<RequestInit, "signal"> & { signal?: AbortSignal | undefined },
    withinMs = timeoutMs,
  ) {
    const { signal, ...rest } = init;
    const limit = withinMs === Infinity ? undefined : AbortSignal.timeout(withinMs);
    const headers = new Headers(init.headers);
    if (this.#token !== undefined) headers.set("authorization", `Bearer ${this.#token}`);
    let response: Response;
    try {
      response = await fetch(path, {
        ...rest,
        headers,
        cache: "no-store",
        redirect: "error",
        signal: AbortSignal.any([signal, limit].filter((each) => each !== undefined)),
      });
      if (response.ok) return response;
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new NoAnswer();
    }
    const problem = (await response.json().catch(() => undefined)) as ProblemJson | undefined;
    if (problem?.code === undefined) throw new NoAnswer();
    if (problem.code === "unauthorized") this.#onUnauthorized();
    throw new Refusal(problem);
  }
}

/** The body; of an account, whether it is closed, too, which a header says. */
async function bodyOf(response: Response): Promise<unknown> {
  const body: object = await response.json();
  return response.headers.get("fx-account") === "closed" ? { ...body, closed: true } : body;
}

/** A key that no request has had. */
export function newKey(): string {
  // crypto.randomUUID is there only for pages of https and of loopback.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
