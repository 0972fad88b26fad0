import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import cors from "@fastify/cors";
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from "fastify";
import type { DestinationStream } from "pino";
import { warsawDate } from "../core/date.ts";
import { FxError } from "../core/errors.ts";
import { describeError, maskPesels } from "../core/mask.ts";
import { isProbe } from "../wire/operation.ts";
import { type AccessOptions, endRefused, openAccess, type RefusalOf } from "./access.ts";
import { isOnAdmin } from "./admin.ts";
import { Connections, whenOver } from "./connections.ts";
import type { ApiOptions } from "./context.ts";
import { answerError, answerMalformed } from "./errors.ts";
import { Lifecycle } from "./lifecycle.ts";
import { LongReads } from "./long-reads.ts";
import { type Metrics, openMetrics } from "./metrics.ts";
import { corsOptions, type OriginOptions, openOriginCheck } from "./origin.ts";
import { refuseOverload } from "./overload.ts";
import { knownPath, withoutPrefix } from "./paths.ts";
import { RateLimit } from "./rate-limit.ts";
import { formFault } from "./request-form.ts";
import { registerRoutes } from "./routes.ts";
import { securityHeaders } from "./security-headers.ts";
import { hasPesel, traceOf } from "./trace.ts";

export interface ServerOptions extends ApiOptions, AccessOptions, OriginOptions {
  /** Serves https. */
  readonly tls?: KeyPair;
  /** When the certificate in force expires. */
  readonly certificateExpires?: (() => Date | undefined) | undefined;
  /** Proxies, by address or network, whose X-Forwarded-For is believed. */
  readonly trustProxy?: readonly string[];
  /** Requests a second for each token, or address without one; without it, or 0, there is no limit. */
  readonly rateLimit?: number;
  /** Requests under way at once; further ones are refused. 2048 if absent. */
  readonly requestsAtMost?: number;
  /** Further connections are closed as they come. No limit if absent. */
  readonly maxConnections?: number;
  /** The log's destination and lowest level. Without it there is no log. */
  readonly log?: { readonly level: string; readonly stream: DestinationStream };
  /** How long `close()` waits for what is under way before it closes all connections. 10 s if absent. */
  readonly stopTimeoutMs?: number;
  /** The time in which a request must have arrived. 30 s if absent. */
  readonly requestTimeoutMs?: number;
  /** How long a connection may be silent while a request is answered or an answer read. 40 s if absent. */
  readonly silenceTimeoutMs?: number;
}

/** The maximum number of waiting reads: of lists, histories and tills, and of the whole journal. */
const mostWaiting = { lists: 64, journal: 16 };
const idleCheckMs = 50;
const refusedCheckMs = 250;
/** A certificate, with those below its authority, and its key; both PEM. */
export interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** A client that refuses the certificate leaves its connection without a word, and a stop would wait for it. */
const handshakeMs = 5000;

/**
 * The HTTP server, not listening yet. Its `close()` is the graceful stop: it is not ready from then on, takes no
 * new connections, answers what is under way within the time limit, and then closes the service.
 */
