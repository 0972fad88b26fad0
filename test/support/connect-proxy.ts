import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

export interface ConnectProxy {
  readonly url: string;
  /** Host and port of each CONNECT, in order. */
  readonly connects: string[];
  /** The Proxy-Authorization of each CONNECT, in order. */
  readonly authorizations: (string | undefined)[];
  close(): Promise<void>;
}

/**
 * An HTTP proxy on loopback that leads every CONNECT to `port` of this machine, whatever its host.
 * @param does "refuses" answers 403, "hangs" does not answer
 */
export async function openConnectProxy(
  port: number,
  does: "connects" | "refuses" | "hangs" = "connects",
): Promise<ConnectProxy> {
  const connects: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_request, response) => response.writeHead(405).end());
  server.on("connection", (socket) => sockets.add(socket));
  server.on("connect", (request, socket, head) => {
    connects.push(request.url ?? "");
    authorizations.push(request.headers["proxy-authorization"]);
    socket.on("error", () => {});
    if (does === "hangs") return;
    if (does === "refuses") {
      socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    const target = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      target.write(head);
      socket.pipe(target).pipe(socket);
    });
    target.on("error", () => {}).on("close", () => socket.destroy());
    socket.on("close", () => target.destroy());
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connects,
    authorizations,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

const names = ["https_proxy", "http_proxy", "all_proxy", "no_proxy"].flatMap((name) => [
  name,
  name.toUpperCase(),
]);

/** Runs `work` with these proxy variables in the environment, and no others. */
export async function withProxyVariables<T>(
  variables: Readonly<Record<string, string>>,
  work: () => T | Promise<T>,
): Promise<T> {
  const before = names.map((name) => [name, process.env[name]] as const);
  for (const name of names) delete process.env[name];
  Object.assign(process.env, variables);
  try {
    return await work();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}
