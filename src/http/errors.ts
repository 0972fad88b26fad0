import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { FxError } from "../core/errors.ts";
import { encodeProblem, problemType } from "../wire/problem.ts";
import { challengeOf } from "./access.ts";
import { type Headers, sendJson, withHeaders } from "./answers.ts";

/** Fastify's errors in our words, because some of its own messages quote the request. */
const requestFaults: Readonly<Record<string, string>> = {
  FST_ERR_BAD_URL: "The path is not well encoded.",
  FST_ERR_CTP_BODY_TOO_LARGE: "The body is larger than 16 KiB.",
  FST_ERR_CTP_INVALID_MEDIA_TYPE:
    "The body must be sent as Content-Type: application/json, and that of /api/bulk as application/x-ndjson.",
};

/** Answers with problem details, whatever was thrown. Unexpected errors are logged, and not shown. */
export function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = toFxError(thrown);
  if (error.code === "unreachable") {
    // Nobody is there to be answered. The log and the metrics say so as nginx does.
    reply.hijack().raw.statusCode = 499;
    return;
  }
  const problem = encodeProblem(error, request.id);
  request.outcome = { code: problem.code };
  // There may be thousands a second; the request's line and the metrics have them.
  if (problem.status >= 500 && problem.code !== "overloaded") logFailure(request, error, thrown);
  const headers: Headers = { "content-type": `${problemType}; charset=utf-8` };
  if (error.retryAfterSeconds !== undefined) {
    headers["retry-after"] = String(Math.max(1, Math.ceil(error.retryAfterSeconds)));
  }
  if (problem.code === "unauthorized") headers["www-authenticate"] = challengeOf(request);
  if (error.replayed) headers["idempotency-replayed"] = "true";
  sendJson(reply, problem, problem.status, headers);
}

/** A temporary failure is one line; any other is logged with its stack. */
export function logFailure(request: FastifyRequest, { code, message }: FxError, thrown: unknown): void {
  const passing = code === "rates-unavailable" || code === "overloaded";
  if (passing) request.server.log.warn({ id: request.id, code, reason: message }, "failed");
  else request.server.log.error({ id: request.id, code, err: thrown }, "failed");
}

/** Answers what is not HTTP, and what is too slow or too large for it, before there is a request. */
export function answerMalformed(this: FastifyInstance, fault: NodeJS.ErrnoException, socket: Socket): void {
  if (fault.code === "ECONNRESET" || socket.destroyed || socket.writableEnded) return;
  const reason = connectionFaults[fault.code ?? ""] ?? "The request is not valid HTTP.";
  const { body, headers } = malformed(new FxError("invalid-request", reason));
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 400 Bad Request\r\n${lines.join("")}${this.securityHeaders.ofData}\r\n${body}`);
  socket.destroySoon();
  this.log.info({ code: "invalid-request", fault: fault.code }, "malformed request");
}

/** Answers a request that is valid for Node, but not for HTTP or for fx, and reaches no route. */
export function refuse(this: FastifyInstance, error: FxError, response: ServerResponse): void {
  const { body, headers } = malformed(error);
  withHeaders(response.writeHead(400, headers), this.securityHeaders.ofData).end(body);
  this.log.info({ code: error.code, reason: error.message }, "malformed request");
}

function malformed(error: FxError): { body: string; headers: Record<string, string> } {
  const body = JSON.stringify(encodeProblem(error, "none"));
  const headers = {
    "Content-Type": `${problemType}; charset=utf-8`,
    "Content-Length": String(Buffer.byteLength(body)),
    Connection: "close",
  };
  return { body, headers };
}

const connectionFaults: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "The path and the headers are larger than 16 KiB.",
  ERR_HTTP_REQUEST_TIMEOUT: "The request did not arrive in time.",
};

/** Made once: thousands of clients may go at the same time, and to collect a stack for each takes time. */
export const disconnected = new FxError(
  "unreachable",
  "The client disconnected before it had sent the whole body.",
);

/** What was thrown, as an error of the closed set. */
export function toFxError(thrown: unknown): FxError {
  if (thrown instanceof FxError) return thrown;
  const { code = "", statusCode = 500 } = thrown as { code?: string; statusCode?: number };
  if (statusCode >= 400 && statusCode < 500 && code.startsWith("FST_")) {
    return new FxError("invalid-request", requestFaults[code] ?? "The request is not valid.");
  }
  return new FxError(
    "internal",
    "Something went wrong inside fx. Its log tells more, under this request's id.",
    { cause: thrown },
  );
}
