import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import cors from "@fastify/cors";
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  type RouteOptions,
} from "fastify";
import { type DestinationStream, pino } from "pino";
import { FxError } from "../core/errors.ts";
import { describeError, maskPesels } from "../core/mask.ts";
import type { ExchangeService } from "../core/service.ts";
import { bulkType } from "../wire/bulk.ts";
import { requireKnownHeaders, requireKnownParameters } from "../wire/known-names.ts";
import { openApiDocument } from "../wire/openapi.ts";
import { hasLines, isProbe, type Operation } from "../wire/operation.ts";
import { operations } from "../wire/operations.ts";
import { parseJson } from "../wire/requests.ts";
import { type AccessOptions, endRefused, openAccess } from "./access.ts";
import { isOnAdmin } from "./admin.ts";
import { Admission, ExpensiveReads, isCounted } from "./admission.ts";
import type { Handlers } from "./answers.ts";
import { refuseTrailers, requireReadableBody } from "./body-form.ts";
import { trustedProxies } from "./client-address.ts";
import { type ConnectionOptions, type Connections, guardConnections, nodeOptions } from "./connections.ts";
import { registerDocs } from "./docs.ts";
import { answerError, answerMalformed, disconnected, refuse, toFxError } from "./errors.ts";
import { accountHandlers } from "./handlers/accounts.ts";
import { type BulkOptions, bulkHandlers, draining, type Stream } from "./handlers/bulk.ts";
import { changeHandlers } from "./handlers/changes.ts";
import { checkpointHandlers } from "./handlers/checkpoint.ts";
import { exchangeHandlers } from "./handlers/exchange.ts";
import { exportHandlers } from "./handlers/export.ts";
import { ledgerHandlers } from "./handlers/ledger.ts";
import { rateHandlers } from "./handlers/rates.ts";
import { type Lifecycle, type Probes, serverHandlers } from "./handlers/server.ts";
import { securityHeaders } from "./headers.ts";
import { JournalReads } from "./journal-reads.ts";
import { openMetrics } from "./metrics.ts";
import { corsOptions, type OriginOptions, openOriginCheck } from "./origin.ts";
import { registerPage } from "./page.ts";
import { knownPath, withoutPrefix } from "./paths.ts";
import { RateLimit } from "./rate-limit.ts";
import { traceOf } from "./trace.ts";
import { countConnections, endOfTurn } from "./turn.ts";

export interface ServerOptions extends BulkOptions, AccessOptions, OriginOptions, ConnectionOptions {
  /** The server closes it, last, when it is closed. */
  readonly service: ExchangeService;
  readonly probes: Probes;
  /** A path such as "/fx" that links begin with. Requests are answered with and without it. */
  readonly prefix?: string;
  /** With which it speaks https. */
  readonly tls?: KeyPair;
  /** Proxies, by address or network, whose X-Forwarded-For is believed. */
  readonly trustProxy?: readonly string[];
  /** Requests a second for each token, or address without one; without it, or 0, there is no limit. */
  readonly rateLimit?: number;
  /** Where the build put the page for tellers. */
  readonly page?: string | undefined;
  /** Which requests are taken on. */
  readonly admission?: Admission;
  /** Where the log goes, from which level on. Without it there is no log. */
  readonly log?: { readonly level: string; readonly stream: DestinationStream };
  /** How long `close()` waits for what is under way before it closes all connections. 10 s if absent. */
  readonly stopTimeoutMs?: number;
  /** In which a request must have arrived. 30 s if absent. */
  readonly requestTimeoutMs?: number;
}

/** In bytes, for a JSON body. */
const bodyLimit = 16 * 1024;
const idleCheckMs = 50;
const refusedCheckMs = 250;

/** A certificate, with those below its authority, and its key; both PEM. */
export interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/**
 * The HTTP server, not listening yet. Its `close()` is the graceful stop: it is not ready from then on, takes no
 * new connections, answers what is under way within the time limit, and then closes the service.
 */
