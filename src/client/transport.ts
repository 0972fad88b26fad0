import { validateHeaderValue } from "node:http";
import type { Delays, Request as GotStream, RequestError } from "got";
import { FxError } from "../core/errors.ts";
import { type Route, requestHeaders, requestOptions, routeTo } from "../outbound/proxy.ts";
import { refusePlainHttp } from "../wire/plain-http.ts";
import { type Answer, answerOf, headOf, longestAnswer, textOf } from "./answer.ts";
import { type Fault, Retries } from "./retries.ts";

export interface HttpRequest {
  readonly method: "GET" | "POST";
  /** The path below the base URL, with its first slash, and with parameters encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** Whether it may be sent again while its outcome is unknown. */
  readonly repeatable: boolean;
  /** Whether the server has the whole journal to read. */
  readonly readsJournal?: boolean;
  /** The maximum bytes of the answer. `longestAnswer` if absent. */
  readonly longest?: number | undefined;
}

/** The result of an attempt, or why there is none. */
export type Attempt<T> = { readonly value: T } | Fault;

export interface TransportOptions {
  /** Sent with every request, to this server only. */
  readonly token?: string | undefined;
  /** Lets a token or a password go to another machine without TLS, where the network can read it. */
  readonly allowPlainHttp?: boolean;
  /** Time limit for a connection: 5,000 if absent. */
  readonly connectTimeoutMs?: number;
  /** Time limit for a whole answer, and for each part of a stream: 30,000 if absent. */
  readonly answerTimeoutMs?: number;
  /** The longest pause before the first repetition; it doubles for each further one. */
  readonly pauseMs?: number;
  /** Time limit for each part of an answer about the whole journal: 3,600,000 if absent. */
  readonly journalTimeoutMs?: number;
}

/** A hint where nothing is known to listen. */
const networkHint = "Check the address, and the network on the way there.";

/**
 * HTTP to one server, over connections that stay open. A request whose outcome is unknown is sent again until it is
 * settled.
 */
export class Transport {
  /** The base URL for messages: without credentials. */
  readonly target: string;
  readonly #base: string;
  readonly #query: Readonly<Record<string, string>>;
  readonly #authorization: { readonly authorization?: string };
  readonly #options: Required<Omit<TransportOptions, "token" | "allowPlainHttp">>;
  readonly #route: Route;

