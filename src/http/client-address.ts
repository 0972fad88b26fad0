import { isIP, SocketAddress } from "node:net";
import type { FastifyRequest } from "fastify";

/** Where a request comes from: the address that a trusted proxy names, or else that of the connection. */
export function clientAddress({ ip, raw: { socket } }: FastifyRequest): string {
  return addressIn(ip) ?? socket.remoteAddress ?? "";
}

/** The address in a text that a proxy sends, which may have brackets and a port: in its canonical form. */
function addressIn(text: string): string | undefined {
  const [, inBrackets, beforePort] = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(text) ?? [];
  const address = inBrackets ?? beforePort ?? text;
  // A zone, as in fe80::1%eth0, may be any text.
  if (isIP(address) === 0 || address.includes("%")) return undefined;
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  return new SocketAddress({ address, family }).address.replace(/^::ffff:(?=[\d.]+$)/, "");
}
