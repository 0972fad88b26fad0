/**
 * Takes from its parent what to send over how many connections, sends it, says so, and waits to be killed: then the
 * system closes all of them at once, and resets those over which something came, because it reads nothing.
 */
import { once } from "node:events";
import { connect } from "node:net";

export interface Client {
  readonly url: string;
  readonly connections: number;
  readonly text: string;
}

process.once("disconnect", () => process.exit());
process.once("message", async ({ url, connections, text }: Client) => {
  const { hostname, port } = new URL(url);
  const open = async () => {
    const socket = connect({ host: hostname, port: Number(port) }).pause();
    await once(socket, "connect");
    await new Promise((resolve) => socket.write(text, resolve));
  };
  await Promise.all(Array.from({ length: connections }, open));
  process.send?.("sent");
});
