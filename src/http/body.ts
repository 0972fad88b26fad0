import type { IncomingMessage } from "node:http";
import type { FastifyReply } from "fastify";
import { FxError } from "../core/errors.ts";

const bodyLimit = 16 * 1024;

/**
 * The text of a request's body. It has most often arrived with the headers and is taken at once: Fastify's own way,
 * which listens to a stream, costs 3 µs more. Refusing one closes the connection, since its rest may be on its way.
 * @throws FxError invalid-request if it is too large or breaks off
 */
export async function readBody(reply: FastifyReply): Promise<string> {
  const request = reply.request.raw;
  try {
    if (Number(request.headers["content-length"]) > bodyLimit) throw tooLarge();
    const arrived: Buffer | null = request.complete ? request.read() : await collect(request);
    if (arrived === null) return "";
    if (arrived.length > bodyLimit) throw tooLarge();
    return arrived.toString();
  } catch (error) {
    reply.header("connection", "close");
    throw error instanceof FxError ? error : new FxError("invalid-request", "The body broke off.");
  }
}

function collect(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > bodyLimit) reject(tooLarge());
      else chunks.push(chunk);
    });
    request.once("end", () => resolve(Buffer.concat(chunks)));
    request.once("error", reject);
    // What broke off before anybody listened tells nobody.
    if (request.destroyed) reject(new Error("aborted"));
  });
}

function tooLarge(): FxError {
  return new FxError("invalid-request", "The body is larger than 16 KiB.");
}
