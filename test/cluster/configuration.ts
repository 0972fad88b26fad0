/** The configuration files of docs/OPERATIONS.md, with a cluster's own addresses, folders and passwords. */
import { readFileSync } from "node:fs";

export type ConfigurationName = "etcd" | "patroni" | "patroni-unit" | "create-fx" | "fx" | "haproxy";

/** The network prefix in the page; the host's number follows it. */
const documentedPrefix = "10.0.0.";

const page = readFileSync(new URL("../../docs/OPERATIONS.md", import.meta.url), "utf8");

/** A configuration file as printed in the page. */
export function documented(name: ConfigurationName): string {
  const mark = `<!-- ${name === "haproxy" ? "proxy" : "cluster"}: ${name} -->`;
  const [, text] = new RegExp(`${mark}\n\`\`\`\\w+\n([\\s\\S]*?)\`\`\``).exec(page) ?? [];
  if (text === undefined) throw new Error(`docs/OPERATIONS.md has no ${mark}`);
  return text;
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
  /** The host's name in the page's file, and its own. */
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
    if (!changed.includes(from)) throw new Error(`docs/OPERATIONS.md has no longer: ${from}`);
    changed = changed.replaceAll(from, to);
  }
  return changed;
}