export function buildServer(options: ServerOptions): FastifyInstance {
  const { tls, log, trustProxy = [], prefix = "", requestTimeoutMs = 30_000 } = options;
  const http = { requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs, ...nodeOptions };
  const app: FastifyInstance = Fastify({
    genReqId: requestIds(),
    http,
    https: tls === undefined ? null : { ...http, ...tls, handshakeTimeout: handshakeMs },
    trustProxy: trustProxy.length > 0 && [...trustProxy],
    requestTimeout: requestTimeoutMs,
    connectionTimeout: options.silenceTimeoutMs ?? 40_000,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // As long as a request line can be, so that a text of any length in the place of a PESEL is refused as one.
    routerOptions: { maxParamLength: 16 * 1024 },
    ...(prefix !== "" && { rewriteUrl: ({ url = "/" }: IncomingMessage) => withoutPrefix(url, prefix) }),
    ...(log && { logger: { level: log.level, stream: log.stream, serializers: { err: describeError } } }),
    // Fastify's own lines about requests have their URLs, and so PESELs.
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (logger: FastifyInstance["log"]) => logger,
    frameworkErrors: (error, request, reply) =>
      begin(request, reply, () => answerError(refusalOf(request, "anyone") ?? error, request, reply)),
    clientErrorHandler: (fault: NodeJS.ErrnoException, socket) => {
      const { request, response } = connections.underWay(socket) ?? {};
      // The fault is behind a whole request, whose answer comes first.
      if (request?.complete) connections.endAfterAnswer(socket);
      else if (request === undefined || !lifecycle.hasStream(request)) {
        answerMalformed(app.log, fault, socket, response);
      }
      // The time limit of a stream is its own.
      else if (fault.code !== "ERR_HTTP_REQUEST_TIMEOUT") socket.destroy();
    },
  } as FastifyServerOptions);
  // No limit but the size of the head: beyond a number of headers, Node would silently leave out the rest.
  app.server.maxHeadersCount = 0;
  // An Expect header that Node does not know would be answered with 417; it may be ignored (RFC 9110, 10.1.1).
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
  const connections = new Connections(app.server, options.maxConnections, (facts, message) =>
    app.log.warn(facts, message),
  );
  const lifecycle = drainOnClose(app, options, connections);
  const metrics = openMetrics(options);
  const limit = options.rateLimit ? new RateLimit(options.rateLimit) : undefined;
  const refusalOf = openRefusals(app, options, lifecycle, limit);
  const begin = beginRequests(app, options, { metrics, connections });
  app.decorateRequest("outcome", undefined);
  app.decorateRequest("caller", undefined);
  app.addHook("onRequest", begin);
  if (options.cors !== undefined && options.cors.length > 0) app.register(cors, corsOptions(options.cors));
  refuseOverload(app, options.requestsAtMost);
  answerWithProblems(app, prefix, refusalOf);
  const today = () => warsawDate(options.now());
  const longReads = { lists: new LongReads(mostWaiting.lists), journal: new LongReads(mostWaiting.journal) };
  registerRoutes(app, { ...options, prefix, today, metrics, lifecycle, limit, longReads }, refusalOf);
  return app;
}

/** Options of node:http and node:https. Without a Host, Node would answer without a body. */
const nodeOptions = {
  requireHostHeader: false,
  connectionsCheckingInterval: 1000,
  // Always so without TLS. Otherwise a connection would be ended with its client's end, before its answer.
  allowHalfOpen: true,
  handshakeTimeout: 30_000,
} as const;

function openRefusals(
  app: FastifyInstance,
  options: ServerOptions,
  { streams }: Lifecycle,
  limit: RateLimit | undefined,
): RefusalOf {
  const access = openAccess(options);
  const origin = openOriginCheck(options);
  if (options.tokens !== undefined) {
    const timer = setInterval(() => endRefused(access, streams), refusedCheckMs).unref();
    app.addHook("onClose", async () => clearInterval(timer));
  }
  return (request, role) => {
    if (isOnAdmin(request.raw)) return origin(request, role);
    const refused = origin(request, role) ?? access(request, role);
    return limit?.refusal(request) ?? refused;
  };
}

/** Returns the hook with which every request begins. It is logged and counted when it ends, however that is. */
function beginRequests(
  app: FastifyInstance,
  { tls, log }: ServerOptions,
  { metrics, connections }: { readonly metrics: Metrics; readonly connections: Connections },
) {
  const headers = { ...securityHeaders(tls !== undefined), "cache-control": "no-store" };
  const outcomes = new Set<Promise<void>>();
  app.addHook("onClose", async () => {
    // Requests hear that their connections were closed, and their lines are in the log before the end.
    await nextTurn();
    await nextTurn();
    await Promise.all(outcomes);
  });
  return (request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void): void => {
    const startedMs = performance.now();
    const ended = () => {
      const route = patternOf(request);
      const status = reply.raw.headersSent ? reply.raw.statusCode : disconnectedStatus;
      const ms = performance.now() - startedMs;
      metrics.observe(request.method, route, status, ms);
      if (!log || isProbe(route)) return;
      const { id, method, outcome } = request;
      const line = {
        id,
        method,
        route,
        status,
        ms: Math.round(ms * 100) / 100,
        ...logFields(request, reply),
      };
      const write = (more: object | undefined) => app.log.info({ ...line, ...more });
      if (!(outcome instanceof Promise)) return write(outcome);
      const written = outcome.then(write);
      outcomes.add(written);
      void written.finally(() => outcomes.delete(written));
    };
    connections.begin(request, reply, () => {
      whenOver(reply, ended);
      reply.headers(headers).header("x-request-id", request.id);
      const fault = formFault(request.raw);
      // A proxy may take what follows for another request than fx does.
      if (fault !== undefined) reply.header("connection", "close");
      next(fault);
    });
  };
}

