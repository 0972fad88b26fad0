import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Got, Request as GotStream, PlainResponse, RequestError, Response } from "got";
import { FxError } from "../core/errors.ts";

export interface Request {
  readonly method: "GET" | "POST";
  /** Under the base URL, from its first slash, with parameters encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** Whether it may be sent again while its outcome is unknown. */
  readonly repeatable: boolean;
  readonly timeoutMs?: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** What the body says as JSON; undefined if it is none. */
  readonly body: unknown;
  readonly retryAfterSeconds: number | undefined;
}

/** The result of an attempt, or a failure, which may leave the outcome of the request unknown. */
export type Attempt<T> = { readonly value: T } | { readonly failure: Error; readonly isOpen: boolean };

export interface TransportOptions {
  readonly connectTimeoutMs?: number;
  readonly answerTimeoutMs?: number;
  /** The longest pause before the first repetition; it doubles for each further one. */
  readonly pauseMs?: number;
}

const attempts = 4;
/** The longest that a server's Retry-After is waited for. */
const longestWaitSeconds = 5;

/**
 * HTTP to one server, over connections that stay open. A request whose outcome is unknown is sent again until it is
 * settled.
 */
export class Transport {
  /** The base URL for messages: without credentials. */
  readonly place: string;
  readonly #base: string;
  readonly #options: Required<TransportOptions>;
  readonly #agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };
  #got: Promise<Got> | undefined;

  constructor(baseUrl: string, options: TransportOptions = {}) {
    const url = new URL(baseUrl);
    this.place = `${url.origin}${url.pathname}`.replace(/\/+$/, "");
    const credentials = url.username && `${url.username}:${url.password}@`;
    this.#base = `${url.protocol}//${credentials}${url.host}${url.pathname}`.replace(/\/+$/, "");
    this.#options = { connectTimeoutMs: 5000, answerTimeoutMs: 30_000, pauseMs: 200, ...options };
  }

  /**
   * Once an attempt has left open what became of the request, only an answer from which `read` gives a value, or
   * throws, settles it.
   * @throws what `read` throws; FxError unreachable, outcome-unknown, and the failure of the only attempt or of all alike
   */
  async send<T>(request: Request, read: (answer: Answer) => Attempt<T>): Promise<T> {
    const failures: Error[] = [];
    let isOpen = false;
    for (;;) {
      const { retryAfterSeconds = 0, ...attempt } = await this.#attempt(request, read);
      if ("value" in attempt) return attempt.value;
      failures.push(attempt.failure);
      isOpen ||= attempt.isOpen;
      // A server may start listening in a moment, but only a request whose outcome is unknown is worth the wait.
      if (!isOpen || !request.repeatable || failures.length === attempts)
        throw outcomeOf(request.method, failures);
      await this.pause(failures.length, retryAfterSeconds);
    }
  }

