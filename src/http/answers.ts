import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Account } from "../core/account.ts";
import type { AnswerCode } from "../core/errors.ts";
import type { ExchangeService, Recorded } from "../core/service.ts";
import type { OperationId } from "../wire/operations.ts";
import { parseIdempotencyKey } from "../wire/requests.ts";

declare module "fastify" {
  interface FastifyInstance {
    /** What every answer has, as it is sent: a line for each header. A page has a policy of its own. */
    securityHeaders: { readonly ofPage: string; readonly ofData: string };
  }
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
export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

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
  body: object | string | Buffer,
  status = 200,
  headers: Headers = {},
): void {
  headers["content-type"] ??= "application/json; charset=utf-8";
  const isText = typeof body === "string" || Buffer.isBuffer(body);
  sendText(reply, isText ? body : JSON.stringify(body), status, headers);
}

/** Answers with text, straight to Node's response, because Fastify's reply is slower (docs/PERFORMANCE.md). */
export function sendText(reply: FastifyReply, text: string | Buffer, status: number, headers: Headers): void {
  const { request } = reply;
  const receipt = headers["fx-receipt"];
  if (receipt !== undefined) request.outcome = { receipt: receipt.slice(receipt.lastIndexOf("/") + 1) };
  const length = Buffer.byteLength(text);
  // To HEAD, "" is also for a text that was not made.
  if (status !== 204 && (length > 0 || request.method !== "HEAD")) headers["content-length"] = String(length);
  const response = beginAnswer(reply, status, headers);
  if (request.method === "HEAD") response.end();
  else if (typeof text !== "string") response.end(text);
  else {
    response._header += length === text.length ? text : Buffer.from(text).toString("latin1");
    response.end();
  }
}

/**
 * The head of an answer, to which its body is written: these headers, those that plugins have set, and those that every
 * answer has.
 */
export function beginAnswer(reply: FastifyReply, status: number, headers: Headers): Head {
  const { request, raw } = reply.hijack();
  const length = headers["content-length"];
  const forNode = length === undefined ? [] : ["content-length", length];
  const set = reply.getHeaders();
  for (const name in set) if (!(name in headers)) forNode.push(name, String(set[name]));
  let lines = `x-request-id: ${request.id}\r\ncache-control: no-store\r\n`;
  for (const name in headers) if (name !== "content-length") lines += `${name}: ${headers[name]}\r\n`;
  const { ofPage, ofData } = request.server.securityHeaders;
  const isPage = headers["content-security-policy"] !== undefined;
  return withHeaders(raw.writeHead(status, forNode), lines + (isPage ? ofPage : ofData));
}

/**
 * Adds lines of fx's own to a head that has been made and not sent. Node would check each, and take a quarter of a
 * microsecond for it.
 */
export function withHeaders(response: ServerResponse, lines: string): Head {
  const head = response as Head;
  head._header = `${head._header.slice(0, -2)}${lines}\r\n`;
  return head;
}

type Head = ServerResponse & HeadToSend;

/**
 * The head, as Node will write it: in Latin-1, so that each character is a byte. What is put after it goes out with it in
 * one write. `end(text)` makes two pieces, and takes 5 µs longer (docs/PERFORMANCE.md).
 */
interface HeadToSend {
  _header: string;
}

/** What an answer says of an account beside its four fields. */
export function accountHeaders({ closed }: Account): Headers {
  return closed ? { "fx-account": "closed" } : {};
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
