import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from "fastify";
import { type AnswerCode, FxError } from "../core/errors.ts";
import { encodeProblem, problemType } from "../wire/problem.ts";
import { challengeOf } from "./access.ts";

/** Fastify's errors in our words, because some of its own messages quote the request. */
const requestFaults: Readonly<Record<string, string>> = {
  FST_ERR_BAD_URL: "The percent-encoding of the path is not valid.",
  FST_ERR_CTP_BODY_TOO_LARGE: "The body is larger than 16 KiB.",
  FST_ERR_CTP_INVALID_MEDIA_TYPE:
    "The body must be sent as Content-Type: application/json, and that of /api/bulk as application/x-ndjson.",
};

/** Answers with problem details, whatever was thrown. Unexpected errors are logged, and not shown. */
export function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = request.raw.errored === null ? toFxError(thrown) : disconnected();
  const problem = encodeProblem(error, request.id);
  request.outcome = { code: problem.code };
  // There may be thousands a second; the request's line and the metrics have them.
  const isExpected = error.code === "overloaded" || error.code === "unreachable";
  if (problem.status >= 500 && !isExpected) logFailure(request, error, thrown);
  if (error.retryAfterSeconds !== undefined) {
    reply.header("retry-after", Math.max(1, Math.ceil(error.retryAfterSeconds)));
  }
  if (problem.code === "unauthorized") reply.header("www-authenticate", challengeOf(request));
  if (error.replayed) reply.header("idempotency-replayed", "true");
  return reply.code(problem.status).type(`${problemType}; charset=utf-8`).send(JSON.stringify(problem));
}

/** A temporary failure is one line; any other is logged with its stack. */
export function logFailure(request: FastifyRequest, { code, message }: FxError, thrown: unknown): void {
  const passing = code === "rates-unavailable" || code === "overloaded";
  if (passing) request.server.log.warn({ id: request.id, code, reason: message }, "failed");
  else request.server.log.error({ id: request.id, code, err: thrown }, "failed");
}

/**
 * Answers a client that sends no valid HTTP, or sends it too slowly or too much of it, and closes the connection. A request
 * that did not arrive whole is not refused with 400: that would settle an earlier attempt, whose answer was lost.
 * @param broken the response to the request that has the fault, if its headers have none
 */
export function answerMalformed(
  log: FastifyBaseLogger,
  fault: NodeJS.ErrnoException,
  socket: Socket,
  broken: ServerResponse | undefined,
): void {
  if (fault.code === "ECONNRESET" || !socket.writable) return;
  if (broken?.headersSent) return void socket.destroy();
  const [code, reason] = socket.readableEnded
    ? endedEarly
    : (connectionFaults[fault.code ?? ""] ?? invalidHttp);
  const problem = encodeProblem(new FxError(code, reason), "none");
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    `Content-Type: ${problemType}; charset=utf-8`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
  log.info({ code, fault: fault.code }, "malformed request");
}

type ConnectionFault = readonly [code: AnswerCode, reason: string];
const invalidHttp: ConnectionFault = ["invalid-request", "The request is not valid HTTP."];
const endedEarly: ConnectionFault = ["overloaded", "The request did not arrive whole. Send it again."];
const connectionFaults: Readonly<Record<string, ConnectionFault>> = {
  HPE_HEADER_OVERFLOW: ["invalid-request", "The path and the headers are larger than 16 KiB."],
  ERR_HTTP_REQUEST_TIMEOUT: ["overloaded", "The request did not arrive in time. Send it again."],
};

function disconnected(): FxError {
  return new FxError("unreachable", "The client disconnected before it had sent the whole body.");
}

/** Turns whatever was thrown into an error of the closed set. */
export function toFxError(thrown: unknown): FxError {
  if (thrown instanceof FxError) return thrown;
  const { code = "", statusCode = 500 } = thrown as { code?: string; statusCode?: number };
  if (statusCode >= 400 && statusCode < 500 && code.startsWith("FST_")) {
    return new FxError("invalid-request", requestFaults[code] ?? "The request is not valid.");
  }
  return new FxError(
    "internal",
    "Something went wrong inside fx. The server's log says more, under this request's id.",
    { cause: thrown },
  );
}
