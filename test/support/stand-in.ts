import { createServer } from "node:net";
import { after } from "node:test";

export interface StandIn {
  readonly url: string;
  /** Complete requests received so far, as text. */
  readonly requests: readonly string[];
}

/**
 * A server that gives these raw answers in turn, the last one for good: "hang" does not answer, "die" drops the
 * connection, and from "gone" on nobody listens. It stands until the end of the file's tests.
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
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  server.unref();
  after(() => server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("it has no port");
  return { url: `http://127.0.0.1:${address.port}`, requests };
}

/** A raw answer without fx's headers, such as a proxy's. */
export function rawAnswer(status: number, body = "<html>", headers = "Content-Type: text/html"): string {
  const head = `HTTP/1.1 ${status} Whatever\r\n${headers}\r\nConnection: close`;
  return `${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** A raw answer with a problem of this code. */
export function problemAnswer(status: number, code: string, headers = ""): string {
  const body = JSON.stringify({
    type: `urn:fx:error:${code}`,
    title: "Refused",
    status,
    detail: "For the test.",
    instance: "urn:fx:request:1",
    code,
  });
  return rawAnswer(status, body, `Content-Type: application/problem+json${headers && `\r\n${headers}`}`);
}

/** An id of a receipt that was made so many seconds ago. */
export function receiptFrom(secondsAgo: number): string {
  const time = (Date.now() - 1000 * secondsAgo).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
}
