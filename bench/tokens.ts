import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { measure } from "./load.ts";
import type { Options } from "./options.ts";
import { median, printTable, progress, reach, row } from "./report.ts";
import { writeRequests } from "./requests.ts";
import { fx, inFolder, openAccounts, requireCleanAudit, type Server, startFx } from "./servers.ts";

/** Loads that both servers of a round get, in turn. */
const turns = 4;

/**
 * Orders with a token in force to those without: what is asked for, what the token costs to be sent and read, included.
 * Both take turns within a round, since the machine's speed changes; every round has new servers.
 */
export async function benchTokens({ rounds, seconds, accounts }: Options): Promise<void> {
  await inFolder(async (folder) => {
    const tokens = join(folder, "tokens");
    const args = [fx, "token", "create", "bench", "--role", "operator", "--tokens", tokens];
    const token = (await promisify(execFile)(process.execPath, args)).stdout.trim();
    const ratios: number[] = [];
    const cpu: number[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      progress(`round ${round} of ${rounds}`);
      const off = await startFx("tokens off", "memory:");
      const on = await startFx("tokens on", "memory:", { tokens });
      try {
        await openAccounts(off, folder, accounts);
        await openAccounts(on, folder, accounts, token);
        const load = (server: Server, shown?: string) =>
          measureOrders(
            server,
            writeRequests(folder, "exchange", { accounts, ...(shown && { token: shown }) }),
            seconds,
          );
        await load(off);
        await load(on, token);
        const pairs: { off: Sent; on: Sent }[] = [];
        for (let turn = 0; turn < turns; turn += 1)
          pairs.push({ off: await load(off), on: await load(on, token) });
        ratios.push(median(pairs.map((pair) => pair.on.perSecond / pair.off.perSecond)));
        cpu.push(median(pairs.map((pair) => pair.off.cpuUs / pair.on.cpuUs)));
        await requireCleanAudit(off);
        await requireCleanAudit(on, token);
      } finally {
        await Promise.all([off.stop(), on.stop()]);
      }
    }
    printTable(["orders with tokens on, of those with tokens off", "median", "each round's"]);
    row("a second", median(ratios), ratios.map((ratio) => ratio.toFixed(3)).join(" "));
    row("for the same processor time", median(cpu), cpu.map((ratio) => ratio.toFixed(3)).join(" "));
    reach("orders with tokens on, for the same processor time", median(cpu));
  });
}

interface Sent {
  readonly perSecond: number;
  readonly cpuUs: number;
}

async function measureOrders(server: Server, file: string, seconds: number): Promise<Sent> {
  const before = server.cpuSeconds().own;
  const { requests, seconds: took } = await measure({ url: server.url, file, connections: 64, seconds });
  return { perSecond: requests / took, cpuUs: ((server.cpuSeconds().own - before) * 1e6) / requests };
}
