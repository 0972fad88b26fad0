import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Got, Request as GotStream, PlainResponse, RequestError, Response } from "got";
import { FxError } from "../core/errors.ts";
import { refusePlainHttp } from "../wire/plain-http.ts";
import { type Fault, Retries } from "./retries.ts";

export interface HttpRequest {
  readonly method: "GET" | "POST";
  /** Under the base URL, from its first slash, with parameters encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** Whether it may be sent again while its outcome is unknown. */
  readonly repeatable: boolean;
  /** Whether the server has the whole journal to read. */
  readonly readsJournal?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** What the body says as JSON; undefined if it is none. */
  readonly body: unknown;
  readonly retryAfterSeconds: number | undefined;
}

/** The result of an attempt, or why there is none. */
export type Attempt<T> = { readonly value: T } | Fault;

export interface TransportOptions {
  /** Sent with every request, to this server only. */
  readonly token?: string | undefined;
  /** Whether a token or a password may go to another machine without TLS. */
  readonly allowPlainHttp?: boolean;
  readonly connectTimeoutMs?: number;
  readonly answerTimeoutMs?: number;
  /** The longest pause before the first repetition; it doubles for each further one. */
  readonly pauseMs?: number;
  /** How long the server may say nothing while it reads the whole journal. */
  readonly journalTimeoutMs?: number;
}

/** In bytes. A page of 1000 accounts with every currency has 2.3 MB, one of 1000 entries with notes 2.7 MB. */
export const longestAnswer = 4 * 1024 * 1024;
/** In bytes. */
const longestProblem = 65_536;

/** Without `accept-encoding`, an answer could come in any coding. */
const usualHeaders = { "user-agent": "fx", "accept-encoding": "identity" } as const;

/**
 * HTTP to one server, over connections that stay open. A request whose outcome is unknown is sent again until it is
 * settled.
 */
export class Transport {
  /** The base URL for messages: without credentials. */
  readonly place: string;
  readonly #base: string;
  readonly #query: Readonly<Record<string, string>>;
  readonly #authorization: { readonly authorization?: string };
  readonly #options: Required<Omit<TransportOptions, "token" | "allowPlainHttp">>;
  readonly #agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };
  #got: Promise<Got> | undefined;

