import type { FastifyReply, FastifyRequest } from "fastify";
import type { AnswerCode } from "../core/errors.ts";
import type { ExchangeService, Recorded } from "../core/service.ts";
import type { OperationId } from "../wire/operations.ts";
import { parseIdempotencyKey } from "../wire/requests.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** What its line in the log says beside the status. */
    outcome: { readonly code: AnswerCode } | { readonly receipt: string } | BulkOutcome | undefined;
  }
}

/** How many lines of a bulk came to what, and what ended it before its last line. */
export interface BulkOutcome {
  readonly lines: Readonly<Record<string, number>>;
  readonly ended?: string;
}

/** A handler for each operation that there is. What it throws is answered as a problem. */
export type Handlers = Readonly<Record<OperationId, Handler>>;
export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** What the handlers of the API work with. */
export interface HandlerContext {
  readonly service: ExchangeService;
  readonly now: () => Date;
  /** The path that links in answers begin with. */
  readonly prefix: string;
}

/** Headers of an answer beside those that every answer has. */
export type Headers = Record<string, string>;

/** Answers with JSON: of an object, or as it is. */
export function sendJson(
  reply: FastifyReply,
  body: object | string,
  status = 200,
  headers: Headers = {},
): FastifyReply {
  headers["content-type"] ??= "application/json; charset=utf-8";
  return sendText(reply, typeof body === "string" ? body : JSON.stringify(body), status, headers);
}

/**
 * Answers with text, straight to Node's response, because Fastify's reply is slower (docs/PERFORMANCE.md). Adds to `headers`.
 */
export function sendText(reply: FastifyReply, text: string, status: number, headers: Headers): FastifyReply {
  const receipt = headers["fx-receipt"];
  if (receipt !== undefined) reply.request.outcome = { receipt: receipt.slice(receipt.lastIndexOf("/") + 1) };
  headers["x-request-id"] = reply.request.id;
  headers["cache-control"] = "no-store";
  if (status !== 204) headers["content-length"] = String(Buffer.byteLength(text));
  reply.hijack();
  reply.raw.writeHead(status, headers).end(text);
  return reply;
}

/** What the answer to an opening or an exchange says beside its body. */
export function recordedHeaders({ receiptId, replayed }: Recorded, prefix: string): Headers {
  const headers: Headers = { "fx-receipt": `${prefix}/api/receipts/${receiptId}` };
  if (replayed) headers["idempotency-replayed"] = "true";
  return headers;
}

/** A parameter of the path, decoded. */
export function pathParameter(request: FastifyRequest, name: string): string {
  return (request.params as Record<string, string>)[name] ?? "";
}

/** @throws FxError invalid-request */
export function idempotencyKey({ headers }: FastifyRequest): string | undefined {
  const header = headers["idempotency-key"];
  return typeof header === "string" ? parseIdempotencyKey(header) : undefined;
}
