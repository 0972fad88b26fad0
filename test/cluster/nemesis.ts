import { setTimeout as pause } from "node:timers/promises";
import type { History } from "../load/history.ts";
import { Chance } from "../support/chance.ts";
import type { Cluster } from "./cluster.ts";
import type { ActiveFault, Fault } from "./faults.ts";
import { leaderOf, watchedWithin, wholeWithin } from "./members.ts";

/** One fault, or two simultaneous ones. */
interface Step {
  readonly faults: readonly string[];
  /** Seed of the choices that the faults make. */
  readonly seed: number;
  /** Time before the undo. A change of the primary is also waited for. */
  readonly holdMs: number;
  /** Whether the step waits for a whole cluster. */
  readonly isWholeFirst: boolean;
}

/** Weights of faults that change the primary (default 1). */
const changes: Readonly<Record<string, number>> = {
  "primary killed": 4,
  "switch-over": 2,
};

/** An endless sequence of steps, determined by seed and faults. */
function* plan(seed: number, faults: Readonly<Record<string, Fault>>): Generator<Step> {
  const random = new Chance(seed);
  const names = Object.keys(faults);
  const changing = names.filter((name) => faults[name]?.changesPrimary !== undefined);
  const change = deck(
    random,
    changing.flatMap((name) => Array<string>(changes[name] ?? 1).fill(name)),
  );
  const other = deck(
    random,
    names.filter((name) => !changing.includes(name)),
  );
  for (let nth = 0; ; nth += 1) {
    const first = (nth % 3 === 2 ? other() : change()) ?? other() ?? change();
    if (first === undefined) throw new Error("There is no fault to inject.");
    const takes = new Set(faults[first]?.takes);
    const second = random.percent(50)
      ? other((name) => name !== first && !faults[name]?.takes.some((part) => takes.has(part)))
      : undefined;
    yield {
      faults: second === undefined ? [first] : [first, second],
      seed: random.below(2 ** 31),
      holdMs: 2000 + random.below(6000),
      isWholeFirst: random.percent(75),
    };
  }
}

/** Draws without replacement: each suitable card comes once before any comes again. */
function deck(random: Chance, cards: readonly string[]) {
  let rest: string[] = [];
  return (suits: (card: string) => boolean = () => true): string | undefined => {
    if (!rest.some(suits)) rest = [...rest, ...cards];
    const suitable = rest.filter(suits);
    if (suitable.length === 0) return undefined;
    const card = random.pick(suitable);
    rest.splice(rest.indexOf(card), 1);
    return card;
  };
}

interface PrimaryChange {
  readonly to: string;
  readonly byKill: boolean;
}

/** Injects faults into a cluster and watches its primary. */
export class Nemesis {
  /** Number of injections by fault. */
  readonly done = new Map<string, number>();
  /** Faults that could not be injected, with the reason. */
  readonly notDone: string[] = [];
  readonly primaryChanges: PrimaryChange[] = [];
  /** Descriptions of the faults that are not undone yet. */
  readonly inForce = new Set<string>();
  primary = "none";
  /** Whether the primary was killed and has no successor yet. */
  #isKilled = false;
  #end = 0;
  readonly #returning: Promise<void>[] = [];
  readonly #cluster: Cluster;
  readonly #faults: Readonly<Record<string, Fault>>;
  readonly #history: History;

  constructor(cluster: Cluster, faults: Readonly<Record<string, Fault>>, history: History) {
    this.#cluster = cluster;
    this.#faults = faults;
    this.#history = history;
  }

  /** Injects faults until `end` (a time of `performance.now`), and returns when all are undone. */
  async run(seed: number, end: number, interrupted: AbortSignal): Promise<void> {
    this.#end = end;
    interrupted.addEventListener("abort", () => {
      this.#end = 0;
    });
    const watching = new AbortController();
    const watch = this.#watch(watching.signal);
    try {
      for (const step of plan(seed, this.#faults)) {
        const say = (what: string) => this.#say("fault", what);
        const missing = step.isWholeFirst
          ? await wholeWithin(this.#cluster, 30_000, say)
          : await this.#someone();
        if (missing !== undefined) this.#say("fault", `meanwhile the cluster is not whole: ${missing}`);
        if (performance.now() + step.holdMs > this.#end) break;
        await this.#do(step);
      }
    } finally {
      watching.abort();
      await Promise.all([watch, ...this.#returning]);
    }
  }

  async #do(step: Step): Promise<void> {
    const random = new Chance(step.seed);
    const before = this.primary;
    const undoes: (() => Promise<void>)[] = [];
    let mustChange = false;
    let isUnwatched = false;
    try {
      for (const name of step.faults) {
        const fault = this.#faults[name] as Fault;
        this.#isKilled ||= fault.changesPrimary === "by kill";
        const active = await this.#begin(name, fault, random);
        if (active === undefined) continue;
        if (active.undo !== undefined) undoes.push(() => this.#undo(active));
        mustChange ||= fault.changesPrimary !== undefined;
        isUnwatched ||= active.unwatched !== undefined;
        await pause(random.below(1500));
      }
      const began = performance.now();
      const isOver = () => undoes.length === 0 || performance.now() > began + step.holdMs;
      const hasChanged = () => !mustChange || this.primary !== before || performance.now() > began + 20_000;
      while (!(isOver() && hasChanged()) && performance.now() < this.#end) await pause(100);
      // The old primary's reads can be stale only once an fx has found the new one.
      if (isUnwatched && random.percent(50)) await pause(5000 + step.holdMs);
    } finally {
      this.#isKilled = false;
      for (const undo of random.percent(50) ? undoes : undoes.reverse()) await undo();
    }
  }

  async #begin(name: string, fault: Fault, random: Chance): Promise<ActiveFault | undefined> {
    try {
      const active = await fault.run(this.#cluster, random);
      if (active.unwatched !== undefined) {
        this.#history.add({ event: "unwatched", host: active.unwatched.name });
      }
      this.done.set(name, (this.done.get(name) ?? 0) + 1);
      this.#say("fault", active.what);
      if (active.undo !== undefined) this.inForce.add(active.what);
      return active;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.notDone.push(`${name}: ${reason.slice(0, 300)}`);
      return undefined;
    }
  }

  async #undo(active: ActiveFault): Promise<void> {
    const said = await active.undo?.();
    this.inForce.delete(active.what);
    this.#say("undone", typeof said === "string" ? `${active.what}: ${said}` : active.what);
    const { unwatched: host } = active;
    if (host === undefined) return;
    // Not awaited: the next fault may come before Patroni is back in control.
    this.#returning.push(
      watchedWithin(this.#cluster, host, 60_000).then((isWatched) => {
        if (isWatched) this.#history.add({ event: "watched", host: host.name });
      }),
    );
  }

  /** Waits for a primary; returns the failure if there is none in time. */
  async #someone(): Promise<string | undefined> {
    const end = performance.now() + 30_000;
    while (performance.now() < end) {
      if ((await leaderOf(this.#cluster)) !== undefined) return undefined;
      await pause(250);
    }
    return "there is no primary";
  }

  async #watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const leader = (await leaderOf(this.#cluster))?.name;
      if (leader !== undefined && leader !== this.primary) {
        const isFirst = this.primary === "none";
        this.primary = leader;
        this.#say("primary", leader);
        if (!isFirst) {
          this.primaryChanges.push({ to: leader, byKill: this.#isKilled });
          this.#isKilled = false;
        }
      }
      await pause(500);
    }
  }

  #say(event: "fault" | "undone" | "primary", what: string): void {
    this.#history.add({ event, what });
  }
}