  /** @throws PlainHttpError */
  constructor(baseUrl: string, { token, allowPlainHttp = false, ...options }: TransportOptions = {}) {
    const url = new URL(baseUrl);
    if (!allowPlainHttp) refusePlainHttp(url, token);
    this.place = `${url.origin}${url.pathname}`.replace(/\/+$/, "");
    const credentials = url.username && `${url.username}:${url.password}@`;
    this.#base = `${url.protocol}//${credentials}${url.host}${url.pathname}`.replace(/\/+$/, "");
    this.#query = Object.fromEntries(url.searchParams);
    this.#authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    this.#options = {
      connectTimeoutMs: 5000,
      answerTimeoutMs: 30_000,
      pauseMs: 200,
      journalTimeoutMs: 3_600_000,
      ...options,
    };
  }

  /**
   * Once an attempt has left open what became of the request, only an answer from which `read` gives a value, or
   * throws, settles it.
   * @throws what `read` throws; FxError unreachable, outcome-unknown, and the failure of the only attempt or of all alike
   */
  async send<T>(request: HttpRequest, read: (answer: Answer) => Attempt<T>): Promise<T> {
    const retries = this.retries(request.method);
    for (;;) {
      const attempt = await this.#attempt(request, read);
      if ("value" in attempt) return attempt.value;
      const failure = await retries.after(attempt, request.repeatable);
      if (failure !== undefined) throw failure;
    }
  }

  /** When the attempts at a request are repeated. */
  retries(method: "GET" | "POST"): Retries {
    return new Retries(method, this.#options.pauseMs);
  }

  /**
   * One whose answer is read as it comes. A failure of it is an error that `failureOf` explains.
   * @param readsJournal whether the server has the whole journal to read. Its answer is then to be read with `chunks`
   */
  async stream(
    { method, path, headers, query }: Pick<HttpRequest, "method" | "path" | "headers" | "query">,
    { readsJournal = false }: { readonly readsJournal?: boolean } = {},
  ): Promise<GotStream> {
    const { answerTimeoutMs: socket, journalTimeoutMs } = this.#options;
    return (await this.#load()).stream(`${this.#base}${path}`, {
      ...this.#common(query),
      method,
      headers: { accept: headers?.["content-type"], ...usualHeaders, ...headers, ...this.#authorization },
      timeout: {
        ...this.#connectTimeouts,
        ...(readsJournal ? { send: journalTimeoutMs, response: journalTimeoutMs } : { socket }),
      },
    });
  }

  /** The chunks of an answer about the whole journal. Whoever reads them may take any time. */
  async *chunks<T>(answer: GotStream): AsyncGenerator<T> {
    const chunks = answer[Symbol.asyncIterator]() as AsyncIterator<T>;
    for (;;) {
      const silence = setTimeout(
        () => answer.destroy(Object.assign(new Error("silent"), { code: "ETIMEDOUT" })),
        this.#options.journalTimeoutMs,
      );
      const { value, done } = await chunks.next().finally(() => clearTimeout(silence));
      if (done) return;
      yield value;
    }
  }

  close(): void {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }

  async #attempt<T>(request: HttpRequest, read: (answer: Answer) => Attempt<T>): Promise<Attempt<T>> {
    const { method, path, query, headers, body, readsJournal } = request;
    const got = await this.#load();
    const { answerTimeoutMs, journalTimeoutMs } = this.#options;
    let response: Response<string>;
    try {
      const answer = got(`${this.#base}${path}`, {
        ...this.#common(query),
        method,
        headers: { accept: "application/json", ...usualHeaders, ...headers, ...this.#authorization },
        ...(body !== undefined && { json: body }),
        timeout: { ...this.#connectTimeouts, request: readsJournal ? journalTimeoutMs : answerTimeoutMs },
      });
      void answer.on("downloadProgress", ({ transferred }) => {
        if (transferred > longestAnswer) answer.cancel();
      });
      response = await answer;
    } catch (error) {
      return this.failureOf(method, error as RequestError);
    }
    const answer = answerOf(response, String(response.body));
    return { retryAfterSeconds: answer.retryAfterSeconds, ...read(answer) };
  }

  /**
   * A redirect could lead a request, and its token, to another host. A compressed answer could be a thousand times as
   * long as what arrives, so none is asked for or unpacked.
   */
  #common(query: HttpRequest["query"]) {
    return {
      agent: this.#agents,
      searchParams: { ...this.#query, ...query },
      retry: { limit: 0 },
      throwHttpErrors: false,
      followRedirect: false,
      decompress: false,
    } as const;
  }

  get #connectTimeouts() {
    const { connectTimeoutMs: connect } = this.#options;
    return { lookup: connect, connect, secureConnect: connect };
  }

  #load(): Promise<Got> {
    // Imported here, because loading it is slow and most commands do not need it.
    this.#got ??= import("got").then(({ got }) => got);
    return this.#got;
  }

  /** What an error of a connection is, and whether it leaves the outcome of the request unknown. */
  failureOf(method: "GET" | "POST", error: RequestError): Fault {
    const fault = certificateFaults[error.code];
    if (fault !== undefined) {
      const hint = fault === untrusted ? trustHint : "Ask whoever runs the server.";
      const failure = new FxError("unreachable", `The certificate of ${this.place} ${fault}.`, { hint });
      return { failure, isOpen: false };
    }
    if (error.code === "ERR_CANCELED") {
      return this.notFx(method, "its answer is longer than any of fx");
    }
    const reason = error.code?.startsWith("HPE_")
      ? "what answers there does not speak HTTP"
      : (reasons[error.code] ?? error.code ?? error.name);
    if (!wasSent(error)) {
      const failure = new FxError("unreachable", `Nothing answers at ${this.place} (${reason}).`);
      return { failure, isOpen: false };
    }
    return this.noAnswer(method, reason);
  }

  /** The failure of a request that was sent. */
  noAnswer(method: "GET" | "POST", reason: string): Fault {
    const failure =
      method === "GET"
        ? new FxError("unreachable", `No answer came from ${this.place} (${reason}).`)
        : new FxError(
            "outcome-unknown",
            `The request was sent to ${this.place}, and no answer came (${reason}).`,
          );
    return { failure, isOpen: true };
  }

  /** The failure of a request that was answered by something else than fx. */
  notFx(method: "GET" | "POST", what: string): Fault & { readonly failure: FxError } {
    if (method === "GET") {
      const failure = new FxError("internal", `What answers at ${this.place} is not fx (${what}).`);
      return { failure, isOpen: false };
    }
    const message = `The request was sent to ${this.place}, and what answered is not fx (${what}).`;
    return { failure: new FxError("outcome-unknown", message), isOpen: true };
  }
}

/** The text of an answer, or as much of it as is not too long and comes in time: by default, that of a problem. */
export async function textOf(
  answer: AsyncIterable<Buffer | string>,
  { most = longestProblem, withinMs = 30_000 } = {},
): Promise<string> {
  const deadline = performance.now() + withinMs;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer) {
    chunks.push(Buffer.from(chunk));
    length += chunk.length;
    if (length > most || performance.now() > deadline) break;
  }
  return Buffer.concat(chunks).toString();
}

export function answerOf({ statusCode, headers }: PlainResponse, text: string): Answer {
  const seconds = Number(headers["retry-after"]);
  const retryAfterSeconds = Number.isInteger(seconds) && seconds > 0 ? seconds : undefined;
  const body = statusCode >= 400 && text.length > longestProblem ? undefined : parseBody(text);
  return { status: statusCode, headers, body, retryAfterSeconds };
}

/** What an answer that is not of fx is, in a few words. */
export function whatAnswered({ status, headers }: Answer, withType = true): string {
  const { location, "content-type": type = "no content type", "content-encoding": encoding } = headers;
  const to = typeof location === "string" && status >= 300 && status < 400 ? placeOf(location) : undefined;
  return [
    `status ${status}`,
    ...(to === undefined ? [] : [`a redirect to ${to}`]),
    ...(withType && to === undefined ? [String(type).slice(0, 100)] : []),
    ...(encoding === undefined ? [] : [String(encoding).slice(0, 100)]),
  ].join(", ");
}

/** Where a redirect leads, without what may be a secret. */
function placeOf(location: string): string {
  const [path = ""] = location.split(/[?#]/);
  return (URL.canParse(path) ? `${new URL(path).origin}${new URL(path).pathname}` : path).slice(0, 200);
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
