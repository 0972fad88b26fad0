import { spawnSync } from "node:child_process";
import { adult } from "../test/support/fixture.ts";
import { median, printTable, row } from "./report.ts";
import { fx, inFolder, openAccounts, startFx } from "./servers.ts";

const rounds = 25;

/** How long commands take from start to end, as a ratio to `node -e 0`, taking turns. */
export async function benchCli(): Promise<void> {
  const server = await startFx("server", "memory:");
  await inFolder((folder) => openAccounts(server, folder, 1));
  const commands: Record<string, string[]> = {
    "node -e 0": ["-e", "0"],
    "fx --version": [fx, "--version"],
    "fx --help": [fx, "--help"],
    "fx account show, from a server": [fx, "account", "show", adult(0), "--url", server.url],
    "fx quote, embedded": [fx, "quote", "--from", "PLN", "--to", "USD", "--to-buy", "1", "--url", "memory:"],
  };
  const took = new Map<string, number[]>(Object.keys(commands).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, args] of Object.entries(commands)) {
      const started = performance.now();
      const { status } = spawnSync(process.execPath, args, { env: { ...process.env, FX_RATES: "demo" } });
      if (status !== 0) throw new Error(`${name} ended with ${status}`);
      took.get(name)?.push(performance.now() - started);
    }
  }
  await server.stop();
  const base = took.get("node -e 0") ?? [];
  printTable(["command", "ms", "ratio to node -e 0"]);
  for (const [name, times] of took) {
    const ratio = median(times.map((time, round) => time / (base[round] ?? Number.NaN)));
    row(name, Math.round(median(times)), ratio);
  }
}
