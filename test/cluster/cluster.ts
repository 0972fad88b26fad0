/**
 * The deployment of docs/OPERATIONS.md: three etcd, three PostgreSQL under Patroni, two fx, and HAProxy before them.
 * The programs are Debian's and the configuration is that of deploy/; `startCluster` has the differences.
 */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { attemptHeader } from "../load/clients.ts";
import { systemPrograms } from "../support/postgres.ts";
import { launcher } from "../support/shell.ts";
import { asTested, type ConfigurationName, documented, forHost, withValues } from "./configuration.ts";
import { wholeWithin } from "./members.ts";
import { type Host, Network } from "./network.ts";
import { proxyLogFormat } from "./proxy-log.ts";

export interface Cluster {
  readonly hosts: readonly Host[];
  /** The address of HAProxy, with fx's path prefix. */
  readonly url: string;
  /** The URL that fx gets, with all PostgreSQL hosts. */
  readonly databaseUrl: string;
  /** @throws if no host has this name */
  host(name: string): Host;
  /** Ends all processes and keeps the folder. */
  stop(): Promise<void>;
}

const libfaketime = readdirSync("/usr/lib")
  .map((folder) => `/usr/lib/${folder}/faketime/libfaketimeMT.so.1`)
  .find((path) => existsSync(path));

const needed: Readonly<Record<string, string>> = {
  "/usr/bin/etcd": "etcd-server",
  "/usr/bin/patroni": "patroni",
  "/usr/lib/python3/dist-packages/etcd": "python3-etcd",
  "/usr/lib/postgresql": "postgresql",
  "/usr/sbin/haproxy": "haproxy",
  "/usr/bin/ip": "iproute2",
  "/usr/sbin/nft": "nftables",
  [libfaketime ?? "libfaketimeMT.so.1"]: "libfaketime",
};

/** The reason why the cluster cannot be started here, or false. */
export function cannotStart(): string | false {
  const missing = Object.keys(needed).filter((path) => !existsSync(path));
  if (missing.length > 0) {
    const packages = missing.map((path) => needed[path]).join(" ");
    return `the cluster is made of Debian's packages: apt-get install --no-install-recommends ${packages}`;
  }
  const { status } = spawnSync("unshare", ["--net", "--pid", "--mount", "--fork", "true"]);
  return status !== 0 && "the cluster's hosts are namespaces, which take root's rights";
}

/**
 * Starts etcd, PostgreSQL under Patroni, fx and HAProxy, and resolves when the cluster is whole. Every host keeps its
 * files and logs in `folder/host/`, which the caller deletes.
 */
export async function startCluster(folder: string): Promise<Cluster> {
  const network = await Network.create(folder);
  try {
    return await new Starting(network).start();
  } catch (error) {
    await network.stop();
    throw error;
  }
}

class Starting {
  readonly #network: Network;
  readonly #passwords: Readonly<Record<string, string>>;

  constructor(network: Network) {
    this.#network = network;
    const secrets = ["SUPERUSER", "REPLICATION", "REWIND", "FX"].map((name) => `${name}-PASSWORD`);
    this.#passwords = Object.fromEntries(secrets.map((name) => [name, randomBytes(9).toString("hex")]));
  }

