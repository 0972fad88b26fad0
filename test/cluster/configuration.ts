/** The configuration files of deploy/, with a cluster's own addresses, folders and passwords. */
import { readFileSync } from "node:fs";

export type ConfigurationName = "etcd" | "patroni" | "patroni-unit" | "create-fx" | "fx" | "haproxy";

/** The network prefix in the files; the host's number follows it. */
const documentedPrefix = "10.0.0.";

const files: Readonly<Record<ConfigurationName, string>> = {
  etcd: "cluster/etcd",
  patroni: "cluster/patroni.yml",
  "patroni-unit": "cluster/patroni.conf",
  "create-fx": "cluster/create-fx",
  fx: "cluster/fx.json",
  haproxy: "haproxy.cfg",
};

/** A configuration file as shipped in deploy/. */
export function documented(name: ConfigurationName): string {
  return readFileSync(new URL(`../../deploy/${files[name]}`, import.meta.url), "utf8");
}

/**
 * Patroni's settings that the tests change: short times allow many fail-overs, the disks are small, and a namespace has
 * no watchdog.
 */
export const asTested: Readonly<Record<string, readonly [documented: string, tested: string]>> = {
  ttl: ["30", "10"],
  loop_wait: ["10", "2"],
  retry_timeout: ["10", "3"],
  primary_start_timeout: ["60", "10"],
  shared_buffers: ["2GB", "64MB"],
  max_wal_size: ["4GB", "128MB"],
  wal_keep_size: ["2GB", "64MB"],
  mode: ["required", '"off"'],
};

export interface HostPlace {
  /** The host's name in the file, and its own. */
  readonly name: readonly [documented: string, own: string];
  /** The last numbers of both addresses. */
  readonly number: readonly [documented: number, own: number];
  /** The first three numbers of the cluster's addresses, with the point after them. */
  readonly prefix: string;
}

/** The file for one host: lines with one host's name or address get its own; lines with several stay. */
export function forHost(text: string, { name, number, prefix }: HostPlace): string {
  const lines = text.split("\n").map((line) => {
    const addresses = new Set(line.match(/\b10\.0\.0\.\d+/g));
    const own = addresses.size > 1 ? line : line.replace(new RegExp(`\\b${name[0]}\\b`), name[1]);
    if (addresses.size > 1) return own;
    return own.replaceAll(`${documentedPrefix}${number[0]}`, `${documentedPrefix}${number[1]}`);
  });
  return lines.join("\n").replaceAll(documentedPrefix, prefix);
}

/** @throws if the text lacks a value that is to be replaced */
export function withValues(text: string, values: Readonly<Record<string, string>>): string {
  let changed = text;
  for (const [from, to] of Object.entries(values)) {
    if (!changed.includes(from)) throw new Error(`The file of deploy/ has no longer: ${from}`);
    changed = changed.replaceAll(from, to);
  }
  return changed;
}