export function buildServer(options: ServerOptions): FastifyInstance {
  const { probes, log, tls, trustProxy = [], prefix = "", admission = new Admission() } = options;
  const document = openApiDocument(probes.version, prefix);
  const app: FastifyInstance = Fastify({
    genReqId: requestIds(),
    http: nodeOptions,
    https: tls === undefined ? null : { ...nodeOptions, ...tls },
    trustProxy: trustProxy.length > 0 && trustedProxies(trustProxy),
    requestTimeout: options.requestTimeoutMs ?? 30_000,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // No path fits into a request line that is longer, so that any text is looked at as a PESEL.
    routerOptions: { maxParamLength: 16 * 1024 },
    frameworkErrors: (error, request, reply) =>
      onError(refusalOf(request, "anyone") ?? error, request, reply),
    clientErrorHandler(fault: NodeJS.ErrnoException, socket) {
      const stream = [...lifecycle.streams].find((each) => each.socket === socket);
      if (stream === undefined || stream.request.raw.complete)
        connections.broken(fault, socket, () => answerMalformed.call(app, fault, socket));
      // A bulk has a time limit of its own, and its answers have begun.
      else if (fault.code !== "ERR_HTTP_REQUEST_TIMEOUT") socket.destroy();
    },
  } as FastifyServerOptions);
  // Not Fastify's logger: for that it does more at each request (docs/PERFORMANCE.md), and its lines print the URL, and so
  // the PESEL.
  if (log) app.log = pino({ level: log.level, serializers: { err: describeError } }, log.stream);
  countConnections(app.server);
  const connections = guardConnections(
    app.server,
    options,
    (error, _request, response) => refuse.call(app, error, response),
    (facts, message) => app.log.warn(facts, message),
  );
  const lifecycle = drainOnClose(app, options, connections);
  const metrics = openMetrics(options);
  const expensive = new ExpensiveReads();
  const journal = new JournalReads(options.service);
  const tellRefused = (refused: number) =>
    app.log.warn({ code: "overloaded", refused }, "more requests than can be answered soon");
  const access = openAccess(options);
  const origin = openOriginCheck(options);
  const headers = securityHeaders(tls !== undefined);
  const { "content-security-policy": policy, ...ofPage } = headers;
  app.decorate("securityHeaders", { ofPage: linesOf(ofPage), ofData: linesOf(headers) });
  // Of what Fastify sends by itself: pages of the documentation, and answers to preflights.
  app.addHook("onSend", (request, reply, _payload, next) => {
    reply.headers({ ...headers, ...reply.getHeaders(), "x-request-id": request.id });
    next();
  });
  if (options.cors !== undefined && options.cors.length > 0) app.register(cors, corsOptions(options.cors));
  const limit = options.rateLimit ? new RateLimit(options.rateLimit) : undefined;

  /** Why a request may not have what takes this role: where it comes from, whose token it has, how many there were. */
  function refusalOf(request: FastifyRequest, role: Operation["role"]): FxError | undefined {
    if (isOnAdmin(request.raw)) return origin.refusal(request, role);
    const refused = origin.refusal(request, role) ?? access.refusal(request, role);
    return limit?.refusal(request) ?? refused;
  }

  function record(request: FastifyRequest, route: string, status: number): void {
    const { id, method, outcome } = request;
    const ms = performance.now() - ((request.raw as Timed)[arrivedAt] ?? Number.NaN);
    metrics.observe(method, route, status, ms);
    if (!log || isProbe(route)) return;
    const by = request.caller?.name;
    const trace = traceOf(request.headers.traceparent);
    app.log.info({ id, method, route, status, ms: Math.round(ms * 100) / 100, by, ...trace, ...outcome });
  }

  /** Answers a request for which no handler runs. */
  function onError(
    error: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
    route = patternOf(request),
  ): void {
    answerError(request.raw.errored === null ? error : disconnected, request, reply);
    record(request, route, reply.raw.statusCode);
  }

  /** Answers a request to an unknown path, or with a method that the path does not have. */
  function onNoRoute(request: FastifyRequest, reply: FastifyReply): void {
    const { path, methods } = knownPath(request.url) ?? {};
    if (methods !== undefined) reply.header("allow", methods.join(", "));
    const error = methods === undefined ? nothingHere(prefix) : methodNotAllowed(methods);
    onError(refusalOf(request, "anyone") ?? error, request, reply, path);
  }

  app.decorateRequest("outcome", undefined);
  app.decorateRequest("caller", undefined);
  app.removeAllContentTypeParsers();
  const asText = { parseAs: "string", bodyLimit } as const;
  // As text, because Fastify closes the connection after a body that its parser refuses.
  app.addContentTypeParser("application/json", asText, (_request, text, done) => done(null, text));
  // Where there is no route, the body does not matter.
  app.setErrorHandler((error, request, reply) =>
    request.is404 ? onNoRoute(request, reply) : onError(error, request, reply),
  );
  app.setNotFoundHandler(onNoRoute);
  // An Expect header that Node does not know would be answered with 417; it may be ignored (RFC 9110, 10.1.1).
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));

  if (prefix !== "") {
    // Not by Fastify's rewriteUrl, which logs the URL, and so the PESEL.
    app.server.prependListener("request", (request: IncomingMessage) => {
      request.url = withoutPrefix(request.url ?? "/", prefix);
    });
  }

  const handlers: Handlers = {
    ...accountHandlers({ ...options, prefix }, metrics, expensive),
    ...exchangeHandlers({ ...options, prefix }, metrics),
    ...changeHandlers({ ...options, prefix }, metrics),
    ...bulkHandlers(options, metrics, lifecycle, limit),
    ...rateHandlers(options, expensive),
    ...ledgerHandlers(options, expensive, journal),
    ...checkpointHandlers(options, journal, lifecycle),
    ...exportHandlers(options, journal, lifecycle),
    ...serverHandlers(options, metrics, lifecycle, document),
  };
  const routeOf = (id: string, operation: Operation): RouteOptions => {
    const { method, path, role } = operation;
    const handle = handlers[id as keyof Handlers];
    const counts = isCounted(id);
    return {
      method,
      url: path.replace(/\{(\w+)\}/g, ":$1"),
      config: { role },
      // Whatever can be refused without the body is refused before it is read.
      onRequest: (request, reply, next) => {
        // A path without a value for its parameter is none of fx's paths.
        if (Object.values(request.params as object).includes("")) reply.callNotFound();
        else next(refusalOf(request, role) ?? faultOf(request, operation));
      },
      // Recorded here and not in Fastify's onResponse hook, which is slower (docs/PERFORMANCE.md).
      handler: async (request, reply) => {
        const isTaken = counts && admission.take();
        try {
          if (counts && !isTaken) await admission.refuse(tellRefused);
          await endOfTurn();
          refuseTrailers(request.raw);
          if (typeof request.body === "string") request.body = readJson(request.body, operation);
          await handle(request, reply);
        } catch (error) {
          answerError(error, request, reply);
        }
        if (isTaken) admission.answered();
        record(request, path, reply.raw.statusCode);
      },
    };
  };
  for (const [id, operation] of Object.entries<Operation>(operations)) {
    app.register((routes, _options, registered) => {
      if (hasLines(operation, "body")) {
        routes.removeAllContentTypeParsers();
        routes.addContentTypeParser(bulkType, (_request, payload, done) => done(null, payload));
      }
      routes.route(routeOf(id, operation));
      registered();
    });
  }
  app.register((pages, _options, registered) => {
    pages.addHook("onRequest", (request, _reply, next) => next(refusalOf(request, "anyone")));
    registerDocs(pages, document, prefix);
    registerPage(pages, options.page, prefix);
    registered();
  });
  if (options.tokens !== undefined) {
    const timer = setInterval(() => endRefused(access, lifecycle.streams), refusedCheckMs).unref();
    app.addHook("onClose", async () => clearInterval(timer));
  }
  return app;
}