  /** One whose answer is read as it comes. A failure of it is an error that `failureOf` explains. */
  async stream(
    { method, path, headers, query }: Pick<Request, "method" | "path" | "headers" | "query">,
    { waits = false }: { readonly waits?: boolean } = {},
  ): Promise<GotStream> {
    const { connectTimeoutMs: connect, answerTimeoutMs: socket } = this.#options;
    return (await this.#load()).stream(`${this.#base}${path}`, {
      method,
      agent: this.#agents,
      headers: { accept: headers?.["content-type"], "user-agent": "fx", ...headers },
      ...(query !== undefined && { searchParams: query }),
      timeout: { lookup: connect, connect, secureConnect: connect, ...(!waits && { socket }) },
      retry: { limit: 0 },
      throwHttpErrors: false,
      followRedirect: false,
    });
  }

  /** Waits before the attempt after so many failed ones. */
  async pause(failures: number, retryAfterSeconds = 0): Promise<void> {
    const waitMs = 1000 * Math.min(retryAfterSeconds, longestWaitSeconds);
    await pause(waitMs + Math.random() * this.#options.pauseMs * 2 ** (failures - 1));
  }

  close(): void {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }

  async #attempt<T>(
    request: Request,
    read: (answer: Answer) => Attempt<T>,
  ): Promise<Attempt<T> & { readonly retryAfterSeconds?: number | undefined }> {
    const { method, path, query, headers, body, timeoutMs } = request;
    const got = await this.#load();
    const { connectTimeoutMs: connect, answerTimeoutMs } = this.#options;
    let response: Response<string>;
    try {
      response = await got(`${this.#base}${path}`, {
        method,
        agent: this.#agents,
        headers: { accept: "application/json", "user-agent": "fx", ...headers },
        ...(query !== undefined && { searchParams: query }),
        ...(body !== undefined && { json: body }),
        timeout: { lookup: connect, connect, secureConnect: connect, request: timeoutMs ?? answerTimeoutMs },
        retry: { limit: 0 },
        throwHttpErrors: false,
        followRedirect: false,
      });
    } catch (error) {
      return this.failureOf(method, error as RequestError);
    }
    const answer = answerOf(response, response.body);
    return { ...read(answer), retryAfterSeconds: answer.retryAfterSeconds };
  }

  #load(): Promise<Got> {
    // Imported here, because loading it is slow and most commands do not need it.
    this.#got ??= import("got").then(({ got }) => got);
    return this.#got;
  }

  /** What an error of a connection is, and whether it leaves the outcome of the request unknown. */
  failureOf(method: "GET" | "POST", error: RequestError): { failure: Error; isOpen: boolean } {
    const fault = certificateFaults[error.code];
    if (fault !== undefined) {
      const hint = fault === untrusted ? trustHint : "Ask whoever runs the server.";
      const failure = new FxError("unreachable", `The certificate of ${this.place} ${fault}.`, { hint });
      return { failure, isOpen: false };
    }
    const reason = reasons[error.code] ?? error.code ?? error.name;
    if (!wasSent(error)) {
      const failure = new FxError("unreachable", `Nothing answers at ${this.place} (${reason}).`);
      return { failure, isOpen: false };
    }
    const failure =
      method === "GET"
        ? new FxError("unreachable", `No answer came from ${this.place} (${reason}).`)
        : new FxError(
            "outcome-unknown",
            `The request was sent to ${this.place}, and no answer came (${reason}).`,
          );
    return { failure, isOpen: true };
  }
}

/** At most as much as a problem needs. */
export async function textOf(stream: AsyncIterable<Buffer | string>): Promise<string> {
  let text = "";
  for await (const chunk of stream) {
    text += String(chunk);
    if (text.length > 65_536) break;
  }
  return text;
}

export function answerOf({ statusCode, headers }: PlainResponse, text: string): Answer {
  const seconds = Number(headers["retry-after"]);
  const retryAfterSeconds = Number.isInteger(seconds) && seconds > 0 ? seconds : undefined;
  return { status: statusCode, headers, body: parseBody(text), retryAfterSeconds };
}

/** The failure of a request whose last attempt settled it no more than those before did. */
export function outcomeOf(method: "GET" | "POST", failures: readonly Error[]): Error {
  const [first, last] = [failures[0] as Error, failures.at(-1) as Error];
  if (method === "GET" || failures.every((failure) => kindOf(failure) === kindOf(first))) return last;
  return new FxError("outcome-unknown", `${first.message} Sent again: ${last.message}`);
}

function kindOf(failure: Error): string {
  return failure instanceof FxError ? failure.code : failure.name;
}

/** A request is on its way from the moment there is a connection; before that, nothing can have been sent. */
function wasSent({ timings, options }: RequestError): boolean {
  const { connect, secureConnect } = timings ?? {};
  const isSecure = String(options?.url ?? "").startsWith("https:");
  return (isSecure ? secureConnect : connect) !== undefined;
}

const wrongProtocol = "what listens there is not https; http:// may be meant";

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection lost",
  EPIPE: "connection lost",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "the name could not be looked up",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no network",
  ETIMEDOUT: "timed out",
  EPROTO: wrongProtocol,
  ERR_SSL_WRONG_VERSION_NUMBER: wrongProtocol,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: wrongProtocol,
};

const untrusted = "is not signed by an authority that this machine trusts";
const trustHint =
  "If you trust it, save its authority's certificate, or the certificate itself if it is self-signed, as a PEM file, " +
  "and set NODE_EXTRA_CA_CERTS to the path of that file.";

/** What is wrong with a certificate, by the error of Node's TLS. Nothing was sent then. */
const certificateFaults: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  CERT_HAS_EXPIRED: "has expired",
  CERT_NOT_YET_VALID: "is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "is for another host",
};

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
