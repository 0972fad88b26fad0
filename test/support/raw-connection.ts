import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";

/** A connection over which a test writes raw requests. */
export interface RawConnection {
  readonly socket: Socket;
  /** Sends GETs of these paths, pipelined. */
  get(...paths: readonly string[]): void;
  /** Everything received so far. */
  received(): string;
  /** The statuses of the answers so far. */
  statuses(): number[];
  /** Resolves when the received text matches. */
  until(pattern: RegExp): Promise<void>;
  /** Ends the connection by a TCP reset, also over TLS. */
  reset(): void;
  readonly closed: Promise<unknown>;
}

/** @param tls options for a connection over TLS */
export async function openConnection(url: string, tls?: ConnectionOptions): Promise<RawConnection> {
  const place = { host: "127.0.0.1", port: Number(new URL(url).port) };
  const beneath = connect(place);
  const socket =
    tls === undefined ? beneath : connectTls({ socket: beneath, servername: "localhost", ...tls });
  await once(socket, tls === undefined ? "connect" : "secureConnect");
  let received = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    received += chunk;
  });
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  return {
    socket,
    get: (...paths) => void socket.write(paths.map(getRequest).join("")),
    received: () => received,
    statuses: () => [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status)),
    until: async (pattern) => {
      while (!pattern.test(received)) {
        if (socket.closed) throw new Error(`The connection closed after: ${received}`);
        await Promise.race([once(socket, "data"), closed]);
      }
    },
    reset: () => void beneath.resetAndDestroy(),
    closed,
  };
}

/** The head of a request. */
export function headOf(line: string, ...headers: readonly string[]): string {
  return [`${line} HTTP/1.1`, "Host: localhost", ...headers, "", ""].join("\r\n");
}

/** The bytes of a GET request. */
export function getRequest(path: string): string {
  return headOf(`GET ${path}`);
}

/** The answer of a server to these bytes, on a connection of their own. */
export async function answerTo(url: string, ...pieces: readonly (string | Uint8Array)[]): Promise<string> {
  const { socket, until, received } = await openConnection(url);
  for (const piece of pieces) socket.write(piece);
  await until(/\r\n\r\n/);
  const [, length = "0"] = /^content-length: (\d+)/im.exec(received()) ?? [];
  await until(new RegExp(`\r\n\r\n[\\s\\S]{${length}}`));
  socket.destroy();
  return received();
}
