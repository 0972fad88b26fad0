/** A proxy process inside a host that breaks and delays its connections: see `disturb`. */
import { type CommitFault, Network } from "../support/proxy.ts";

/** User of the process; its own connections are exempt from the redirection. */
export const proxyUid = 64999;

export interface Order {
  /** Delay of each direction. */
  readonly delayMs?: number;
  /** Faults of the next COMMITs, one each. */
  readonly commits?: readonly CommitFault[];
}

export interface State {
  /** The proxy's ports, in the order of its targets. */
  readonly ports: readonly number[];
  /** Number of COMMITs that were disturbed. */
  readonly disturbed: number;
}

const targets = process.argv.slice(2);
if (process.send !== undefined && targets.length > 0) {
  const networks = await Promise.all(targets.map((target) => Network.open(target)));
  process.setuid?.(proxyUid);
  const tell = () => {
    const ports = networks.map(({ url }) => Number(new URL(url).port));
    process.send?.({
      ports,
      disturbed: networks.reduce((sum, { disturbed }) => sum + disturbed, 0),
    } satisfies State);
  };
  process.on("message", ({ delayMs, commits }: Order) => {
    for (const network of networks) {
      network.delayMs = delayMs ?? network.delayMs;
      network.nextCommits.push(...(commits ?? []));
    }
    tell();
  });
  // The parent has ended.
  process.on("disconnect", () => process.exit());
  tell();
}
