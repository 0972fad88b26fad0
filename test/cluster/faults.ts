/** The faults of a cluster, each with its undo. */
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { Chance } from "../support/chance.ts";
import type { CommitFault } from "../support/proxy.ts";
import type { Cluster } from "./cluster.ts";
import { changePrimary, leaderOf, startAgain } from "./members.ts";
import type { Host } from "./network.ts";
import { block, disturb, lose, type Way } from "./network-faults.ts";

/** A part of the cluster that a fault weakens. Faults that weaken the same part do not run at once. */
export type Part = "etcd" | "database" | "fx" | "proxy" | "network" | "clock";

export interface Fault {
  readonly takes: readonly Part[];
  /** Set if the primary changes: how. */
  readonly changesPrimary?: "by kill" | "otherwise";
  /** @throws if it cannot be done now; then nothing was changed */
  run(cluster: Cluster, random: Chance): Promise<ActiveFault>;
}

export interface ActiveFault {
  /** Text for the report, such as "kill -9 of Patroni and PostgreSQL of db2". */
  readonly what: string;
  /** The primary, if its PostgreSQL runs on while its Patroni cannot demote it. */
  readonly unwatched?: Host;
  /** Absent if the fault ends by itself. A returned text is added to the history. */
  readonly undo?: () => Promise<unknown>;
}

export const faults: Record<string, Fault> = {
  // Faults that change the primary.
  "primary killed": {
    takes: ["database"],
    changesPrimary: "by kill",
    run: killed(primaryOf, ["patroni", "postgres"]),
  },
  "primary's Patroni killed": {
    takes: ["database"],
    changesPrimary: "by kill",
    run: unwatched(killed(primaryOf, ["patroni"])),
  },
  "switch-over": { takes: ["database"], changesPrimary: "otherwise", run: handedOver("switchover") },
  "fail-over": { takes: ["database"], changesPrimary: "otherwise", run: handedOver("failover") },
  "primary stopped": {
    takes: ["database"],
    changesPrimary: "otherwise",
    run: unwatched(stopped(primaryOf, ["patroni", "postgres"])),
  },
  "primary's Patroni stopped": {
    takes: ["database"],
    changesPrimary: "otherwise",
    run: unwatched(stopped(primaryOf, ["patroni"])),
  },
  "primary alone": {
    takes: ["database", "network"],
    changesPrimary: "otherwise",
    run: cutOff(primaryOf, (cluster, primary) => without(cluster.hosts, primary)),
  },
  "primary without etcd": {
    takes: ["database", "network"],
    changesPrimary: "otherwise",
    run: cutOff(primaryOf, (cluster) => hostsWith(cluster, "etcd")),
  },

  // Faults that may leave the primary in place.
  "a process killed": { takes: ["database", "etcd", "fx", "proxy"], run: killAny },
  "a program stopped": { takes: ["database", "etcd", "fx", "proxy"], run: stopAny },
  "a host killed": { takes: ["database", "etcd", "fx", "proxy"], run: killed(anyHost) },
  "a standby stopped": { takes: ["database"], run: stopped(aStandby, ["patroni", "postgres"]) },
  // Patroni waits for PostgreSQL, and notices only afterwards that another host is the primary.
  "PostgreSQL stopped": { takes: ["database"], run: unwatched(stopped(primaryOf, ["postgres"])) },
  "fx restarted, one by one": { takes: ["fx"], run: restartFx },
  // Beyond what the cluster tolerates: the primary steps down, and orders fail until one etcd is back.
  "most of etcd killed": { takes: ["etcd", "database"], run: killMostOfEtcd },
  "network split": { takes: ["network", "database", "etcd"], run: splitNetwork },
  "primary without a standby": {
    takes: ["network", "database"],
    run: cutOff(primaryOf, async (cluster, _, random) => {
      const standbys = await standbysOf(cluster);
      return random.percent(50) ? standbys : [random.pick(standbys)];
    }),
  },
  "fx without the primary": {
    takes: ["network"],
    run: cutOff(anFx, async (cluster) => [await primaryOf(cluster)]),
  },
  "HAProxy without an fx": {
    takes: ["network", "fx"],
    run: cutOff(anFx, (cluster) => [cluster.host("proxy")]),
  },
  "packets lost": { takes: ["network"], run: losePackets },
  "slow network": { takes: ["network"], run: slowDown },
  "connections broken in COMMIT": { takes: ["network"], run: breakCommits },
  "disk full": { takes: ["database"], run: fillDisk },
  "clock jumps": { takes: ["clock"], run: setClock },
};

