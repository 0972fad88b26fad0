import { once } from "node:events";
import { Readable, type Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Account } from "../core/account.ts";
import { FxError } from "../core/errors.ts";
import type { Recorded } from "../core/service.ts";
import { encodeAccount } from "../wire/accounts.ts";
import { parseIdempotencyKey } from "../wire/requests.ts";
import { whenOver } from "./connections.ts";
import type { HandlerContext, SlowAnswers } from "./context.ts";
import { logFailure, toFxError } from "./errors.ts";
import { breakOff } from "./lifecycle.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Further fields of the request's line in the log; those of a batch are known when all its lines are answered. */
    outcome: object | Promise<object> | undefined;
  }
}

const jsonType = "application/json; charset=utf-8";

/** Proxies wait for 30 s or more. */
const waiting: SlowAnswers = { firstMs: 10_000, nextMs: 5000 };

/** @param body an object, or JSON text */
export function sendJson(reply: FastifyReply, body: object | string, status = 200): FastifyReply {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return reply.code(status).type(jsonType).send(text);
}

/** Answers HEAD without making the body, and so without its length. */
export function sendHead(reply: FastifyReply, type = jsonType): FastifyReply {
  return reply.type(type).send(Readable.from([]));
}

/** Answers with an account. The body has four fields only, so a header says whether it is closed or blocked. */
export function sendAccount(reply: FastifyReply, account: Account): FastifyReply {
  const { closed, blocked } = account;
  if (closed || blocked) reply.header("fx-account", closed ? "closed" : "blocked");
  return sendJson(reply, encodeAccount(account));
}

/** Adds the headers with the receipt to the answer to a request that made an entry. */
export function addRecorded(reply: FastifyReply, { receiptId, replayed }: Recorded, prefix: string): void {
  reply.header("fx-receipt", `${prefix}/api/receipts/${receiptId}`);
  if (replayed) reply.header("idempotency-replayed", "true");
}

interface SlowAnswer {
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent while no part is ready: a line feed if absent. If empty, nothing is sent, and each part is waited for. */
  readonly filler?: string;
  readonly parts: AsyncIterable<string>;
}

/**
 * Answers with what takes long to make. Where no part comes for seconds, a filler is sent, so that no proxy gives up
 * waiting. A failure before the first byte is answered; after it, the answer breaks off. It ends early with the server's
 * stop, or with its token.
 */
export async function sendSlow(
  request: FastifyRequest,
  reply: FastifyReply,
  { lifecycle, slowAnswers = waiting }: Pick<HandlerContext, "lifecycle" | "slowAnswers">,
  { type = jsonType, headers = {}, filler = "\n", parts }: SlowAnswer,
): Promise<FastifyReply> {
  const ended = new Promise<never>((_, reject) => {
    const end = (reason: FxError) => (reply.raw.headersSent ? breakOff(request, reason) : reject(reason));
    lifecycle.add({ request, end }, reply);
  });
  const { firstMs, nextMs } = slowAnswers;
  const within = <T>(next: Promise<T>, ms: number) => (filler === "" ? next : settledWithin(next, ms));
  const source = parts[Symbol.asyncIterator]();
  let next = source.next();
  const first = await Promise.race([within(next, firstMs), ended]);
  async function* padded(): AsyncGenerator<string> {
    try {
      for (let part = first; !part?.done; part = await within(next, nextMs)) {
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
    } finally {
      source.return?.().catch(() => {});
    }
  }
  // The header has nginx pass each byte on at once.
  return reply
    .headers({ ...headers, "x-accel-buffering": "no" })
    .type(type)
    .send(Readable.from(padded()));
}

/** The result of the promise; undefined if it takes longer. */
export async function settledWithin<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const waited = new AbortController();
  const timer = pause(ms, undefined, { signal: waited.signal }).catch(() => undefined);
  return Promise.race([promise, timer]).finally(() => waited.abort());
}

/**
 * Limits how many answers of one kind are under way at once. The function that it returns begins one.
 * @throws FxError overloaded, from that function
 */
export function limitAnswers(
  most: number,
  plural: string,
  retryAfterSeconds = 5,
): (reply: FastifyReply) => void {
  let underWay = 0;
  return (reply) => {
    if (underWay >= most) {
      const message = `${most} ${plural} are under way, and no more are taken at once. Nothing was begun.`;
      throw new FxError("overloaded", message, { retryAfterSeconds });
    }
    underWay += 1;
    whenOver(reply, () => {
      underWay -= 1;
    });
  };
}

/** An answer of one part. */
export async function* onePart(text: Promise<string>): AsyncGenerator<string> {
  yield await text;
}

/** Resolves when there is room for more, or nobody reads the stream any more. */
export async function writeTo(stream: Writable, text: string): Promise<void> {
  if (stream.destroyed || stream.write(text)) return;
  const waited = new AbortController();
  const { signal } = waited;
  const settled = ["drain", "close"].map((event) => once(stream, event, { signal }));
  await Promise.race(settled).finally(() => waited.abort());
}

/** @throws FxError invalid-request */
export function idempotencyKey({ headers }: FastifyRequest): string | undefined {
  const header = headers["idempotency-key"];
  return typeof header === "string" ? parseIdempotencyKey(header) : undefined;
}