  async start(): Promise<Cluster> {
    const etcds = await Promise.all([1, 2, 3].map((nth) => this.#startEtcd(nth)));
    const databases = await Promise.all([1, 2, 3].map((nth) => this.#startPatroni(nth)));
    const servers = await Promise.all([1, 2].map((nth) => this.#startFx(nth)));
    const proxy = await this.#startHaproxy(servers);
    const hosts = [...etcds, ...databases, ...servers, proxy];
    const cluster: Cluster = {
      hosts,
      url: `http://${proxy.address}:8080/fx`,
      databaseUrl: this.#databaseUrl(),
      host: (name) => {
        const found = hosts.find((host) => host.name === name);
        if (found === undefined) throw new Error(`The cluster has no host ${name}.`);
        return found;
      },
      stop: () => this.#network.stop(),
    };
    // A program that ends because another one has not started yet is started again.
    const missing = await wholeWithin(cluster, 120_000, () => {});
    if (missing !== undefined) throw new Error(`The cluster is not whole after two minutes: ${missing}.`);
    return cluster;
  }

  async #startEtcd(nth: number): Promise<Host> {
    const host = await this.#network.addHost(`etcd${nth}`, { number: 10 + nth });
    const values = { "/var/lib/etcd/fx": join(host.folder, "data") };
    const text = withValues(this.#file("etcd", ["etcd1", host.name], [11, 10 + nth]), values);
    const lines = text.trim().split("\n");
    const env = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
    await host.start("etcd", { command: ["etcd"], env });
    return host;
  }

  async #startPatroni(nth: number): Promise<Host> {
    const disk = { name: "disk", megabytes: 2048 };
    const host = await this.#network.addHost(`db${nth}`, { number: 20 + nth, owner: "postgres", disk });
    const data = join(host.folder, "disk/data");
    const script = join(host.folder, "create-fx");
    const programs = linkPrograms(host);
    const { "FX-PASSWORD": fxPassword, ...passwords } = this.#passwords;
    const changed = Object.entries(asTested).map(([name, [from, to]]) => [
      `${name}: ${from}`,
      `${name}: ${to}`,
    ]);
    const text = withValues(this.#file("patroni", ["db1", host.name], [21, 20 + nth]), {
      ...passwords,
      ...Object.fromEntries(changed),
      "/etc/patroni/create-fx": script,
      "/var/lib/postgresql/15/fx": data,
      "/usr/lib/postgresql/15/bin": programs,
      "/var/lib/postgresql/fx.pgpass": join(host.folder, "pgpass"),
      "/var/run/postgresql": host.folder,
    });
    const configuration = join(host.folder, "patroni.yml");
    writeFileSync(configuration, text);
    writeFileSync(script, withValues(documented("create-fx"), { "FX-PASSWORD": fxPassword ?? "" }));
    chmodSync(script, 0o755);
    const unit = withValues(documented("patroni-unit"), {
      "/var/lib/postgresql/15/fx": data,
      "/usr/lib/postgresql/15/bin": programs,
    });
    // As under systemd, the service starts even if ExecStartPre fails.
    const [, before] = /^ExecStartPre=-(.*)$/m.exec(unit) ?? [];
    const command = ["sh", "-c", `${before}; exec patroni ${configuration}`];
    await host.start("patroni", { command, user: "postgres" });
    host.addStarted("postgres", data);
    return host;
  }

  async #startFx(nth: number): Promise<Host> {
    const host = await this.#network.addHost(`fx${nth}`, { number: 30 + nth });
    const text = withValues(this.#file("fx", ["fx1", host.name], [31, 30 + nth]), this.#fxPassword());
    const { tokens: _, ...settings } = JSON.parse(text) as Record<string, string>;
    const folder = join(host.folder, "config", "fx");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "config.json"), JSON.stringify(settings), { mode: 0o600 });
    const env = {
      XDG_CONFIG_HOME: join(host.folder, "config"),
      TZ: "UTC",
      // The cluster has no tokens and no bank, and all its clients share one address.
      FX_ALLOW_ANONYMOUS: "true",
      FX_RATES: "demo",
      FX_RATE_LIMIT: "0",
      ...clockOf(host),
    };
    await host.start("fx", { command: [process.execPath, launcher, "serve"], env });
    return host;
  }

  async #startHaproxy(servers: readonly Host[]): Promise<Host> {
    const host = await this.#network.addHost("proxy", { number: 41 });
    const lines = servers.map(({ name, address }) => `    server ${name} ${address}:8080\n`);
    const text = withValues(documented("haproxy"), {
      "/dev/log local0": "stdout format raw local0",
      'log-format "%ci %tr %HM %ST %Ta %[capture.res.hdr(0)]"': `log-format "${proxyLogFormat}"`,
      "capture response header x-request-id len 128": `capture request header ${attemptHeader} len 16`,
      "bind :443 ssl crt /etc/fx/certificate-and-key.pem alpn h2,http/1.1": `bind ${host.address}:8080`,
      "    server one 127.0.0.1:8080\n": lines.join(""),
      "    server two 127.0.0.1:8081\n": "",
    });
    const configuration = join(host.folder, "haproxy.cfg");
    writeFileSync(configuration, text);
    await host.start("haproxy", { command: ["haproxy", "-W", "-db", "-f", configuration] });
    return host;
  }

  /** The page's file of the first such host, for one of this name and number. */
  #file(file: ConfigurationName, name: readonly [string, string], number: readonly [number, number]): string {
    return forHost(documented(file), { name, number, prefix: this.#network.prefix });
  }

  #fxPassword(): Readonly<Record<string, string>> {
    return { "FX-PASSWORD": this.#passwords["FX-PASSWORD"] ?? "" };
  }

  #databaseUrl(): string {
    const { db } = JSON.parse(this.#file("fx", ["fx1", "fx1"], [31, 31])) as { db: string };
    return withValues(db, this.#fxPassword());
  }
}

/** Makes a folder of links to PostgreSQL's programs, where `postgres` runs under libfaketime. */
function linkPrograms(host: Host): string {
  const system = systemPrograms() ?? "";
  const own = join(host.folder, "bin");
  mkdirSync(own);
  for (const name of readdirSync(system).filter((each) => each !== "postgres")) {
    symlinkSync(join(system, name), join(own, name));
  }
  const variables = Object.entries(clockOf(host)).map((pair) => pair.join("="));
  const script = `#!/bin/sh\nexec env ${variables.join(" ")} ${system}/postgres "$@"\n`;
  writeFileSync(join(own, "postgres"), script, { mode: 0o755 });
  return own;
}

function clockOf({ clockFile }: Host): Readonly<Record<string, string>> {
  return {
    LD_PRELOAD: libfaketime ?? "",
    FAKETIME_TIMESTAMP_FILE: clockFile,
    FAKETIME_CACHE_DURATION: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
}