type Choice = (cluster: Cluster, random: Chance) => Host | Promise<Host>;

/** Kills all processes of these programs, or of all programs of the host, at once. */
function killed(who: Choice, programs?: readonly string[]): Fault["run"] {
  return async (cluster, random) => {
    const host = await who(cluster, random);
    return kill(host, programs ?? [...host.programs.keys()]);
  };
}

/** Stops all processes of these programs with SIGSTOP, until SIGCONT. */
function stopped(who: Choice, programs: readonly string[]): Fault["run"] {
  return async (cluster, random) => freeze(await who(cluster, random), programs);
}

/** Marks a fault of the primary that leaves its PostgreSQL to run, now or afterwards, without its Patroni. */
function unwatched(run: Fault["run"]): Fault["run"] {
  return async (cluster, random) => {
    const primary = await primaryOf(cluster);
    return { ...(await run(cluster, random)), unwatched: primary };
  };
}

function handedOver(how: "switchover" | "failover"): Fault["run"] {
  return async (cluster) => {
    const { leader, candidate } = await changePrimary(cluster, how);
    return { what: `${how} from ${leader} to ${candidate}` };
  };
}

/** Cuts a host off from others, in one direction or both. */
function cutOff(
  who: Choice,
  from: (cluster: Cluster, host: Host, random: Chance) => Host[] | Promise<Host[]>,
): Fault["run"] {
  return async (cluster, random) => {
    const host = await who(cluster, random);
    return separate(random, [host], await from(cluster, host, random));
  };
}

function anyHost({ hosts }: Cluster, random: Chance): Host {
  return random.pick(hosts);
}

function anFx(cluster: Cluster, random: Chance): Host {
  return random.pick(hostsWith(cluster, "fx"));
}

async function aStandby(cluster: Cluster, random: Chance): Promise<Host> {
  return random.pick(await standbysOf(cluster));
}

function fxOrDatabase(cluster: Cluster, random: Chance): Host {
  return random.pick([...hostsWith(cluster, "fx"), ...hostsWith(cluster, "patroni")]);
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

async function kill(host: Host, programs: readonly string[]): Promise<ActiveFault> {
  for (const program of programsOf(host, programs)) program.signal("SIGKILL");
  return { what: `kill -9 of ${titlesOf(programs)} of ${host.name}`, undo: () => startAgain([host]) };
}

async function freeze(host: Host, programs: readonly string[]): Promise<ActiveFault> {
  const all = programsOf(host, programs);
  for (const program of all) program.signal("SIGSTOP");
  return {
    what: `SIGSTOP of ${titlesOf(programs)} of ${host.name}`,
    undo: async () => {
      for (const program of all) program.signal("SIGCONT");
    },
  };
}

/** Kills one process of any program; of PostgreSQL, a backend, the WAL writer or the postmaster. */
async function killAny(cluster: Cluster, random: Chance): Promise<ActiveFault> {
  const host = random.pick(cluster.hosts);
  const program = random.pick([...host.programs.values()]);
  const pid = random.pick(program.pids());
  const what = `kill -9 of process ${pid} of ${titlesOf([program.name])} of ${host.name}: ${commandOf(pid)}`;
  const primary = await leaderOf(cluster);
  process.kill(pid, "SIGKILL");
  const isUnwatched = program.name === "patroni" && host === primary;
  return { what, ...(isUnwatched && { unwatched: host }), undo: () => startAgain([host]) };
}

async function stopAny(cluster: Cluster, random: Chance): Promise<ActiveFault> {
  const host = random.pick(cluster.hosts);
  const program = random.pick([...host.programs.keys()]);
  const primary = await leaderOf(cluster);
  const active = await freeze(host, [program]);
  return host === primary ? { ...active, unwatched: host } : active;
}

function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim().slice(0, 60);
}

async function killMostOfEtcd(cluster: Cluster, random: Chance): Promise<ActiveFault> {
  const hosts = hostsWith(cluster, "etcd");
  const gone = without(hosts, random.pick(hosts));
  const wounds = await Promise.all(gone.map((host) => kill(host, ["etcd"])));
  return {
    what: `kill -9 of two of three etcd: ${names(gone)}`,
    undo: async () => void (await Promise.all(wounds.map(({ undo }) => undo?.()))),
  };
}

async function splitNetwork(cluster: Cluster, random: Chance): Promise<ActiveFault> {
  const part = shuffled(random, cluster.hosts).slice(0, 1 + random.below(cluster.hosts.length - 1));
  const rest = cluster.hosts.filter((host) => !part.includes(host));
  return separate(random, part, rest);
}

