import { BlockList, isIP, SocketAddress } from "node:net";
import type { FastifyRequest } from "fastify";

/** Networks that `--trust-proxy` has a name for. */
const named: Readonly<Record<string, readonly string[]>> = {
  loopback: ["127.0.0.0/8", "::1/128"],
  linklocal: ["169.254.0.0/16", "fe80::/10"],
  uniquelocal: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
};

/**
 * Says which addresses are those of proxies that are trusted.
 * @param proxies addresses, networks such as "10.0.0.0/8", and names of networks
 */
export function trustedProxies(proxies: readonly string[]): (text: string) => boolean {
  const trusted = new BlockList();
  for (const network of proxies.flatMap((proxy) => named[proxy] ?? [proxy])) {
    const [address = "", bits] = network.split("/");
    const version = versionOf(address);
    if (bits === undefined) trusted.addAddress(address, version);
    else trusted.addSubnet(address, Number(bits), version);
  }
  return (text) => {
    const address = addressIn(text);
    return address !== undefined && trusted.check(address, versionOf(address));
  };
}

/** Where a request comes from: the address that a trusted proxy names, or else that of the connection. */
export function clientAddress({ ip, raw: { socket } }: FastifyRequest): string {
  return addressIn(ip) ?? socket.remoteAddress ?? "";
}

/** The address in a text that a proxy sends: in its usual form, from one with or without brackets and a port. */
function addressIn(text: string): string | undefined {
  const [, inBrackets, beforePort] = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(text) ?? [];
  const address = inBrackets ?? beforePort ?? text;
  // A zone, as in fe80::1%eth0, may be any text.
  if (isIP(address) === 0 || address.includes("%")) return undefined;
  return new SocketAddress({ address, family: versionOf(address) }).address.replace(
    /^::ffff:(?=[\d.]+$)/,
    "",
  );
}

function versionOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
