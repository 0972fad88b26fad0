import { createServer, type IncomingMessage, type Server } from "node:http";
import type { FastifyInstance } from "fastify";
import { operations } from "../wire/operations.ts";

const { live, ready, metrics } = operations;
const paths: readonly string[] = [live.path, ready.path, metrics.path];

const mostConnections = 100;
const requestTimeoutMs = 30_000;

/** The requests that came over the listener. */
const onAdmin = new WeakSet<IncomingMessage>();

/**
 * A listener of its own for metrics and probes, which asks for no token and knows no other path. Answers as `app` does
 * until that is closed.
 */
export function openAdmin(app: FastifyInstance): Server {
  const server = createServer({ requestTimeout: requestTimeoutMs }, (request, response) => {
    onAdmin.add(request);
    const [path = ""] = request.url?.split("?", 1) ?? [];
    // A path that `app` does not know either.
    if (!paths.includes(path)) request.url = "/-";
    app.routing(request, response);
  });
  server.maxConnections = mostConnections;
  app.addHook("onClose", (_app, done) => {
    server.close(() => done());
    server.closeAllConnections();
  });
  return server;
}

export function isOnAdmin(request: IncomingMessage): boolean {
  return onAdmin.has(request);
}