async function separate(random: Chance, part: readonly Host[], rest: readonly Host[]): Promise<ActiveFault> {
  const ways = (from: readonly Host[], to: readonly Host[]): Way[] =>
    from.flatMap((one) => to.map((other) => ({ from: one, to: other })));
  const side = random.weighted({ both: 2, to: 1, from: 1 });
  const undo = await block([
    ...(side === "from" ? [] : ways(rest, part)),
    ...(side === "to" ? [] : ways(part, rest)),
  ]);
  const kind = { both: "to and from", to: "to", from: "from" }[side];
  return { what: `nothing gets through ${kind} ${names(part)}: the others are ${names(rest)}`, undo };
}

async function losePackets(cluster: Cluster, random: Chance): Promise<ActiveFault> {
  const host = random.pick(cluster.hosts);
  const percent = 5 + random.below(36);
  const undo = await lose(host, without(cluster.hosts, host), percent);
  return { what: `${percent} % of the packets of ${host.name} lost`, undo };
}

async function slowDown(cluster: Cluster, random: Chance): Promise<ActiveFault> {
  const host = fxOrDatabase(cluster, random);
  const delayMs = random.pick([5, 20, 100, 400]);
  const isToEtcd = host.programs.has("patroni") && random.percent(50);
  const etcd = hostsWith(cluster, "etcd").map(({ address }) => `${address}:2379`);
  const proxy = await disturb(host, isToEtcd ? etcd : databaseAddresses(cluster, host));
  proxy.order({ delayMs });
  const what = `${delayMs} ms each way from ${host.name} to ${isToEtcd ? "etcd" : "PostgreSQL"}`;
  return { what, undo: proxy.undo };
}

async function setClock(cluster: Cluster, random: Chance): Promise<ActiveFault> {
  const host = fxOrDatabase(cluster, random);
  // Entries dated more than five minutes ahead are an audit finding.
  const minutes = (1 + random.below(4)) * (random.percent(50) ? 1 : -1);
  host.setClock(minutes * 60);
  return {
    what: `the clock of ${host.name} ${Math.abs(minutes)} minutes ${minutes > 0 ? "ahead" : "behind"}`,
    undo: async () => host.setClock(0),
  };
}

/** The addresses in fx's database URL, without the host's own. */
function databaseAddresses(cluster: Cluster, from: Host): string[] {
  const [, hosts = ""] = /@([^/]+)\//.exec(cluster.databaseUrl) ?? [];
  return hosts.split(",").filter((address) => address.split(":")[0] !== from.address);
}

async function breakCommits(cluster: Cluster, random: Chance): Promise<ActiveFault> {
  const host = random.pick(hostsWith(cluster, "fx"));
  const proxy = await disturb(host, databaseAddresses(cluster, host));
  const kinds = Array.from({ length: 400 }, () => random.pick<CommitFault>(["lost", "unanswered", "late"]));
  const everyMs = random.pick([50, 200, 500]);
  const timer = setInterval(() => {
    const next = kinds.shift();
    if (next !== undefined) proxy.order({ commits: [next] });
  }, everyMs);
  return {
    what: `connections of ${host.name} to PostgreSQL broken in COMMIT, at most each ${everyMs} ms`,
    undo: async () => {
      clearInterval(timer);
      await proxy.undo();
      return `${proxy.disturbed()} were`;
    },
  };
}

/** Restarts each fx as an upgrade does, one after the other is ready again. */
async function restartFx(cluster: Cluster): Promise<ActiveFault> {
  const hosts = hostsWith(cluster, "fx");
  for (const host of hosts) {
    const [fx] = programsOf(host, ["fx"]);
    fx?.signal("SIGTERM");
    for (let tries = 0; fx?.isRunning(); tries += 1) {
      if (tries > 300) throw new Error(`fx on ${host.name} did not stop in 30 s after SIGTERM`);
      await pause(100);
    }
    await fx?.start();
    await ready(host);
  }
  return { what: `${names(hosts)} stopped by SIGTERM and started again, one by one` };
}

/** @throws if fx is not ready soon, for instance because the database is away */
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

/** Shrinks the disk of a PostgreSQL to its used size. */
async function fillDisk(cluster: Cluster, random: Chance): Promise<ActiveFault> {
  const host = random.percent(60) ? await primaryOf(cluster) : await aStandby(cluster, random);
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
