import type { FastifyInstance, FastifyRequest, RouteOptions } from "fastify";
import type { FxError } from "../core/errors.ts";
import { bulkType } from "../wire/bulk.ts";
import { requireKnownHeaders, requireKnownParameters } from "../wire/known-names.ts";
import { openApiDocument } from "../wire/openapi.ts";
import { hasLines, type Operation } from "../wire/operation.ts";
import { operations } from "../wire/operations.ts";
import { parseJson } from "../wire/requests.ts";
import type { RefusalOf } from "./access.ts";
import type { HandlerContext, Handlers } from "./context.ts";
import { registerDocs } from "./docs.ts";
import { toFxError } from "./errors.ts";
import { accountHandlers } from "./handlers/accounts.ts";
import { bulkHandlers } from "./handlers/bulk.ts";
import { changeHandlers } from "./handlers/changes.ts";
import { checkpointHandlers } from "./handlers/checkpoint.ts";
import { entryHandlers } from "./handlers/entries.ts";
import { exchangeHandlers } from "./handlers/exchange.ts";
import { exportHandlers } from "./handlers/export.ts";
import { ledgerHandlers } from "./handlers/ledger.ts";
import { rateHandlers } from "./handlers/rates.ts";
import { serverHandlers } from "./handlers/server.ts";
import { registerPage } from "./page.ts";
import { openReads } from "./reads.ts";
import { refuseTrailers } from "./request-form.ts";

/** Bytes; the limit for a JSON body. */
const bodyLimit = 16 * 1024;

/**
 * Registers a route for each operation, and the pages.
 * @param refusalOf refuses by its origin, its token, or the rate limit
 */
export function registerRoutes(app: FastifyInstance, context: HandlerContext, refusalOf: RefusalOf): void {
  const { probes, tokens, prefix, page } = context;
  const document = openApiDocument(probes.version, { prefix, tokens: tokens !== undefined });
  app.removeAllContentTypeParsers();
  // As text: after an error of a parser, Fastify closes the connection.
  app.addContentTypeParser(
    "application/json",
    { parseAs: "string", bodyLimit },
    (_request: FastifyRequest, text: string, done: (error: null, text: string) => void) => done(null, text),
  );
  const handlers = handlersOf(context, document);
  for (const [id, operation] of Object.entries<Operation>(operations)) {
    app.register((routes, _options, registered) => {
      if (hasLines(operation, "body")) {
        routes.removeAllContentTypeParsers();
        routes.addContentTypeParser(bulkType, (_request, payload, done) => done(null, payload));
      }
      routes.route(routeOf(operation, handlers[id as keyof Handlers], refusalOf));
      registered();
    });
  }
  app.register((pages, _options, registered) => {
    pages.addHook("onRequest", (request, _reply, next) => next(refusalOf(request, "anyone")));
    registerDocs(pages, document, prefix);
    registerPage(pages, page, prefix);
    registered();
  });
}

function handlersOf(context: HandlerContext, document: ReturnType<typeof openApiDocument>): Handlers {
  const reads = openReads(context);
  return {
    ...accountHandlers(context, reads),
    ...exchangeHandlers(context, reads),
    ...changeHandlers(context),
    ...bulkHandlers(context),
    ...rateHandlers(context, reads),
    ...ledgerHandlers(context, reads),
    ...checkpointHandlers(context),
    ...exportHandlers(context),
    ...entryHandlers(context, reads),
    ...serverHandlers(context, document),
  };
}

function routeOf(
  operation: Operation,
  handler: Handlers[keyof Handlers],
  refusalOf: RefusalOf,
): RouteOptions {
  const { method, path, role } = operation;
  return {
    method,
    url: path.replace(/\{(\w+)\}/g, ":$1"),
    config: { role },
    // Whatever can be refused without the body is refused before it is read.
    onRequest: (request, reply, next) => {
      // A path with an empty parameter does not exist.
      if (Object.values(request.params as object).includes("")) reply.callNotFound();
      else next(refusalOf(request, role) ?? faultOf(request, operation));
    },
    preValidation: (request, _reply, next) => {
      try {
        refuseTrailers(request.raw);
        request.body = readJson(request.body, operation);
        next();
      } catch (fault) {
        next(toFxError(fault));
      }
    },
    handler,
  };
}

/** Says why an operation may not be done as it is asked for, whatever its body is. */
function faultOf({ query, raw }: FastifyRequest, operation: Operation): FxError | undefined {
  try {
    requireKnownParameters(query, operation);
    requireKnownHeaders(
      raw.rawHeaders.filter((_, index) => index % 2 === 0),
      operation,
    );
    return undefined;
  } catch (fault) {
    return toFxError(fault);
  }
}

/** Reads a JSON body, with or without a byte-order mark. */
function readJson(body: unknown, { isBodyOptional }: Operation): unknown {
  const text = typeof body === "string" ? body.replace(/^\ufeff/, "") : body;
  if (isBodyOptional && (text === undefined || text === "")) return {};
  return typeof text === "string" ? parseJson(text) : text;
}
