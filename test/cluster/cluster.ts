/**
 * The deployment of docs/OPERATIONS.md: three etcd, three PostgreSQL under Patroni, fx that know all of these, and HAProxy
 * before the fx. All of it is Debian's; the configuration is the page's, and what differs here stands in `startCluster`.
 */
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { asTested, type ConfigurationName, documented, forHost, withValues } from "./configuration.ts";
import { type Host, Network, type OwnHost, runHere } from "./network.ts";
import { attemptHeader, proxyLogFormat } from "./wire.ts";

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
  /** Whether Patroni has a synchronous standby. */
  readonly isSynchronous: boolean;
  /** @throws if there is none of this name */
  host(name: string): Host;
  /** Whom Patroni's REST API calls leader. */
  primary(): Promise<Host | undefined>;
  /** What it printed. @throws if it failed */
  patronictl(...args: readonly string[]): Promise<string>;
  /** Ends everything; what is in the folder stays. */
  stop(): Promise<void>;
}

const launcher = fileURLToPath(new URL("../../bin/fx.js", import.meta.url));
const libfaketime = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

const needed: Readonly<Record<string, string>> = {
  "/usr/bin/etcd": "etcd-server",
  "/usr/bin/patroni": "patroni",
  "/usr/lib/python3/dist-packages/etcd": "python3-etcd",
  "/usr/lib/postgresql": "postgresql",
  "/usr/sbin/haproxy": "haproxy",
  "/usr/bin/ip": "iproute2",
  "/usr/sbin/nft": "nftables",
  [libfaketime]: "libfaketime",
};

/** What to install first, if anything. */
export function missingPackages(): string | undefined {
  const missing = Object.keys(needed).filter((path) => !existsSync(path));
  if (missing.length === 0) return undefined;
  return `The cluster is made of Debian's packages. Install those that are missing:\napt-get install --no-install-recommends ${missing.map((path) => needed[path]).join(" ")}`;
}