/** nginx's, for a request whose client has gone before its answer. It is in the log and the metrics only. */
const disconnectedStatus = 499;

/** The optional fields of a request's line in the log. */
function logFields({ caller, headers }: FastifyRequest, reply: FastifyReply): object {
  const receipt = reply.getHeader("fx-receipt");
  return {
    by: caller?.name,
    ...traceOf(headers.traceparent),
    ...(typeof receipt === "string" && { receipt: receipt.slice(receipt.lastIndexOf("/") + 1) }),
  };
}

/** Has every error answered with problem details, also where there is no route. */
function answerWithProblems(app: FastifyInstance, prefix: string, refusalOf: RefusalOf): void {
  /** Answers a request to an unknown path, or with a method that the path does not have. */
  const onNoRoute = (request: FastifyRequest, reply: FastifyReply) => {
    const { methods } = knownPath(request.url) ?? {};
    if (methods !== undefined) reply.header("allow", methods.join(", "));
    const error = methods === undefined ? nothingHere(prefix) : methodNotAllowed(methods);
    return answerError(refusalOf(request, "anyone") ?? error, request, reply);
  };
  // Where there is no route, the body does not matter.
  app.setErrorHandler((error, request, reply) =>
    request.is404 && !(error instanceof FxError)
      ? onNoRoute(request, reply)
      : answerError(error, request, reply),
  );
  app.setNotFoundHandler(onNoRoute);
}

function drainOnClose(
  app: FastifyInstance,
  { service, stopTimeoutMs = 10_000 }: ServerOptions,
  connections: Connections,
): Lifecycle {
  const lifecycle = new Lifecycle();
  const closeIdle = () => {
    if (connections.unsent().length > 0) return;
    connections.closeUnused();
    app.server.closeIdleConnections();
  };
  const closeAll = () => {
    const closed = connections.closeAll();
    if (closed > 0) app.log.warn({ connections: closed }, "connections closed at the time limit of the stop");
  };
  const timers: NodeJS.Timeout[] = [];
  app.addHook("preClose", async () => {
    lifecycle.drain();
    // The port stays open until what is waited for below is sent.
    connections.refuse();
    // Fastify closes idle connections once. One that is answered later would keep the server until it times out.
    timers.push(setInterval(closeIdle, idleCheckMs), setTimeout(closeAll, stopTimeoutMs));
    // Node counts a connection as idle whose answer is made, and would cut off what is not sent of it.
    while (connections.unsent().length > 0) {
      await Promise.all(connections.unsent().map((response) => once(response, "close")));
    }
  });
  app.addHook("onClose", async () => {
    timers.forEach(clearTimeout);
    await service.close();
  });
  return lifecycle;
}

/** Takes the id that a request brings, if it is one that can be logged, or numbers the request. */
function requestIds(): (request: IncomingMessage) => string {
  const prefix = randomBytes(6).toString("base64url");
  let count = 0;
  return ({ headers }) => {
    const given = headers["x-request-id"];
    if (typeof given === "string" && /^[\w.:-]{1,128}$/.test(given) && !mayShowPesel(given)) return given;
    count += 1;
    return `${prefix}-${count.toString(36)}`;
  };
}

/** People also write a PESEL with a mark after the date of birth, or within a UUID, which `maskPesels` leaves whole. */
function mayShowPesel(id: string): boolean {
  return maskPesels(id) !== id || hasPesel(id) || /(?<!\d)\d{6}[-.:_]\d{5}(?!\d)/.test(id);
}

function nothingHere(prefix: string): FxError {
  return new FxError(
    "not-found",
    `There is nothing under this path. The paths are in ${prefix}/openapi.json.`,
  );
}

function methodNotAllowed(methods: readonly string[]): FxError {
  return new FxError("method-not-allowed", `This path takes ${methods.join(" and ")} only.`);
}

/** The route's pattern, as the OpenAPI document has it, or "none". */
function patternOf(request: FastifyRequest): string {
  if (request.is404) return knownPath(request.url)?.path ?? "none";
  return request.routeOptions.url?.replace(/:(\w+)/g, "{$1}") ?? "none";
}