  /**
   * @throws PlainHttpError, FxError unreachable; TypeError unless it is an address of HTTP, and a header can have the token
   */
  constructor(baseUrl: string, { token, allowPlainHttp = false, ...options }: TransportOptions = {}) {
    const url = new URL(baseUrl);
    if (!/^https?:$/.test(url.protocol)) {
      throw new TypeError("The url does not begin with http:// or https://.");
    }
    if (token !== undefined) validateHeaderValue("authorization", `Bearer ${token}`);
    if (!allowPlainHttp) refusePlainHttp(url, token);
    this.#route = routeTo(url, { keepAlive: true });
    this.target = `${url.origin}${url.pathname}`.replace(/\/+$/, "");
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
   * Once the outcome of an attempt is unknown, only an answer from which `read` gives a value, or throws, settles it.
   * @param read gets the answer, and whether the outcome of an earlier attempt is unknown
   * @throws what `read` throws; FxError unreachable, outcome-unknown, and the failure of the only attempt or of all alike
   */
  async send<T>(request: HttpRequest, read: (answer: Answer, wasUnknown: boolean) => Attempt<T>): Promise<T> {
    const retries = this.retries(request.method);
    for (let wasUnknown = false; ; ) {
      const attempt = await this.#attempt(request, (answer) => read(answer, wasUnknown));
      if ("value" in attempt) return attempt.value;
      wasUnknown ||= attempt.outcomeUnknown;
      const failure = await retries.after(attempt, request.repeatable);
      if (failure !== undefined) throw failure;
    }
  }

  get answerTimeoutMs(): number {
    return this.#options.answerTimeoutMs;
  }

  /** When the attempts at a request are repeated. */
  retries(method: "GET" | "POST", { isPatient = false } = {}): Retries {
    return new Retries(method, this.#options.pauseMs, isPatient);
  }

  /**
   * Sends a request whose answer is read as it comes. A failure of it is an error that `failureOf` explains. An answer for
   * which the server reads the whole journal is to be read with `chunks`.
   */
  stream(request: Omit<HttpRequest, "repeatable">): Promise<GotStream> {
    const { answerTimeoutMs: socket, journalTimeoutMs: ms } = this.#options;
    return this.#open(request, request.readsJournal ? { send: ms, response: ms } : { socket });
  }

  async #open({ method, path, query, headers, body }: Omit<HttpRequest, "repeatable">, timeout: Delays) {
    const { got } = await import("got");
    const { connectTimeoutMs: connect } = this.#options;
    return got.stream(`${this.#base}${path}`, {
      ...requestOptions,
      agent: this.#route.agent,
      method,
      searchParams: { ...this.#query, ...query },
      headers: {
        accept: headers?.["content-type"] ?? "application/json",
        ...requestHeaders,
        ...headers,
        ...this.#authorization,
      },
      ...(body !== undefined && { json: body }),
      timeout: { lookup: connect, connect, secureConnect: connect, ...timeout },
    });
  }

  /** The chunks of an answer about the whole journal. A slow reader does not run into the time limit for silence. */
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
    this.#route.agent.http.destroy();
    this.#route.agent.https.destroy();
  }

  async #attempt<T>(request: HttpRequest, read: (answer: Answer) => Attempt<T>): Promise<Attempt<T>> {
    const { method, readsJournal, longest = longestAnswer } = request;
    const { answerTimeoutMs, journalTimeoutMs } = this.#options;
    let answer: Answer;
    let stream: GotStream | undefined;
    try {
      stream = await this.#open(request, {
        request: readsJournal ? journalTimeoutMs : answerTimeoutMs,
      });
      const head = await headOf(stream);
      const text = await textOf(stream, { most: longest, withinMs: Infinity });
      if (text.length > longest) return this.notFx(method, "its answer is longer than any of fx");
      answer = answerOf(head, text);
    } catch (error) {
      return await this.failureOf(method, error as RequestError, stream);
    }
    return { retryAfterSeconds: answer.retryAfterSeconds, ...read(answer) };
  }

  /**
   * Classifies an error of a connection, and says whether the outcome of the request is unknown.
   * @param request the request; without it, one whose error does not say that it was not sent counts as sent
   */
  failureOf(method: "GET" | "POST", error: RequestError, request?: GotStream): Fault {
    const sent = this.#wasSent(error, request);
    const fault = certificateFaults[error.code];
    if (fault !== undefined && !sent) {
      const hint = fault === untrusted ? trustHint : "Ask whoever runs the server.";
      const failure = new FxError("unreachable", `The certificate of ${this.target} ${fault}.`, { hint });
      return { failure, outcomeUnknown: false };
    }
    const isSecured = (request?.timings ?? error.timings)?.secureConnect !== undefined;
    const isPlain = this.target.startsWith("https:") && !isSecured && withoutTls.includes(error.code);
    if (isPlain && (!sent || method === "GET")) {
      const hint = `If its server has no certificate, use ${this.target.replace("https:", "http:")}.`;
      const failure = new FxError("unreachable", `What listens at ${this.target} does not speak https.`, {
        hint,
      });
      return { failure, outcomeUnknown: false };
    }
    const reason = error.code?.startsWith("HPE_")
      ? "what answers there does not speak HTTP"
      : (reasons[error.code] ?? error.code ?? error.name);
    if (!sent) {
      return {
        failure: this.#unreachable(
          `Nothing answers at ${this.target} (${reason}).`,
          error.code === "ECONNREFUSED" ? undefined : networkHint,
        ),
        outcomeUnknown: false,
      };
    }
    return this.noAnswer(method, reason);
  }

  /**
   * A request is on its way from the moment there is a connection; before that, nothing can have been sent. An error of
   * writing comes from the socket as it is, without the times of the request.
   */
  #wasSent(error: RequestError, request: GotStream | undefined): boolean {
    const timings = request?.timings ?? error.timings;
    if (timings === undefined) return error.options === undefined;
    return (this.target.startsWith("https:") ? timings.secureConnect : timings.connect) !== undefined;
  }

  /** A hint where something listens, and no answer came. */
  get noAnswerHint(): string {
    return this.#orHttps(
      "Try again later. If that does not help, check the address, and the log of the server there.",
    );
  }

  /** A hint for answers that do not come from fx, such as the login page of a proxy. */
  get notFxHint(): string {
    return this.#orHttps("Check the address, and what answers there: it may be a proxy or another program.");
  }

  #orHttps(hint: string): string {
    const https = this.target.replace("http:", "https:");
    return https === this.target ? hint : `${hint} If its server has a certificate, use ${https}.`;
  }

  #unreachable(message: string, usualHint: string | undefined): FxError {
    const hint = this.#route.hint ?? usualHint;
    return new FxError("unreachable", message, { ...(hint !== undefined && { hint }) });
  }

  /** The failure of a request that was sent. */
  noAnswer(method: "GET" | "POST", reason: string): Fault {
    const message = `The request was sent to ${this.target}, and no answer came (${reason}).`;
    const failure =
      method === "GET"
        ? this.#unreachable(`No answer came from ${this.target} (${reason}).`, this.noAnswerHint)
        : new FxError("outcome-unknown", message);
    return { failure, outcomeUnknown: true };
  }

  /** The failure of a request that was answered by something else than fx. */
  notFx(method: "GET" | "POST", what: string): Fault & { readonly failure: FxError } {
    if (method === "GET") {
      const failure = new FxError("unreachable", `What answers at ${this.target} is not fx (${what}).`, {
        hint: this.notFxHint,
      });
      return { failure, outcomeUnknown: false };
    }
    const message = `The request was sent to ${this.target}, and what answered is not fx (${what}).`;
    return { failure: new FxError("outcome-unknown", message), outcomeUnknown: true };
  }
}

/** Codes of a TLS handshake that was answered by something else. */
const withoutTls = ["EPROTO", "ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG"];

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

const untrusted = "is not signed by an authority that this machine trusts";
const trustHint =
  "If you trust it, save its authority's certificate, or the certificate itself if it is self-signed, as a PEM file, " +
  "and set NODE_EXTRA_CA_CERTS to the path of that file.";

/** Faults of a certificate, by the code of Node's TLS error. Nothing was sent then. */
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
