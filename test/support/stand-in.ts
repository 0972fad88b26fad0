import { createServer } from "node:net";
import { after } from "node:test";

export interface StandIn {
  readonly url: string;
  /** The requests that have arrived whole, as text. */
  readonly requests: readonly string[];
}

/**
 * A server that takes requests and gives these raw answers in turn, the last one for good: it hangs for "hang", for
 * "die" drops the connection without an answer, and from "gone" on nobody listens. It stands until the tests of the
 * file are over.
 */
export async function openStandIn(...answers: string[]): Promise<StandIn> {
  const requests: string[] = [];
  const server = createServer((socket) => {
    let text = "";
    socket.on("error", () => {});
    socket.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
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

/** A raw answer that says nothing of fx, such as a proxy's. */
export function rawAnswer(status: number, body = "<html>", headers = "Content-Type: text/html"): string {
  const head = `HTTP/1.1 ${status} Whatever\r\n${headers}\r\nConnection: close`;
  return `${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** The raw answer with the problem details of an error code. */
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
