/** The faults of a cluster, each with what undoes it. */
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { Chance } from "../support/chance.ts";
import type { CommitFault } from "../support/proxy.ts";
import type { Cluster } from "./cluster.ts";
import { changePrimary, leaderOf, startAgain } from "./members.ts";
import type { Host } from "./network.ts";
import { block, lose, spoil, type Way } from "./weather.ts";

/** Of what a fault leaves less. Two faults that take from the same are not done at once. */
export type Part = "etcd" | "database" | "fx" | "proxy" | "network" | "clock";

export interface Fault {
  readonly takes: readonly Part[];
  /** The primary changes, and by what. */
  readonly changesPrimary?: "by kill" | "otherwise";
  applies(cluster: Cluster): boolean;
  /** @throws if it cannot be done now, and then has done nothing */
  run(cluster: Cluster, random: Chance): Promise<Wound>;
}

export interface Wound {
  /** As it stands in the report: "kill -9 of Patroni and PostgreSQL of db2". */
  readonly what: string;
  /** The primary at the time, if its PostgreSQL runs on while its Patroni cannot make it a standby. */
  readonly unwatched?: Host;
  /** Absent if it was over at once. A text that it gives stands in the history. */
  readonly undo?: () => Promise<unknown>;
}

export const faults: Record<string, Fault> = {
  // The primary changes.
  "primary killed": {
    takes: ["database"],
    changesPrimary: "by kill",
    applies: always,
    run: async (cluster) => kill(await primaryOf(cluster), ["patroni", "postgres"]),
  },
  "primary's Patroni killed": {
    takes: ["database"],
    changesPrimary: "by kill",
    applies: always,
    run: async (cluster) => {
      const primary = await primaryOf(cluster);
      return { ...(await kill(primary, ["patroni"])), unwatched: primary };
    },
  },
  "switch-over": {
    takes: ["database"],
    changesPrimary: "otherwise",
    applies: always,
    run: (cluster) => handOver(cluster, "switchover"),
  },
  "fail-over": {
    takes: ["database"],
    changesPrimary: "otherwise",
    applies: always,
    run: (cluster) => handOver(cluster, "failover"),
  },
  "primary stopped": {
    takes: ["database"],
    changesPrimary: "otherwise",
    applies: always,
    run: async (cluster) => {
      const primary = await primaryOf(cluster);
      return { ...(await freeze(primary, ["patroni", "postgres"])), unwatched: primary };
    },
  },
  "primary's Patroni stopped": {
    takes: ["database"],
    changesPrimary: "otherwise",
    applies: always,
    run: async (cluster) => {
      const primary = await primaryOf(cluster);
      return { ...(await freeze(primary, ["patroni"])), unwatched: primary };
    },
  },
  "primary alone": {
    takes: ["database", "network"],
    changesPrimary: "otherwise",
    applies: hasNetwork,
    run: async (cluster, random) => {
      const primary = await primaryOf(cluster);
      return cutOff(random, `the primary ${primary.name}`, [primary], without(cluster.hosts, primary));
    },
  },
  "primary without etcd": {
    takes: ["database", "network"],
    changesPrimary: "otherwise",
    applies: hasNetwork,
    run: async (cluster, random) => {
      const primary = await primaryOf(cluster);
      return cutOff(random, `the primary ${primary.name}`, [primary], hostsWith(cluster, "etcd"));
    },
  },

  // The primary can stay.
  "a process killed": { takes: ["database", "etcd", "fx", "proxy"], applies: always, run: killAny },
  "a program stopped": { takes: ["database", "etcd", "fx", "proxy"], applies: always, run: stopAny },
  "PostgreSQL killed": {
    takes: ["database"],
    applies: always,
    run: async (cluster) => kill(await primaryOf(cluster), ["postgres"]),
  },
  "PostgreSQL stopped": {
    takes: ["database"],
    applies: always,
    run: async (cluster) => {
      // Patroni waits for it, and sees only afterwards that another is the primary.
      const primary = await primaryOf(cluster);
      return { ...(await freeze(primary, ["postgres"])), unwatched: primary };
    },
  },
  "standby killed": {
    takes: ["database"],
    applies: always,
    run: async (cluster, random) => kill(random.pick(await standbysOf(cluster)), ["patroni", "postgres"]),
  },
  "standby stopped": {
    takes: ["database"],
    applies: always,
    run: async (cluster, random) => freeze(random.pick(await standbysOf(cluster)), ["patroni", "postgres"]),
  },
  "fx killed": {
    takes: ["fx"],
    applies: always,
    run: (cluster, random) => kill(random.pick(hostsWith(cluster, "fx")), ["fx"]),
  },
  "fx stopped": {
    takes: ["fx"],
    applies: always,
    run: (cluster, random) => freeze(random.pick(hostsWith(cluster, "fx")), ["fx"]),
  },
  "fx restarted, one by one": { takes: ["fx"], applies: always, run: restartFx },
  "HAProxy killed": {
    takes: ["proxy"],
    applies: always,
    run: (cluster) => kill(cluster.host("proxy"), ["haproxy"]),
  },
  "etcd killed": {
    takes: ["etcd"],
    applies: always,
    run: (cluster, random) => kill(random.pick(hostsWith(cluster, "etcd")), ["etcd"]),
  },
  "etcd stopped": {
    takes: ["etcd"],
    applies: always,
    run: (cluster, random) => freeze(random.pick(hostsWith(cluster, "etcd")), ["etcd"]),
  },
  "most of etcd killed": {
    // More than the cluster can stand: the primary steps down, and orders fail until one etcd is back.
    takes: ["etcd", "database"],
    applies: always,
    run: async (cluster, random) => {
      const hosts = hostsWith(cluster, "etcd");
      const gone = without(hosts, random.pick(hosts));
      const wounds = await Promise.all(gone.map((host) => kill(host, ["etcd"])));
      return {
        what: `kill -9 of two of three etcd: ${names(gone)}`,
        undo: async () => void (await Promise.all(wounds.map(({ undo }) => undo?.()))),
      };
    },
  },
  "network split": {
    takes: ["network", "database", "etcd"],
    applies: hasNetwork,
    run: async (cluster, random) => {
      const part = shuffled(random, cluster.hosts).slice(0, 1 + random.below(cluster.hosts.length - 1));
      const rest = cluster.hosts.filter((host) => !part.includes(host));
      return cutOff(random, names(part), part, rest);
    },
  },
  "primary without a standby": {
    takes: ["network", "database"],
    applies: hasNetwork,
    run: async (cluster, random) => {
      const primary = await primaryOf(cluster);
      const standbys = await standbysOf(cluster);
      const some = random.percent(50) ? standbys : [random.pick(standbys)];
      return cutOff(random, `the primary ${primary.name}`, [primary], some);
    },
  },
  "fx without the primary": {
    takes: ["network"],
    applies: hasNetwork,
    run: async (cluster, random) => {
      const host = random.pick(hostsWith(cluster, "fx"));
      return cutOff(random, host.name, [host], [await primaryOf(cluster)]);
    },
  },
  "HAProxy without an fx": {
    takes: ["network", "fx"],
    applies: hasNetwork,
    run: (cluster, random) => {
      const host = random.pick(hostsWith(cluster, "fx"));
      return cutOff(random, host.name, [host], [cluster.host("proxy")]);
    },
  },
  "packets lost": {
    takes: ["network"],
    applies: hasNetwork,
    run: async (cluster, random) => {
      const host = random.pick(cluster.hosts);
      const percent = 5 + random.below(36);
      const undo = await lose(host, without(cluster.hosts, host), percent);
      return { what: `${percent} % of the packets of ${host.name} lost`, undo };
    },
  },
  "slow network": {
    takes: ["network"],
    applies: hasNetwork,
    run: async (cluster, random) => {
      const host = random.pick([...hostsWith(cluster, "fx"), ...hostsWith(cluster, "patroni")]);
      const delayMs = random.pick([5, 20, 100, 400]);
      const isToEtcd = host.programs.has("patroni") && random.percent(50);
      const etcd = hostsWith(cluster, "etcd").map(({ address }) => `${address}:2379`);
      const spoiler = await spoil(host, isToEtcd ? etcd : databaseAddresses(cluster, host));
      spoiler.order({ delayMs });
      const what = `${delayMs} ms each way from ${host.name} to ${isToEtcd ? "etcd" : "PostgreSQL"}`;
      return { what, undo: spoiler.undo };
    },
  },
  "connections broken in COMMIT": {
    takes: ["network"],
    applies: hasNetwork,
    run: breakCommits,
  },
  "disk full": {
    takes: ["database"],
    applies: hasNetwork,
    run: async (cluster, random) => {
      const host = random.percent(60) ? await primaryOf(cluster) : random.pick(await standbysOf(cluster));
      return fillDisk(host);
    },
  },
  "clock jumps": {
    takes: ["clock"],
    applies: always,
    run: async (cluster, random) => {
      const host = random.pick([...hostsWith(cluster, "fx"), ...hostsWith(cluster, "patroni")]);
      // More than five minutes ahead, entries are dated in the future, which an audit reports.
      const minutes = (1 + random.below(4)) * (random.percent(50) ? 1 : -1);
      host.setClock(minutes * 60);
      return {
        what: `the clock of ${host.name} ${Math.abs(minutes)} minutes ${minutes > 0 ? "ahead" : "behind"}`,
        undo: async () => host.setClock(0),
      };
    },
  },
};

