import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { changeTokenFile } from "../src/cli/tokens/file.ts";
import { createToken, hashOf } from "../src/cli/tokens/token.ts";
import { measure } from "./load.ts";
import type { Options } from "./options.ts";
import { digits, median, printTable, progress, reach, row } from "./report.ts";
import { writeRequests } from "./requests.ts";
import { cpuSecondsOf, endsWithBench, inFolder } from "./servers.ts";

/** How often a round turns from one server to the other. */
const turns = 5;

/**
 * What a token costs an order. Both servers are in one process, because two processes of one build differ by more than
 * that.
 */
export async function benchTokens({ rounds, seconds, accounts }: Options): Promise<void> {
  const samples: { readonly perSecond: readonly number[]; readonly cpuUs: readonly number[] }[] = [];
  await inFolder(async (folder) => {
    const tokens = join(folder, "tokens.json");
    const token = createToken();
    const sha256 = hashOf(token).toString("hex");
    const created = new Date().toISOString();
    const kept = { name: "bench", role: "teller", created, expires: null, sha256 } as const;
    await changeTokenFile(tokens, () => [kept]);
    const create = writeRequests(folder, "create", { accounts });
    const files = [undefined, token].map((given) =>
      writeRequests(folder, "exchange", { accounts, token: given }),
    );
    for (let round = 1; round <= rounds; round += 1) {
      const { urls, pid, stop } = await startBoth(tokens);
      try {
        const loads = urls.map((url, index) => ({ url, file: files[index] as string, connections: 64 }));
        await measure({ url: urls[0] as string, file: create, connections: 64, once: true });
        for (const load of loads) await measure({ ...load, seconds });
        const sums = loads.map(() => ({ requests: 0, seconds: 0, cpuSeconds: 0 }));
        for (let turn = 0; turn < turns; turn += 1) {
          for (const [index, load] of loads.entries()) {
            const before = cpuSecondsOf(pid);
            const { requests, seconds: took } = await measure({ ...load, seconds });
            const sum = sums[index] as (typeof sums)[number];
            sum.requests += requests;
            sum.seconds += took;
            sum.cpuSeconds += cpuSecondsOf(pid) - before;
          }
        }
        samples.push({
          perSecond: sums.map((sum) => sum.requests / sum.seconds),
          cpuUs: sums.map((sum) => (sum.cpuSeconds * 1e6) / sum.requests),
        });
        progress(`round ${round} of ${rounds}: ${samples.at(-1)?.cpuUs.map(digits).join(" and ")} µs`);
      } finally {
        await stop();
      }
    }
  });
  const ratios = samples.map(({ cpuUs: [off = 0, on = 0] }) => on / off);
  const middle = (field: "perSecond" | "cpuUs", index: number) =>
    median(samples.map((sample) => sample[field][index] ?? Number.NaN));
  printTable(["order, 64 connections, memory:", "a second", "CPU µs", "ratio of CPU", "each round's"]);
  row("without tokens", Math.round(middle("perSecond", 0)), middle("cpuUs", 0), 1, "");
  const shown = [median(ratios), ratios.map(digits).join(" ")];
  row("with a token", Math.round(middle("perSecond", 1)), middle("cpuUs", 1), ...shown);
  reach("order with a token, processor time", median(ratios));
}

async function startBoth(tokens: string) {
  const script = fileURLToPath(new URL("tokens-server.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", script, tokens], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  endsWithBench(child);
  const urls: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    urls.push(line);
    if (urls.length === 2) break;
  }
  const stop = async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
  };
  return { urls, pid: child.pid as number, stop };
}
