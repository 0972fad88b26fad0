/** A process inside of a host, through which its connections to others lead: see `spoil`. */
import { type CommitFault, Network } from "../support/proxy.ts";

/** By whom it runs, so that its own connections are not led here. */
export const spoilerUid = 64999;

export interface Order {
  /** For each direction. */
  readonly delayMs?: number;
  /** What becomes of the next COMMITs, each once. */
  readonly commits?: readonly CommitFault[];
}

export interface State {
  /** Where it listens, in the order of its targets. */
  readonly ports: readonly number[];
  /** How many COMMITs were spoilt. */
  readonly spoilt: number;
}

const targets = process.argv.slice(2);
if (process.send !== undefined && targets.length > 0) {
  const networks = await Promise.all(targets.map((target) => Network.open(target)));
  process.setuid?.(spoilerUid);
  const tell = () => {
    const ports = networks.map(({ url }) => Number(new URL(url).port));
    process.send?.({ ports, spoilt: networks.reduce((sum, { spoilt }) => sum + spoilt, 0) } satisfies State);
  };
  process.on("message", ({ delayMs, commits }: Order) => {
    for (const network of networks) {
      network.delayMs = delayMs ?? network.delayMs;
      network.nextCommits.push(...(commits ?? []));
    }
    tell();
  });
  // The other end is gone, however it ended.
  process.on("disconnect", () => process.exit());
  tell();
}
