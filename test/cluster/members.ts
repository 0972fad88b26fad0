import { setTimeout as pause } from "node:timers/promises";
import type { Cluster } from "./cluster.ts";
import type { Host } from "./network.ts";

/** Port of Patroni's REST API. */
const port = 8008;

export interface Member {
  readonly name: string;
  readonly role: "leader" | "sync_standby" | "replica";
  readonly state: string;
}

/** The members by the view of most hosts; none if no host answers. */
export async function membersOf(cluster: Cluster): Promise<Member[]> {
  const answers = await Promise.all(databaseHosts(cluster).map((host) => ask(host, "/cluster")));
  const views = answers.flatMap((answer) => (answer === undefined ? [] : [answer.members as Member[]]));
  const leader = (view: readonly Member[]) => view.find(({ role }) => role === "leader")?.name;
  const votes = (view: readonly Member[]) => views.filter((other) => leader(other) === leader(view)).length;
  return views.sort((a, b) => votes(b) - votes(a))[0] ?? [];
}

export async function leaderOf(cluster: Cluster): Promise<Host | undefined> {
  const name = (await membersOf(cluster)).find(({ role }) => role === "leader")?.name;
  return name === undefined ? undefined : cluster.host(name);
}

/** The first reason why the cluster is not whole; undefined if every host is in place and HAProxy has a ready fx. */
export async function lacks(cluster: Cluster): Promise<string | undefined> {
  const stopped = cluster.hosts.flatMap(({ name, programs }) =>
    [...programs.values()].flatMap((program) =>
      program.isRunning() ? [] : [`${program.name} of ${name} does not run`],
    ),
  );
  if (stopped.length > 0) return stopped.join(", ");
  const members = await membersOf(cluster);
  if (members.length < databaseHosts(cluster).length) return "a PostgreSQL is missing";
  const states = members.map(({ name, role, state }) => `${name} ${role} ${state}`).join(", ");
  const isWhole =
    members.every(({ state }) => ["running", "streaming"].includes(state)) &&
    ["leader", "sync_standby"].every((wanted) => members.some(({ role }) => role === wanted));
  if (!isWhole) return states;
  const ready = await fetch(`${cluster.url}/health/ready`, { signal: AbortSignal.timeout(2000) })
    .then(({ ok }) => ok)
    .catch(() => false);
  return ready ? undefined : "HAProxy has no ready fx";
}

/** Starts programs that do not run. */
export async function startAgain(hosts: readonly Host[]): Promise<void> {
  for (const { programs } of hosts) {
    for (const program of programs.values()) if (!program.isRunning()) await program.start();
  }
}

/** Time that a standby may take to start before its data is copied anew. */
const startingMs = 15_000;

/**
 * Resolves when the cluster is whole, or with the reason why it is not after `limitMs`. Restarts ended programs, as
 * systemd does: a starting Patroni ends if it finds no etcd. Copies the data of a standby that does not finish its
 * start anew, as OPERATIONS tells an operator.
 * @param say receives the operator's steps
 */
export async function wholeWithin(
  cluster: Cluster,
  limitMs: number,
  say: (what: string) => void,
): Promise<string | undefined> {
  const end = performance.now() + limitMs;
  /** Time since which a standby is starting, by name. */
  const since = new Map<string, number>();
  for (;;) {
    await startAgain(cluster.hosts);
    const missing = await lacks(cluster);
    if (missing === undefined || performance.now() > end) return missing;
    for (const { name, role, state } of await membersOf(cluster)) {
      if (state !== "starting" || role === "leader") since.delete(name);
      else if (!since.has(name)) since.set(name, performance.now());
    }
    for (const [name, startedMs] of since) {
      if (performance.now() - startedMs < startingMs) continue;
      since.delete(name);
      say(`patronictl reinit of ${name}: ${await copyAgain(cluster.host(name))}`);
    }
    await pause(500);
  }
}

/** Does the request of `patronictl reinit --force`, and returns Patroni's answer. */
async function copyAgain(host: Host): Promise<string> {
  try {
    const answer = await fetch(`http://${host.address}:${port}/reinitialize`, {
      method: "POST",
      body: JSON.stringify({ force: true }),
      signal: AbortSignal.timeout(10_000),
    });
    return await answer.text();
  } catch (error) {
    return String(error);
  }
}

/**
 * Resolves to true when this host's Patroni has made PostgreSQL there the only primary or a standby, and to false after
 * `limitMs`.
 */
export async function watchedWithin(cluster: Cluster, host: Host, limitMs: number): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (performance.now() < end) {
    const [own, leader] = await Promise.all([ask(host, "/patroni"), leaderOf(cluster)]);
    // Patroni asks PostgreSQL for its role on each request.
    if (own?.state === "running" && (own.role === "replica") !== (leader === host)) return true;
    await pause(250);
  }
  return false;
}

/**
 * Does the request of `patronictl switchover` or `failover`.
 * @throws if Patroni refuses
 */
export async function changePrimary(
  cluster: Cluster,
  how: "switchover" | "failover",
): Promise<{ readonly leader: string; readonly candidate: string }> {
  const members = await membersOf(cluster);
  const leader = members.find(({ role }) => role === "leader")?.name;
  const standby =
    members.find(({ role }) => role === "sync_standby") ?? members.find(({ role }) => role === "replica");
  if (leader === undefined || standby === undefined) throw new Error("there is no standby to take over now");
  const candidate = standby.name;
  const answer = await fetch(`http://${cluster.host(leader).address}:${port}/${how}`, {
    method: "POST",
    body: JSON.stringify({ ...(how === "switchover" && { leader }), candidate }),
    signal: AbortSignal.timeout(20_000),
  });
  if (!answer.ok)
    throw new Error(`Patroni refuses a ${how} from ${leader} to ${candidate}: ${await answer.text()}`);
  return { leader, candidate };
}

function databaseHosts(cluster: Cluster): Host[] {
  return cluster.hosts.filter(({ programs }) => programs.has("patroni"));
}

/** @returns the JSON of any answer, whatever its status; undefined without an answer */
async function ask(host: Host, path: string): Promise<Record<string, unknown> | undefined> {
  try {
    const answer = await fetch(`http://${host.address}:${port}${path}`, {
      signal: AbortSignal.timeout(1500),
    });
    return (await answer.json()) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