function always(): boolean {
  return true;
}

function hasNetwork(cluster: Cluster): boolean {
  return cluster.hasNetwork;
}

async function primaryOf(cluster: Cluster): Promise<Host> {
  const primary = await leaderOf(cluster);
  if (primary === undefined) throw new Error("there is no primary now");
  return primary;
}

async function standbysOf(cluster: Cluster): Promise<Host[]> {
  return without(hostsWith(cluster, "patroni"), await primaryOf(cluster));
}

function hostsWith(cluster: Cluster, program: string): Host[] {
  return cluster.hosts.filter(({ programs }) => programs.has(program));
}

function without(hosts: readonly Host[], host: Host): Host[] {
  return hosts.filter((each) => each !== host);
}

function names(hosts: readonly Host[]): string {
  return hosts.map(({ name }) => name).join(", ");
}

const titles: Readonly<Record<string, string>> = {
  patroni: "Patroni",
  postgres: "PostgreSQL",
  haproxy: "HAProxy",
};

function titlesOf(programs: readonly string[]): string {
  return programs.map((name) => titles[name] ?? name).join(" and ");
}

function programsOf(host: Host, programs: readonly string[]) {
  return programs.map((name) => {
    const program = host.programs.get(name);
    if (program === undefined) throw new Error(`There is no ${name} on ${host.name}.`);
    return program;
  });
}

