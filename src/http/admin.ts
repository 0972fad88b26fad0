import { createServer, type IncomingMessage, type Server } from "node:http";
import type { FastifyInstance } from "fastify";
import { operations } from "../wire/operations.ts";

const { live, ready, metrics } = operations;
const paths: readonly string[] = [live.path, ready.path, metrics.path];

const mostConnections = 100;
const requestTimeoutMs = 30_000;

const onAdmin = Symbol("on the admin listener");
type AdminRequest = IncomingMessage & { [onAdmin]?: true };

/**
 * A listener of its own for metrics and probes, which asks for no token and knows no other path. Answers as `app` does
 * until that is closed.
 */
export function openAdmin(app: FastifyInstance): Server {
  const server = createServer({ requestTimeout: requestTimeoutMs }, (request: AdminRequest, response) => {
    request[onAdmin] = true;
    const [path = ""] = request.url?.split("?", 1) ?? [];
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
  return (request as AdminRequest)[onAdmin] === true;
}
