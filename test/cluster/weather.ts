/** What becomes of packets and connections between hosts, by nftables inside of their namespaces. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Host } from "./network.ts";
import { type Order, type State, spoilerUid } from "./spoiler.ts";

export type Mend = () => Promise<void>;

export interface Way {
  readonly from: Host;
  readonly to: Host;
}

/** Lets nothing through on these ways. The ways back stay open, unless they are named, too. */
export async function block(ways: readonly Way[]): Promise<Mend> {
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

/** Loses so many of a hundred packets that the host sends to and gets from these others. */
export function lose(host: Host, others: readonly Host[], percent: number): Promise<Mend> {
  const addresses = others.map(({ address }) => address).join(", ");
  const chain = (hook: string, side: string) =>
    `chain ${hook} { type filter hook ${hook} priority -10;
      ip ${side} { ${addresses} } numgen random mod 100 < ${percent} drop; }`;
  return rules(host, `${chain("input", "saddr")}\n${chain("output", "daddr")}`);
}

export interface Spoiler {
  order(order: Order): void;
  spoilt(): number;
  readonly undo: Mend;
}

/**
 * Leads the connections of a host to these addresses (`host:port`) through a process there, which breaks and delays what
 * it is told. The connections that there are break first, and last those that lead through it.
 */
export async function spoil(host: Host, targets: readonly string[]): Promise<Spoiler> {
  const program = fileURLToPath(new URL("spoiler.ts", import.meta.url));
  const child = spawn(
    "nsenter",
    [
      ...[`--net=${host.namespace}`, "--", process.execPath, "--import", "tsx", program],
      ...targets.map((target) => `tcp://${target}`),
    ],
    { stdio: ["ignore", "inherit", "inherit", "ipc"] },
  );
  const ended = once(child, "exit");
  let state: State = { ports: [], spoilt: 0 };
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
      return `ip daddr ${address} tcp dport ${port} meta skuid != ${spoilerUid} redirect to :${state.ports[index]};`;
    });
    const chain = `chain output { type nat hook output priority -100; ${redirects.join(" ")} }`;
    const remove = await rules(host, chain);
    for (const target of targets) {
      const [address, port] = target.split(":");
      await host.exec("ss", "--kill", "--no-header", "dst", `${address}`, "dport", "=", `${port}`);
    }
    return {
      order: (order) => void child.send(order),
      spoilt: () => state.spoilt,
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

/** Chains of nftables inside of a host, as a table of their own. */
async function rules(host: Host, chains: string): Promise<Mend> {
  tables += 1;
  const table = `fault${tables}`;
  await host.exec("nft", `table ip ${table} {\n${chains}\n}`);
  return async () => void (await host.exec("nft", `delete table ip ${table}`));
}

/** All of it, or nothing. */
async function together(parts: readonly Promise<Mend>[]): Promise<Mend> {
  const settled = await Promise.allSettled(parts);
  const undoes = settled.flatMap((part) => (part.status === "fulfilled" ? [part.value] : []));
  const undo = async () => void (await Promise.all(undoes.map((each) => each())));
  const failed = settled.find((part) => part.status === "rejected");
  if (failed === undefined) return undo;
  await undo();
  throw failed.reason;
}