async function handOver(cluster: Cluster, how: "switchover" | "failover"): Promise<Wound> {
  const { leader, candidate } = await changePrimary(cluster, how);
  return { what: `${how === "switchover" ? "switch-over" : "fail-over"} from ${leader} to ${candidate}` };
}

/** SIGKILL to all processes of these programs at once. */
async function kill(host: Host, programs: readonly string[]): Promise<Wound> {
  await Promise.all(programsOf(host, programs).map((program) => program.signal("SIGKILL")));
  return { what: `kill -9 of ${titlesOf(programs)} of ${host.name}`, undo: () => startAgain([host]) };
}

/** SIGSTOP to all processes of these programs, until SIGCONT. */
async function freeze(host: Host, programs: readonly string[]): Promise<Wound> {
  const all = programsOf(host, programs);
  await Promise.all(all.map((program) => program.signal("SIGSTOP")));
  return {
    what: `SIGSTOP of ${titlesOf(programs)} of ${host.name}`,
    undo: async () => void (await Promise.all(all.map((program) => program.signal("SIGCONT")))),
  };
}

/** One process, of any program: of PostgreSQL, it is the one that serves a connection, or writes the log, or the first. */
async function killAny(cluster: Cluster, random: Chance): Promise<Wound> {
  const host = random.pick(cluster.hosts);
  const program = random.pick([...host.programs.values()]);
  const pid = random.pick(await program.pids());
  const what = `kill -9 of process ${pid} of ${titlesOf([program.name])} of ${host.name}: ${commandOf(pid)}`;
  const primary = await leaderOf(cluster);
  process.kill(pid, "SIGKILL");
  const isUnwatched = program.name === "patroni" && host === primary;
  return { what, ...(isUnwatched && { unwatched: host }), undo: () => startAgain([host]) };
}

