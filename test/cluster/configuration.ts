/** The configuration files of docs/OPERATIONS.md, with a cluster's own addresses, folders and passwords. */
import { readFileSync } from "node:fs";

export type ConfigurationName = "etcd" | "patroni" | "patroni-unit" | "create-fx" | "fx" | "haproxy";

/** A network of the page ends where the host's number begins. */
const documentedPrefix = "10.0.0.";

const page = readFileSync(new URL("../../docs/OPERATIONS.md", import.meta.url), "utf8");

/** The file as the page has it. */
export function documented(name: ConfigurationName): string {
  const mark = `<!-- ${name === "haproxy" ? "proxy" : "cluster"}: ${name} -->`;
  const [, text] = new RegExp(`${mark}\n\`\`\`\\w+\n([\\s\\S]*?)\`\`\``).exec(page) ?? [];
  if (text === undefined) throw new Error(`docs/OPERATIONS.md has no ${mark}`);
  return text;
}

/**
 * What the tests set otherwise in Patroni's file, because they are to see many changes of primary in a short time, on
 * small disks; and no namespace has a watchdog.
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
  /** The name that the page has in this file, and the host's own. */
  readonly name: readonly [documented: string, own: string];
  /** The last numbers of their addresses. */
  readonly number: readonly [documented: number, own: number];
  /** The first three numbers of the cluster's addresses, and a point. */
  readonly prefix: string;
}

/** The file for a host: a line with one host's name or address has the host's own, a line with several stays. */
export function forHost(text: string, { name, number, prefix }: HostPlace): string {
  const lines = text.split("\n").map((line) => {
    const addresses = new Set(line.match(/\b10\.0\.0\.\d+/g));
    const own = addresses.size > 1 ? line : line.replace(new RegExp(`\\b${name[0]}\\b`), name[1]);
    if (addresses.size > 1) return own;
    return own.replaceAll(`${documentedPrefix}${number[0]}`, `${documentedPrefix}${number[1]}`);
  });
  return lines.join("\n").replaceAll(documentedPrefix, prefix);
}

/**
 * The text with other values.
 * @throws if it does not have one of them: the page has changed
 */
export function withValues(text: string, values: Readonly<Record<string, string>>): string {
  let changed = text;
  for (const [from, to] of Object.entries(values)) {
    if (!changed.includes(from)) throw new Error(`docs/OPERATIONS.md has no longer: ${from}`);
    changed = changed.replaceAll(from, to);
  }
  return changed;
}
