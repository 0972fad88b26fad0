import { type ChildProcess, fork, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { adult } from "../test/support/fixture.ts";
import { createDatabase, startPostgres } from "../test/support/postgres.ts";
import type { Load, Measured } from "./load.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** A server under load, in a process of its own. */
export interface Server {
  readonly name: string;
  readonly url: string;
  /** Seconds of processor time that its process has used. */
  cpuSeconds(): number;
  stop(): Promise<void>;
}

export const bareName = "bare Fastify route";

/** The baseline, built by the same bundler as fx. */
export async function startBare(): Promise<Server> {
  return serverOf(bareName, spawn(process.execPath, ["--import", "tsx", here("bare.ts")], pipes));
}

/** `fx serve`, as built, with its default settings and no request log. */
export async function startFx(name: string, db: string): Promise<Server> {
  const args = ["serve", "--port", "0", "--rates", "demo", "--log-level", "warn"];
  const env = { ...process.env, FX_DB: db };
  return serverOf(name, spawn(process.execPath, [here("../bin/fx.js"), ...args], { ...pipes, env }));
}

/** All kinds of store. The database is a real one, that syncs to disk. */
export async function startStores(): Promise<{ servers: Server[]; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "fx-bench-"));
  const database = await startPostgres({ durable: true });
  const { url } = await createDatabase(database.url);
  const servers = [
    await startFx("memory:", "memory:"),
    await startFx("sqlite:", `sqlite:${join(folder, "ledger.db")}`),
    await startFx("postgres:", url),
  ];
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await database.stop();
    rmSync(folder, { recursive: true });
  };
  return { servers, stop };
}

/** Opens the first `count` accounts with more money than a benchmark can spend. */
export async function openAccounts({ url }: Server, count: number): Promise<void> {
  let next = 0;
  const clients = Array.from({ length: 64 }, async () => {
    while (next < count) {
      const pesel = adult(next++);
      const { status } = await fetch(`${url}/api/user`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ name: "Jan", surname: "Kowalski", pesel, pln: 1_000_000_000 }),
      });
      if (status !== 204) throw new Error(`opening an account: ${status}`);
    }
  });
  await Promise.all(clients);
}

/** How many loads have opened accounts. */
let openings = 0;

/** Sends a load from a process of its own, so that the bench's own work is in nobody's way. */
export async function measure(load: Load): Promise<Measured> {
  const child = fork(here("load.ts"), { execArgv: ["--import", "tsx"] });
  if (load.kind === "create") openings += 1;
  child.send({ ...load, firstNew: openings * 100_000 } satisfies Load);
  const measured = await new Promise<Measured>((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", (code) => reject(new Error(`a load of ${load.kind} ended with ${code}`)));
  });
  child.kill();
  if (measured.failed > 0) throw new Error(`${measured.failed} of ${load.kind} at ${load.url} failed`);
  return measured;
}

const pipes: SpawnOptions = { stdio: ["ignore", "pipe", "inherit"] };

async function serverOf(name: string, child: ChildProcess): Promise<Server> {
  let output = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
      if (address !== undefined) resolve(address);
    });
    child.once("exit", () => reject(new Error(`${name} did not start: ${output}`)));
  });
  return {
    name,
    url,
    cpuSeconds: () => cpuSecondsOf(child.pid),
    stop: async () => {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** User and system time of a process, from /proc, in ticks of 10 ms. */
function cpuSecondsOf(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