async function stopAny(cluster: Cluster, random: Chance): Promise<Wound> {
  const host = random.pick(cluster.hosts);
  const program = random.pick([...host.programs.keys()]);
  const primary = await leaderOf(cluster);
  const wound = await freeze(host, [program]);
  return host === primary ? { ...wound, unwatched: host } : wound;
}

function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim().slice(0, 60);
}

async function cutOff(
  random: Chance,
  what: string,
  part: readonly Host[],
  rest: readonly Host[],
): Promise<Wound> {
  const ways = (from: readonly Host[], to: readonly Host[]): Way[] =>
    from.flatMap((one) => to.map((other) => ({ from: one, to: other })));
  const side = random.weighted({ both: 2, to: 1, from: 1 });
  const undo = await block([
    ...(side === "from" ? [] : ways(rest, part)),
    ...(side === "to" ? [] : ways(part, rest)),
  ]);
  const kind = { both: "to and from", to: "to", from: "from" }[side];
  return { what: `nothing gets through ${kind} ${what}: the others are ${names(rest)}`, undo };
}

/** As fx has them, without the host's own. */
function databaseAddresses(cluster: Cluster, from: Host): string[] {
  const [, hosts = ""] = /@([^/]+)\//.exec(cluster.databaseUrl) ?? [];
  return hosts.split(",").filter((address) => address.split(":")[0] !== from.address);
}

async function breakCommits(cluster: Cluster, random: Chance): Promise<Wound> {
  const host = random.pick(hostsWith(cluster, "fx"));
  const spoiler = await spoil(host, databaseAddresses(cluster, host));
  const kinds = Array.from({ length: 400 }, () => random.pick<CommitFault>(["lost", "unanswered", "late"]));
  const everyMs = random.pick([50, 200, 500]);
  const timer = setInterval(() => {
    const next = kinds.shift();
    if (next !== undefined) spoiler.order({ commits: [next] });
  }, everyMs);
  return {
    what: `connections of ${host.name} to PostgreSQL broken in COMMIT, at most each ${everyMs} ms`,
    undo: async () => {
      clearInterval(timer);
      await spoiler.undo();
      return `${spoiler.spoilt()} were`;
    },
  };
}

/** Each is stopped as an upgrade would, and the next one when it is ready again. */
async function restartFx(cluster: Cluster): Promise<Wound> {
  const hosts = hostsWith(cluster, "fx");
  for (const host of hosts) {
    const [fx] = programsOf(host, ["fx"]);
    await fx?.signal("SIGTERM");
    for (let tries = 0; fx?.isRunning(); tries += 1) {
      if (tries > 300) throw new Error(`fx on ${host.name} did not stop in 30 s after SIGTERM`);
      await pause(100);
    }
    await fx?.start();
    await ready(host);
  }
  return { what: `${names(hosts)} stopped by SIGTERM and started again, one by one` };
}

/** @throws if it is not soon: the database may be away */
async function ready({ name, address }: Host): Promise<void> {
  for (let tries = 0; tries < 50; tries += 1) {
    const signal = AbortSignal.timeout(1000);
    const isReady = await fetch(`http://${address}:8080/health/ready`, { signal }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    await pause(100);
  }
  throw new Error(`fx on ${name} was not soon ready after its start`);
}

/** Makes the disk that this host's PostgreSQL has for itself as small as what is on it. */
async function fillDisk(host: Host): Promise<Wound> {
  const disks = await host.exec("df", "-k", "--type=tmpfs", "--output=size,used,target");
  const [, size, used, disk] =
    disks
      .split("\n")
      .map((line) => /^ *(\d+) +(\d+) (.*)$/.exec(line) ?? [])
      .find(([, , , target]) => target?.startsWith(`${host.folder}/`)) ?? [];
  if (disk === undefined) throw new Error(`PostgreSQL of ${host.name} has no disk of its own`);
  const resize = (kilobytes: number) => host.exec("mount", "-o", `remount,size=${kilobytes}k`, disk);
  await resize(Number(used) + 64);
  return { what: `the disk of ${host.name} full`, undo: async () => void (await resize(Number(size))) };
}

function shuffled<T>(random: Chance, list: readonly T[]): T[] {
  const rest = [...list];
  return list.map(() => rest.splice(random.below(rest.length), 1)[0] as T);
}
