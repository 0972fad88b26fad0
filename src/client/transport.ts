import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Got, RequestError } from "got";
import { OutcomeUnknown, ServerUnreachable } from "./errors.ts";

export interface Request {
  readonly method: "GET" | "POST";
  /** Under the base URL, from its first slash, with parameters encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** Whether a lost answer may be had by sending the request again. */
  readonly repeatable: boolean;
  readonly timeoutMs?: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** What the body says as JSON; undefined if it is none. */
  readonly body: unknown;
}

export interface TransportOptions {
  readonly connectTimeoutMs?: number;
  readonly answerTimeoutMs?: number;
  /** The longest pause before the first repetition; it doubles for each further one. */
  readonly pauseMs?: number;
}

const attempts = 4;
/** What a proxy answers while it cannot reach the server behind it. */
const gatewayStatuses = [502, 503, 504];

/** HTTP to one server, over connections that are kept, with answers that are lost on the way asked for again. */
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
   * @throws ServerUnreachable, or OutcomeUnknown for a POST that was sent
   */
  async send(request: Request): Promise<Answer> {
    let wasSent = false;
    for (let attempt = 1; ; attempt += 1) {
      const result = await this.#attempt(request);
      const isLast = attempt === attempts || !request.repeatable;
      if ("answer" in result) {
        const { status, body } = result.answer;
        const isGateway = gatewayStatuses.includes(status) && body === undefined;
        if (isLast || !isGateway) return result.answer;
        wasSent = true;
      } else {
        wasSent ||= result.wasSent;
        // Where nobody listens now, somebody may in a moment, but only what was sent is worth waiting for.
        if (isLast || !wasSent) throw this.#failure(request, result.reason, wasSent);
      }
      await pause(Math.random() * this.#options.pauseMs * 2 ** (attempt - 1));
    }
  }

  close(): void {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }

  async #attempt({ method, path, query, headers, body, timeoutMs }: Request) {
    // Imported here, because it takes as long as starting Node, and most commands do without.
    this.#got ??= import("got").then(({ got }) => got);
    const got = await this.#got;
    const { connectTimeoutMs: connect, answerTimeoutMs } = this.#options;
    try {
      const response = await got(`${this.#base}${path}`, {
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
      const answer: Answer = {
        status: response.statusCode,
        headers: response.headers,
        body: parseBody(response.body),
      };
      return { answer };
    } catch (error) {
      return failureOf(error as RequestError);
    }
  }

  #failure({ method }: Request, reason: string, wasSent: boolean): Error {
    if (method === "POST" && wasSent) {
      return new OutcomeUnknown(`The request was sent to ${this.place}, and no answer came (${reason}).`);
    }
    return new ServerUnreachable(
      wasSent
        ? `No answer came from ${this.place} (${reason}).`
        : `Nothing answers at ${this.place} (${reason}).`,
    );
  }
}

/** A request is on its way from the moment there is a connection; before that, nothing can have been sent. */
function failureOf(error: RequestError): { reason: string; wasSent: boolean } {
  const { connect, secureConnect } = error.timings ?? {};
  const isSecure = String(error.options?.url ?? "").startsWith("https:");
  return {
    reason: reasons[error.code] ?? error.code ?? error.name,
    wasSent: (isSecure ? secureConnect : connect) !== undefined,
  };
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection lost",
  EPIPE: "connection lost",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "the name could not be looked up",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no network",
  ETIMEDOUT: "timed out",
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
