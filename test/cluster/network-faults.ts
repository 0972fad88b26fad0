/** Faults of packets and connections between hosts, by nftables in their namespaces. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Order, proxyUid, type State } from "./faulty-proxy.ts";
import type { Host } from "./network.ts";

export type Undo = () => Promise<void>;

export interface Way {
  readonly from: Host;
  readonly to: Host;
}

/** Drops all packets on these ways. The opposite direction stays open unless it is listed too. */
export async function block(ways: readonly Way[]): Promise<Undo> {
  const senders = new Map<Host, Host[]>();
  for (const { from, to } of ways) senders.set(to, [...(senders.get(to) ?? []), from]);
  return together(
    [...senders].map(([to, from]) => {
      const addresses = from.map(({ address }) => address).join(", ");
      return rules(
        to,
        `chain input { type filter hook input priority -10; ip saddr { ${addresses} } drop; }`,
      );
    }),
  );
}

/** Drops `percent` of the packets between the host and these others, both ways. */
export function lose(host: Host, others: readonly Host[], percent: number): Promise<Undo> {
  const addresses = others.map(({ address }) => address).join(", ");
  const chain = (hook: string, side: string) =>
    `chain ${hook} { type filter hook ${hook} priority -10;
      ip ${side} { ${addresses} } numgen random mod 100 < ${percent} drop; }`;
  return rules(host, `${chain("input", "saddr")}\n${chain("output", "daddr")}`);
}

export interface FaultyProxy {
  order(order: Order): void;
  disturbed(): number;
  readonly undo: Undo;
}

/**
 * Redirects connections of a host to these addresses (`host:port`) through a process there, which breaks and delays
 * them. Existing connections break at once; the redirected ones break at the undo.
 */
export async function disturb(host: Host, targets: readonly string[]): Promise<FaultyProxy> {
  const program = fileURLToPath(new URL("faulty-proxy.ts", import.meta.url));
  const child = spawn(
    "nsenter",
    [
      ...[`--net=${host.namespace}`, "--", process.execPath, "--import", "tsx", program],
      ...targets.map((target) => `tcp://${target}`),
    ],
    { stdio: ["ignore", "inherit", "inherit", "ipc"] },
  );
  const ended = once(child, "exit");
  let state: State = { ports: [], disturbed: 0 };
  child.on("message", (message: State) => {
    state = message;
  });
  const end = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  try {
    const early = ended.then(() => Promise.reject(new Error(`The proxy in ${host.name} ended early.`)));
    early.catch(() => {});
    await Promise.race([once(child, "message"), early]);
    const redirects = targets.map((target, index) => {
      const [address, port] = target.split(":");
      return `ip daddr ${address} tcp dport ${port} meta skuid != ${proxyUid} redirect to :${state.ports[index]};`;
    });
    const chain = `chain output { type nat hook output priority -100; ${redirects.join(" ")} }`;
    const remove = await rules(host, chain);
    for (const target of targets) {
      const [address, port] = target.split(":");
      await host.exec("ss", "--kill", "--no-header", "dst", `${address}`, "dport", "=", `${port}`);
    }
    return {
      order: (order) => void child.send(order),
      disturbed: () => state.disturbed,
      undo: async () => {
        await remove();
        await end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

let tables = 0;

/** Adds nftables chains to a host, as a table of their own. */
async function rules(host: Host, chains: string): Promise<Undo> {
  tables += 1;
  const table = `fault${tables}`;
  await host.exec("nft", `table ip ${table} {\n${chains}\n}`);
  return async () => void (await host.exec("nft", `delete table ip ${table}`));
}

/** All or nothing: if one part fails, the others are undone. */
async function together(parts: readonly Promise<Undo>[]): Promise<Undo> {
  const settled = await Promise.allSettled(parts);
  const undoes = settled.flatMap((part) => (part.status === "fulfilled" ? [part.value] : []));
  const undo = async () => void (await Promise.all(undoes.map((each) => each())));
  const failed = settled.find((part) => part.status === "rejected");
  if (failed === undefined) return undo;
  await undo();
  throw failed.reason;
}