/** Starts etcd, PostgreSQL under Patroni, fx and HAProxy, and resolves when all are as they should be. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const missing = missingPackages();
  if (missing !== undefined) throw new Error(missing);
  const network = await Network.create(options.folder, options.namespaces);
  try {
    return await new Starting(network, options).start();
  } catch (error) {
    await network.stop();
    throw error;
  }
}

class Starting {
  readonly #network: Network;
  readonly #options: ClusterOptions;
  readonly #passwords: Readonly<Record<string, string>>;

  constructor(network: Network, options: ClusterOptions) {
    this.#network = network;
    this.#options = options;
    const secrets = ["SUPERUSER", "REPLICATION", "REWIND", "FX"];
    this.#passwords = Object.fromEntries(
      secrets.map((name) => [`${name}-PASSWORD`, randomBytes(9).toString("hex")]),
    );
  }

  async start(): Promise<Cluster> {
    const { fxCount = 2 } = this.#options;
    const etcds = await Promise.all([1, 2, 3].map((nth) => this.#startEtcd(nth)));
    await Promise.all(etcds.map(({ address }) => until(`http://${address}:2379/health`, isAnswered)));
    const databases = await Promise.all([1, 2, 3].map((nth) => this.#startPatroni(nth)));
    const patronis = databases.map(({ address }) => `http://${address}:8008`);
    await until(`${patronis[0]}/cluster`, async (answer) => hasLeader((await answer.json()) as Members));
    const servers = await Promise.all(
      Array.from({ length: fxCount }, (_, index) => this.#startFx(index + 1)),
    );
    const proxy = await this.#startHaproxy(servers);
    const url = `http://${proxy.address}:8080/fx`;
    for (const { address } of servers) await until(`http://${address}:8080/health/ready`, isAnswered);
    await until(`${url}/health/ready`, isAnswered);
    const { asynchronous = false } = this.#options;
    for (const patroni of patronis) {
      await until(`${patroni}/cluster`, async (answer) =>
        isWhole((await answer.json()) as Members, asynchronous),
      );
    }
    const hosts = [...etcds, ...databases, ...servers, proxy];
    const configuration = join(this.#network.folder, "db1", "patroni.yml");
    return {
      hosts,
      url,
      databaseUrl: this.#databaseUrl(),
      hasNetwork: this.#network.hasNamespaces,
      isSynchronous: !asynchronous,
      host: (name) => {
        const found = hosts.find((host) => host.name === name);
        if (found === undefined) throw new Error(`The cluster has no host ${name}.`);
        return found;
      },
      primary: () => leaderOf(databases),
      patronictl: (...args) => runHere("patronictl", ["-c", configuration, ...args]),
      stop: () => this.#network.stop(),
    };
  }

  async #startEtcd(nth: number): Promise<Host> {
    const host = await this.#network.addHost(`etcd${nth}`, { number: 10 + nth });
    const values = { "/var/lib/etcd/fx": join(host.folder, "data") };
    const text = withValues(
      this.#file("etcd", { name: ["etcd1", host.name], number: [11, 10 + nth] }),
      values,
    );
    const env = Object.fromEntries(
      text
        .trim()
        .split("\n")
        .map((line) => line.split(/=(.*)/s).slice(0, 2)),
    );
    await host.start("etcd", { command: ["etcd"], env });
    return host;
  }

  async #startPatroni(nth: number): Promise<Host> {
    const { synchronousModeStrict = false, asynchronous = false, dataMegabytes } = this.#options;
    const disk = dataMegabytes === undefined ? undefined : { name: "disk", megabytes: dataMegabytes };
    const host = await this.#network.addHost(`db${nth}`, { number: 20 + nth, owner: "postgres", disk });
    const data = join(host.folder, disk === undefined ? "data" : "disk/data");
    const script = join(host.folder, "create-fx");
    const programs = this.#programs(host);
    const place = { name: ["db1", host.name], number: [21, 20 + nth] } as const;
    const text = withValues(this.#file("patroni", place), {
      ...Object.fromEntries(
        ["SUPERUSER", "REPLICATION", "REWIND"].map((name) => [`${name}-PASSWORD`, this.#password(name)]),
      ),
      ...Object.fromEntries(
        Object.entries(asTested).map(([name, [from, to]]) => [`${name}: ${from}`, `${name}: ${to}`]),
      ),
      "synchronous_mode_strict: false": `synchronous_mode_strict: ${synchronousModeStrict}`,
      "synchronous_mode: true": `synchronous_mode: ${!asynchronous}`,
      "/etc/patroni/create-fx": script,
      "/var/lib/postgresql/15/fx": data,
      "/usr/lib/postgresql/15/bin": programs,
      "/var/lib/postgresql/fx.pgpass": join(host.folder, "pgpass"),
      "/var/run/postgresql": host.folder,
    });
    const configuration = join(host.folder, "patroni.yml");
    writeFileSync(configuration, text);
    writeFileSync(script, withValues(documented("create-fx"), { "FX-PASSWORD": this.#password("FX") }));
    chmodSync(script, 0o755);
    const unit = withValues(documented("patroni-unit"), {
      "/var/lib/postgresql/15/fx": data,
      "/usr/lib/postgresql/15/bin": programs,
    });
    // What systemd does before each start. Like systemd, whether it works or not.
    const [, before] = /^ExecStartPre=-(.*)$/m.exec(unit) ?? [];
    const command = ["sh", "-c", `${before}; exec patroni ${configuration}`];
    await host.start("patroni", { command, asPostgres: true });
    host.addStarted("postgres", data);
    return host;
  }

  async #startFx(nth: number): Promise<Host> {
    const { fxCommand = [process.execPath, launcher], clocks = false } = this.#options;
    const host = await this.#network.addHost(`fx${nth}`, { number: 30 + nth });
    const text = this.#file("fx", { name: ["fx1", host.name], number: [31, 30 + nth] });
    const { tokens: _, ...settings } = JSON.parse(
      withValues(text, { "FX-PASSWORD": this.#password("FX") }),
    ) as Record<string, string>;
    mkdirSync(join(host.folder, "config", "fx"), { recursive: true });
    writeFileSync(join(host.folder, "config", "fx", "config.json"), JSON.stringify(settings), {
      mode: 0o600,
    });
    const env = {
      XDG_CONFIG_HOME: join(host.folder, "config"),
      TZ: "UTC",
      // In place of tokens and the bank; and all clients have one address.
      FX_ALLOW_ANONYMOUS: "true",
      FX_RATES: "demo",
      FX_RATE_LIMIT: "0",
      ...(clocks && clockOf(host)),
    };
    await host.start("fx", { command: [...fxCommand, "serve"], env });
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

  #file(name: ConfigurationName, place: Omit<Parameters<typeof forHost>[1], "prefix">): string {
    const text = forHost(documented(name), { ...place, prefix: this.#network.prefix });
    // On loopback, whoever connects does so from 127.0.0.1.
    return this.#network.hasNamespaces ? text : text.replaceAll(`${this.#network.prefix}0/24`, "127.0.0.0/8");
  }

  #password(name: string): string {
    return this.#passwords[`${name}-PASSWORD`] ?? "";
  }

  #databaseUrl(): string {
    const { db } = JSON.parse(this.#file("fx", { name: ["fx1", "fx1"], number: [31, 31] })) as { db: string };
    return withValues(db, { "FX-PASSWORD": this.#password("FX") });
  }

  /** PostgreSQL's programs; with `clocks`, a `postgres` that is told another time. */
  #programs(host: OwnHost): string {
    const versions = readdirSync("/usr/lib/postgresql").sort((a, b) => Number(a) - Number(b));
    const system = `/usr/lib/postgresql/${versions.at(-1)}/bin`;
    if (!this.#options.clocks) return system;
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
}

