import type { Host } from "./network.ts";

export interface ClusterOptions {
  /** Where every host keeps its files and logs, as `folder/host/`. The caller deletes it. */
  readonly folder: string;
  readonly synchronousModeStrict?: boolean;
  /** Patroni's `synchronous_mode` off: what is answered may be lost. */
  readonly asynchronous?: boolean;
  /** Instead of this clone's `bin/fx.js`; the arguments of `serve` follow it. */
  readonly fxCommand?: readonly string[];
  /** 2 unless given. */
  readonly fxCount?: number;
  /** Puts the data of each PostgreSQL on a disk (tmpfs) of this size. Only where namespaces can be made. */
  readonly dataMegabytes?: number;
  /** Starts fx and PostgreSQL under libfaketime, so that `Host.setClock` works. */
  readonly clocks?: boolean;
  /** False: on loopback, as where namespaces cannot be made. */
  readonly namespaces?: boolean;
}

export interface Cluster {
  readonly hosts: readonly Host[];
  /** Of HAProxy before the fx, with fx's prefix. */
  readonly url: string;
  /** As fx has it: with all hosts of PostgreSQL. */
  readonly databaseUrl: string;
  /** Whether every host has a network namespace of its own. */
  readonly hasNetwork: boolean;
  /** @throws if there is none of this name */
  host(name: string): Host;
  /** Whom Patroni's REST API calls leader. */
  primary(): Promise<Host | undefined>;
  /** What it printed. @throws if it failed */
  patronictl(...args: readonly string[]): Promise<string>;
  /** Ends everything; what is in the folder stays. */
  stop(): Promise<void>;
}

/** Starts etcd, PostgreSQL under Patroni, fx and HAProxy, and resolves when HAProxy has a ready fx. */
export async function startCluster(_options: ClusterOptions): Promise<Cluster> {
  throw new Error("not yet");
}
