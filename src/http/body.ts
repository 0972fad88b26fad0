import type { IncomingMessage } from "node:http";
import type { FastifyReply } from "fastify";
import { FxError } from "../core/errors.ts";

const bodyLimit = 16 * 1024;
/** One for all: thousands may go at once, and a stack for each takes time. */
const gone = new FxError("unreachable", "The client went before its body was there.");

/**
 * The text of a request's body. It has usually arrived with the headers and is returned at once: Fastify's own
 * parser, which listens to a stream, is slower (docs/PERFORMANCE.md). Refusing one closes the connection, since its rest may be on its way.
 * @throws FxError invalid-request if it is too large, and unreachable if it breaks off; at once or from the promise
 */
export function readBody(reply: FastifyReply): string | Promise<string> {
  const request = reply.request.raw;
  const refuse = (refusal: FxError): never => {
    reply.header("connection", "close");
    throw refusal;
  };
  if (Number(request.headers["content-length"]) > bodyLimit) refuse(tooLarge());
  if (!request.complete) return collect(request).catch(refuse);
  const arrived: Buffer | null = request.read();
  if (arrived === null) return "";
  return arrived.length > bodyLimit ? refuse(tooLarge()) : arrived.toString();
}

/** @throws FxError, from the promise */
function collect(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    const breakOff = () => reject(gone);
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > bodyLimit) reject(tooLarge());
      else chunks.push(chunk);
    });
    request.once("end", () => resolve(Buffer.concat(chunks).toString()));
    request.once("error", breakOff);
    // A stream that was destroyed earlier emits no event.
    if (request.destroyed) breakOff();
  });
}

function tooLarge(): FxError {
  return new FxError("invalid-request", "The body is larger than 16 KiB.");
}