function clockOf({ clockFile }: OwnHost): Readonly<Record<string, string>> {
  return {
    LD_PRELOAD: libfaketime,
    FAKETIME_TIMESTAMP_FILE: clockFile,
    FAKETIME_CACHE_DURATION: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
}

/** What `GET /cluster` of Patroni says. */
interface Members {
  readonly members?: readonly { readonly name: string; readonly role: string; readonly state: string }[];
}

function hasLeader({ members = [] }: Members): boolean {
  return members.some(({ role, state }) => role === "leader" && state === "running");
}

function isWhole(cluster: Members, asynchronous: boolean): boolean {
  const running = (cluster.members ?? []).filter(({ state }) => /^(running|streaming)$/.test(state));
  const isSynchronous = asynchronous || running.some(({ role }) => role === "sync_standby");
  return running.length === 3 && hasLeader(cluster) && isSynchronous;
}

async function leaderOf(hosts: readonly Host[]): Promise<Host | undefined> {
  const claims = await Promise.all(
    hosts.map(async (host) => {
      const answer = await ask(`http://${host.address}:8008/leader`);
      if (answer?.status !== 200) return [];
      const { timeline = 0 } = (await answer.json()) as { timeline?: number };
      return [{ host, timeline }];
    }),
  );
  return claims.flat().sort((a, b) => b.timeline - a.timeline)[0]?.host;
}

const isAnswered = async (answer: Response): Promise<boolean> => answer.status === 200;

async function ask(url: string): Promise<Response | undefined> {
  try {
    return await fetch(url, { signal: AbortSignal.timeout(1000) });
  } catch {
    return undefined;
  }
}

async function until(url: string, isSo: (answer: Response) => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const answer = await ask(url);
    if (answer !== undefined && (await isSo(answer))) return;
    if (performance.now() > deadline) throw new Error(`${url} is not as it should be after a minute.`);
    await pause(100);
  }
}
