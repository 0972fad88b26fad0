import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A connection through the proxy: the socket of its client, and the one to the server. */
export interface Link {
  readonly client: Socket;
  readonly server: Socket;
}

/** The fate of bytes that are not passed on. */
export interface Passing {
  readonly toServer?: (bytes: Buffer) => void;
  readonly toClient?: (bytes: Buffer) => void;
}

export interface TcpProxy {
  readonly url: string;
  /** Breaks every connection. */
  cut(): void;
  close(): void;
}

/**
 * A proxy on loopback, whose connections break together on both sides.
 * @param portOf the server's port for the connection of this number, from 0
 * @param passing is asked once for each connection
 */
export async function openTcpProxy(
  portOf: (nth: number) => number,
  passing: (link: Link, nth: number) => Passing = () => ({}),
): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const proxy = createServer((client) => {
    const nth = connections;
    connections += 1;
    const server = connect(portOf(nth), "127.0.0.1");
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        for (const each of [client, server]) each.destroy();
      });
    }
    const { toServer = (bytes) => server.write(bytes), toClient = (bytes) => client.write(bytes) } = passing(
      { client, server },
      nth,
    );
    client.on("data", toServer);
    server.on("data", toClient);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cut,
    close: () => {
      cut();
      proxy.close();
    },
  };
}
