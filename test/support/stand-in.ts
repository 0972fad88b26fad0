import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { TestContext } from "node:test";

export interface StandIn {
  readonly url: string;
  /** Complete requests received so far, as text. */
  readonly requests: readonly string[];
}

/**
 * A server that gives these raw answers in turn, the last one for good: "hang" does not answer, "die" drops the
 * connection, and from "gone" on nobody listens.
 */
export async function openStandIn(...answers: string[]): Promise<StandIn> {
  const requests: string[] = [];
  const server = createServer((socket) => {
    let text = "";
    socket.on("error", () => {});
    socket.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
      // A client that got no answer tries a TLS handshake, which no server of HTTP completes.
      if (text.startsWith("\x16")) return void socket.destroy();
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      const end = text.indexOf("\r\n\r\n");
      if (end < 0 || Buffer.byteLength(text.slice(end + 4)) < length) return;
      if (/transfer-encoding: chunked/i.test(text) && !text.endsWith("\r\n0\r\n\r\n")) return;
      requests.push(text);
      text = "";
      const answer = answers[Math.min(requests.length, answers.length) - 1] as string;
      if (answers[requests.length] === "gone") server.close();
      if (answer === "die") socket.destroy();
      else if (answer !== "hang") socket.end(answer);
    });
  });
  return { url: await listen(server), requests };
}

export type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** An HTTP server that gives these answers in turn to complete requests, the last one for good. */
export async function openHttpStandIn(t: TestContext, ...answers: Answer[]) {
  const requests: IncomingMessage[] = [];
  const sockets = new Set<Socket>();
  const server = createHttpServer((request, response) => {
    sockets.add(request.socket);
    response.on("error", () => {});
    request.resume().on("end", () => {
      requests.push(request);
      answers[Math.min(requests.length, answers.length) - 1]?.(response, request);
    });
  });
  let sent = 0;
  server.on("connection", (socket) => socket.on("close", () => (sent += socket.bytesWritten)));
  /** `sent` is the number of bytes that closed connections have taken. */
  return { url: await listen(server, t), requests, sockets, sent: () => sent };
}

/**
 * Lets a server listen on a free port of loopback, and returns the URL. It ends with its connections after the test; one of
 * no test lasts as long as something else keeps the process.
 */
export async function listen(server: Server, t?: TestContext): Promise<string> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    if (t === undefined) socket.unref();
    sockets.add(socket.once("close", () => sockets.delete(socket)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  if (t === undefined) server.unref();
  t?.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A URL of loopback where nobody listens. */
export async function unusedUrl(): Promise<string> {
  const server = createServer();
  const url = await listen(server);
  server.close();
  await once(server, "close");
  return url;
}

/** A raw answer without fx's headers, such as a proxy's. */
export function rawAnswer(status: number, body = "<html>", headers = "Content-Type: text/html"): string {
  const head = `HTTP/1.1 ${status} Whatever\r\n${headers}\r\nConnection: close`;
  return `${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** A raw answer with a problem of this code. */
export function problemAnswer(
  status: number,
  code: string,
  headers = "",
  type = `urn:fx:error:${code}`,
): string {
  const body = JSON.stringify({
    type,
    title: "Refused",
    status,
    detail: "For the test.",
    instance: "urn:fx:request:1",
    code,
  });
  return rawAnswer(status, body, `Content-Type: application/problem+json${headers && `\r\n${headers}`}`);
}

/** The id of a receipt made this many seconds ago. */
export function receiptFrom(secondsAgo: number): string {
  const time = (Date.now() - 1000 * secondsAgo).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${randomUUID().slice(24)}`;
}
