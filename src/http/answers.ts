import { once } from "node:events";
import { Readable, type Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Account } from "../core/account.ts";
import { FxError } from "../core/errors.ts";
import type { ExchangeService, Recorded } from "../core/service.ts";
import type { OperationId } from "../wire/operations.ts";
import { parseIdempotencyKey } from "../wire/requests.ts";
import { whenOver } from "./connections.ts";
import { logFailure, toFxError } from "./errors.ts";
import { breakOff, type Lifecycle } from "./lifecycle.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Further fields of the request's line in the log; those of a bulk are known when all its lines are answered. */
    outcome: object | Promise<object> | undefined;
  }
}

/** A handler for each operation. What it throws is answered as a problem. */
export type Handlers = Readonly<Record<OperationId, Handler>>;
export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** The dependencies of the handlers. */
export interface HandlerContext {
  readonly service: ExchangeService;
  readonly now: () => Date;
  readonly slowAnswers?: SlowAnswers | undefined;
  /** The path that links in answers begin with. */
  readonly prefix: string;
}

const jsonType = "application/json; charset=utf-8";

/** The longest that an answer may take before its first byte, and then between two bytes. */
export interface SlowAnswers {
  readonly firstMs: number;
  readonly nextMs: number;
}

/** Proxies wait for 30 s or more. */
const waiting: SlowAnswers = { firstMs: 10_000, nextMs: 5000 };

/** @param body an object, or JSON text */
export function sendJson(
  reply: FastifyReply,
  body: object | string,
  status = 200,
  headers: Headers = {},
): FastifyReply {
  return reply
    .code(status)
    .headers(headers)
    .type(jsonType)
    .send(typeof body === "string" ? body : JSON.stringify(body));
}

/** Answers HEAD without the length of a body that was not made. */
export function sendHead(reply: FastifyReply, type = jsonType, headers: Headers = {}): FastifyReply {
  return reply.headers(headers).type(type).send(Readable.from([]));
}

/** Headers of an answer beside those that every answer has. */
export type Headers = Record<string, string>;

interface SlowAnswer {
  readonly lifecycle: Lifecycle;
  readonly type?: string;
  readonly slowAnswers?: SlowAnswers | undefined;
  /** Sent where no part comes: a line feed if absent. */
  readonly filler?: string;
  /** The parts of the answer. */
  readonly parts: AsyncIterable<string>;
}

/**
 * Answers with what takes minutes to make. Where no part comes for seconds, a filler is sent, so that no proxy gives up
 * waiting. A failure after the first byte breaks the answer off.
 */
export async function sendSlow(
  request: FastifyRequest,
  reply: FastifyReply,
  {
    lifecycle,
    type = jsonType,
    slowAnswers: { firstMs, nextMs } = waiting,
    filler = "\n",
    parts,
  }: SlowAnswer,
): Promise<FastifyReply> {
  const ended = new Promise<never>((_, reject) => {
    const end = (reason: FxError) => (reply.raw.headersSent ? breakOff(request, reason) : reject(reason));
    lifecycle.add({ request, end }, reply);
  });
  const source = parts[Symbol.asyncIterator]();
  let next = source.next();
  const first = await Promise.race([settledWithin(next, firstMs), ended]);
  async function* padded(): AsyncGenerator<string> {
    try {
      for (let part = first; !part?.done; part = await settledWithin(next, nextMs)) {
        if (part !== undefined) {
          next = source.next();
          // It may fail while the client does not read, or after it has gone: nobody waits for it then.
          next.catch(() => {});
        }
        yield part === undefined ? filler : part.value;
      }
    } catch (error) {
      if (!reply.raw.destroyed) logFailure(request, toFxError(error), error);
      throw error;
    }
  }
  // The header has nginx pass each byte on at once.
  return reply.type(type).header("x-accel-buffering", "no").send(Readable.from(padded()));
}

async function settledWithin<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const waited = new AbortController();
  const timer = pause(ms, undefined, { signal: waited.signal }).catch(() => undefined);
  return Promise.race([promise, timer]).finally(() => waited.abort());
}

/**
 * Limits how many answers of one kind are under way at once. The function that it returns begins one.
 * @throws FxError overloaded, from that function
 */
export function limitAnswers(most: number, plural: string): (reply: FastifyReply) => void {
  let underWay = 0;
  return (reply) => {
    if (underWay >= most) {
      const message = `${most} ${plural} are under way, and no more are begun at once. Try again later.`;
      throw new FxError("overloaded", message, { retryAfterSeconds: 5 });
    }
    underWay += 1;
    whenOver(reply, () => {
      underWay -= 1;
    });
  };
}

/** An answer of one part. */
export async function* jsonOf(made: Promise<object>): AsyncGenerator<string> {
  yield JSON.stringify(await made);
}

/** Resolves when there is room for more, or nobody reads the stream any more. */
export async function writeTo(stream: Writable, text: string): Promise<void> {
  if (stream.destroyed || stream.write(text)) return;
  const waited = new AbortController();
  const { signal } = waited;
  const settled = ["drain", "close"].map((event) => once(stream, event, { signal }));
  await Promise.race(settled).finally(() => waited.abort());
}

/** Headers of an answer that has an account, beside its four fields. */
export function accountHeaders({ closed, blocked }: Account): Headers {
  if (closed) return { "fx-account": "closed" };
  return blocked ? { "fx-account": "blocked" } : {};
}

/** Headers of the answer to an opening or an exchange. */
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
