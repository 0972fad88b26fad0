import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { TLSSocket } from "node:tls";
import type { FastifyReply, FastifyRequest } from "fastify";
import { FxError } from "../core/errors.ts";
import { bulkType } from "../wire/bulk.ts";
import { whenOver } from "./connections.ts";

/** A streamed answer. It ends early when the server stops, and when its token is revoked or expires. */
export interface Stream {
  readonly request: FastifyRequest;
  end(reason: FxError): void;
}

/** Whether the server still takes new work, and the streams under way. */
export class Lifecycle {
  #draining = false;
  readonly streams = new Set<Stream>();

  get draining(): boolean {
    return this.#draining;
  }

  /** Counts a stream among those under way until its answer is over. */
  add(stream: Stream, reply: FastifyReply): void {
    this.streams.add(stream);
    whenOver(reply, () => this.streams.delete(stream));
  }

  /** Whether the answer to a request is a stream. */
  hasStream(request: IncomingMessage): boolean {
    return [...this.streams].some((stream) => stream.request.raw === request);
  }

  drain(): void {
    this.#draining = true;
    for (const stream of this.streams) stream.end(draining());
  }
}

export function draining(): FxError {
  const message = "The server is stopping. Send what has no answer again, with the same keys.";
  return new FxError("overloaded", message, { retryAfterSeconds: 1 });
}

/**
 * Cuts an answer off; the log has the reason. HTTP/1.0 marks the end of an answer by closing the connection, so there it
 * is reset. Over TLS, a missing close_notify shows that the answer is not whole.
 */
export function breakOff(request: FastifyRequest, { code }: FxError): void {
  request.outcome = { ended: code };
  const { socket, httpVersion } = request.raw;
  if (httpVersion === "1.0" && !(socket instanceof TLSSocket)) socket.resetAndDestroy();
  else socket.destroy();
}

/** The time after an answer in which the rest of the request's body is read, if it has arrived. */
const readMs = 100;
/** How long a client that still sends is listened to after that. */
const lingerMs = 3000;

/**
 * The body of a request as a stream that may be destroyed: the rest of the body is dropped, and the connection closed soon
 * after the answer if more of it is to come.
 * @throws FxError invalid-request
 */
export function bodyOf({ body, raw }: FastifyRequest, { raw: response }: FastifyReply): PassThrough {
  if (body === undefined) {
    throw new FxError("invalid-request", `The body must be sent as Content-Type: ${bulkType}.`);
  }
  const stream = new PassThrough();
  // The code that reads the body hears of its errors; it may not have begun, or have ended.
  stream.on("error", () => {});
  stream.once("close", () => raw.unpipe(stream).resume());
  raw.once("error", () => stream.destroy(new FxError("invalid-request", "The body broke off.")));
  raw.pipe(stream);
  response.once("finish", () => {
    setTimeout(() => raw.complete || closeSoon(raw.socket), readMs);
  });
  return stream;
}

/** Closes a connection whose request was not read to its end. At once, that could take the answer back. */
function closeSoon(socket: Socket): void {
  socket.end();
  const deadline = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(deadline));
}
