import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { type Measured, measure, measureUntil } from "../../bench/load.ts";
import { writeRequests } from "../../bench/requests.ts";
import { type Served, startFx } from "../support/run-fx.ts";
import type { Assault } from "./attacker.ts";

/** What was tried, what must come of it, and what came. */
export interface Row {
  readonly tried: string;
  readonly mustBe: string;
  readonly seen: string;
  readonly holds: boolean;
}

export interface Setting {
  /** For files that may be left behind. */
  readonly folder: string;
  /** How long each load lasts, a whole number. */
  readonly seconds: number;
}

/** One kind of attack, on servers that it starts and ends. */
export type Attack = (setting: Setting) => AsyncIterable<Row>;

/** A server under attack, with 1,000 accounts. */
export interface Target extends Served {
  /** Orders that others send, of which the server could take four times as many. */
  readonly orders: { readonly file: string; readonly rate: number };
}

type Waits = Measured["latencyMs"];

/** How long others wait without an attack, and during it. */
export interface Compared {
  readonly alone: Waits;
  readonly during: Waits;
}

/** Of so many measurements, the one whose p99 is in the middle. */
function middle(measured: readonly Waits[]): Waits {
  const sorted = measured.toSorted((a, b) => a.p99 - b.p99);
  return sorted[Math.floor(sorted.length / 2)] as Waits;
}

const accounts = 1000;
/** While V8 is still compiling the generator, orders wait for it and not for the server. */
const warmUpSeconds = 1;
/** Of measurements without an attack and during it. */
const rounds = 5;
/** So many that the rate does not wait for them. */
const othersConnections = 256;

/** The built `fx serve`, or the one that FX_ATTACK_COMMAND names. */
export async function startServer(env: Readonly<Record<string, string>> = {}): Promise<Served> {
  const { FX_ATTACK_COMMAND: fx } = process.env;
  const args = ["--rates", "demo", "--log-level", "warn"];
  return startFx(args, { env, ...(fx !== undefined && { fx }) });
}

/** Starts a server, opens accounts, and measures how many orders it takes. */
export async function startTarget(
  { folder, seconds }: Setting,
  env: Readonly<Record<string, string>> = {},
): Promise<Target> {
  const server = await startServer(env);
  const { url } = server;
  await measure({
    url,
    file: writeRequests(folder, "create", { accounts }),
    connections: othersConnections,
    once: true,
  });
  const file = writeRequests(folder, "exchange", { accounts });
  const load = { url, file, connections: 64, seconds };
  await measure(load);
  const most = await measure(load);
  const rate = Math.round(most.requests / most.seconds / 4);
  return { ...server, orders: { file, rate } };
}

/** A process that attacks from `begin` to `end`, which gives how many answers there were. */
export async function startAttacker() {
  const path = fileURLToPath(new URL("attacker.ts", import.meta.url));
  const child = fork(path, { execArgv: ["--import", "tsx"] });
  const exited = once(child, "exit").then(() => {
    throw new Error("the attacker has ended by itself");
  });
  const said = () => Promise.race([once(child, "message"), exited]);
  await said();
  return {
    begin: (assault: Assault) => void child.send(assault),
    end: async (): Promise<number> => {
      child.send("end");
      const [answers] = await said();
      return answers;
    },
  };
}

/** How long others wait when nobody attacks: the middle one of three measurements. */
export async function othersAlone(target: Target, seconds: number): Promise<Waits> {
  const measured: Waits[] = [];
  for (let round = 1; round <= 3; round += 1) measured.push(await othersDuring(target, seconds));
  return middle(measured);
}

/** How long others wait from just before `attack` until it is over, at least for so many seconds. */
export async function othersDuring(
  { url, orders }: Target,
  seconds: number,
  attack: () => Promise<void> = async () => {},
): Promise<Waits> {
  const others = await measureUntil({ url, ...orders, connections: othersConnections, warmUpSeconds });
  await pause(1000 * warmUpSeconds);
  await Promise.all([attack(), pause(seconds * 1000)]);
  return (await others.stop()).latencyMs;
}

/**
 * How long others wait without an assault and during it, measured in turns: the machine may be slower in one minute than
 * in the next, and the ledger in memory grows with each order either way. Of each, the measurement with the middle p99
 * counts; of those during it, also the longest wait of all.
 */
export async function compare(
  target: Target,
  seconds: number,
  assault: Assault,
): Promise<Compared & { readonly answersPerSecond: number; readonly moreMb: number }> {
  const alone: Waits[] = [];
  const during: Waits[] = [];
  let answers = 0;
  let moreMb = 0;
  const most = () => memoryOf(target.pid, "VmHWM");
  for (let round = 1; round <= rounds; round += 1) {
    const before = most();
    alone.push(await othersDuring(target, seconds));
    const between = most();
    const attacker = await startAttacker();
    during.push(
      await othersDuring(target, seconds, async () => {
        await pause(500);
        attacker.begin(assault);
      }),
    );
    answers += await attacker.end();
    moreMb += most() - between - (between - before);
  }
  const longest = Math.max(...during.map(({ max }) => max));
  return {
    alone: middle(alone),
    during: { ...middle(during), max: longest },
    answersPerSecond: Math.round(answers / (rounds * seconds)),
    moreMb,
  };
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Resolves with how long it took, in ms. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** A connection that takes answers as fast as they come. */
export async function openSocket(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) }).resume();
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject).on("error", () => {});
      resolve(socket);
    });
  });
}

/** Whether the server still has its end open, which a client that does not read would not notice. */
export function isOpenAtServer({ localPort = 0, remotePort = 0 }: Socket): boolean {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, "0");
  const line = new RegExp(`: \\w+:${hex(remotePort)} \\w+:${hex(localPort)} 01 `);
  return line.test(readFileSync("/proc/net/tcp", "utf8"));
}

/** In MB: the memory of a process now, or the most it ever had. */
export function memoryOf(pid: number | undefined, which: "VmRSS" | "VmHWM" = "VmRSS"): number {
  try {
    const [, kilobytes] =
      new RegExp(`${which}:\\s*(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Math.round(Number(kilobytes) / 1024);
  } catch {
    return Number.NaN;
  }
}

/** A row about how long others wait. */
export function waitRow(
  tried: string,
  { alone, during }: Compared,
  more: { readonly seen?: string; readonly holds?: boolean; readonly longestMs?: number } = {},
): Row {
  const { seen = "", holds = true, longestMs } = more;
  const isDoubled = during.p99 > 2 * alone.p99;
  const ms = (value: number) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
  return {
    tried,
    mustBe:
      longestMs === undefined
        ? "others' p99 at most doubled, their longest wait under 500 ms"
        : `others' longest wait under ${ms(longestMs)}`,
    seen: `p99 ${ms(alone.p99)} to ${ms(during.p99)}, longest ${ms(alone.max)} to ${ms(during.max)}${seen}`,
    holds: holds && during.max < (longestMs ?? 500) && (longestMs !== undefined || !isDoubled),
  };
}