/** Says why an operation may not be done as it is asked for, whatever its body is. */
function faultOf({ query, raw }: FastifyRequest, operation: Operation): FxError | undefined {
  try {
    requireKnownParameters(query, operation);
    requireKnownHeaders(
      raw.rawHeaders.filter((_, index) => index % 2 === 0),
      operation,
    );
    if (operation.method === "POST") requireReadableBody(raw);
    return undefined;
  } catch (fault) {
    return toFxError(fault);
  }
}

/** Reads a JSON body, with or without a byte-order mark. */
function readJson(body: string, { isBodyOptional }: Operation): unknown {
  const text = body.replace(/^\ufeff/, "");
  return isBodyOptional && text === "" ? undefined : parseJson(text);
}

function drainOnClose(
  app: FastifyInstance,
  { service, stopTimeoutMs = 10_000 }: ServerOptions,
  connections: Connections,
): Lifecycle {
  const lifecycle = { draining: false, streams: new Set<Stream>() };
  const closeIdle = () => {
    connections.closeUnused();
    app.server.closeIdleConnections();
  };
  const closeAll = () => {
    const closed = connections.closeAll();
    if (closed > 0) app.log.warn({ connections: closed }, "connections closed at the time limit of the stop");
  };
  const timers: NodeJS.Timeout[] = [];
  app.addHook("preClose", async () => {
    lifecycle.draining = true;
    for (const stream of lifecycle.streams) stream.end(draining());
    // Node closes idle connections once. One that is answered later would keep the server until it times out.
    timers.push(setInterval(closeIdle, idleCheckMs), setTimeout(closeAll, stopTimeoutMs));
  });
  app.addHook("onClose", async () => {
    timers.forEach(clearTimeout);
    connections.end();
    // In the next turn a request hears that its connection was closed, and its line is in the log before the end.
    await endOfTurn();
    await endOfTurn();
    await service.close();
  });
  return lifecycle;
}

const arrivedAt = Symbol("arrived at");
type Timed = IncomingMessage & { [arrivedAt]?: number };

/**
 * Takes the id that a request brings, if it is one that can be logged, or numbers the request. Nothing is asked of a
 * request before its id, so this notes when it arrived.
 */
function requestIds(): (request: IncomingMessage) => string {
  const prefix = randomBytes(6).toString("base64url");
  let count = 0;
  return (request: Timed) => {
    request[arrivedAt] = performance.now();
    const given = request.headers["x-request-id"];
    if (typeof given === "string" && /^[\w.:-]{1,128}$/.test(given) && !mayShowPesel(given)) return given;
    count += 1;
    return `${prefix}-${count.toString(36)}`;
  };
}

/** People also write a PESEL with a mark after the date of birth. */
function mayShowPesel(id: string): boolean {
  return maskPesels(id) !== id || /(?<!\d)\d{6}[-.:_]\d{5}(?!\d)/.test(id);
}

function linesOf(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
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

/** The route's pattern, as the OpenAPI document has it. */
function patternOf(request: FastifyRequest): string {
  return request.routeOptions.url?.replace(/:(\w+)/g, "{$1}") ?? "none";
}
