import { join } from "node:path";
import { runFx } from "./commands.ts";
import { measure } from "./load.ts";
import type { Options } from "./options.ts";
import { digits, median, print, printTable, progress, reach, row } from "./report.ts";
import { writeLines, writeRequests } from "./requests.ts";
import { inFolder, openAccounts, peakMegabytes, requireCleanAudit, startBare, startFx } from "./servers.ts";

interface Sample {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly earlyMb: number;
  readonly peakMb: number;
  readonly serverCpuSeconds: number;
  readonly serverMb: number;
}

/** What the bare route answered in a second on the machine for which the targets in seconds were set. */
const bareOfTargets = 25_000;

/**
 * `fx batch` of a file of orders, its results into a file: through a server and in its own process in turn, each time on
 * a new ledger. The median counts. The bare route, with 256 connections, tells how fast the machine is meanwhile.
 */
export async function benchBatch({ lines, accounts, rounds }: Options): Promise<void> {
  await inFolder(async (folder) => {
    const file = writeLines(folder, { lines, accounts });
    const through: Sample[] = [];
    const own: Sample[] = [];
    const bare: number[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      await inFolder(async (ofRound) => {
        const batch = { file, folder: ofRound, accounts };
        bare.push(await bareRate(batch));
        through.push(await runThrough(batch));
        own.push(await runOwn(batch));
      });
      const [served, alone] = [through, own].map((samples) => digits(samples.at(-1)?.seconds ?? Number.NaN));
      progress(
        `round ${round} of ${rounds}: ${served} and ${alone} s, bare route ${digits(bare.at(-1) ?? 0)}/s`,
      );
    }
    const middle = (samples: readonly Sample[], field: keyof Sample) =>
      median(samples.map((sample) => sample[field]));
    const micros = (seconds: number) => (seconds * 1e6) / lines;

    printTable([
      ...[`fx batch of ${lines} lines, sqlite:`, "s", "each round's", "µs a line", "CPU µs a line"],
      ...["peak MB (in the first quarter)", "server's CPU µs a line", "server's peak MB"],
    ]);
    for (const [name, samples] of [
      ["through a server", through],
      ["in its own process", own],
    ] as const) {
      const of = (field: keyof Sample) => middle(samples, field);
      const each = samples.map(({ seconds }) => digits(seconds)).join(" ");
      const server =
        name === "through a server" ? [micros(of("serverCpuSeconds")), of("serverMb")] : ["", ""];
      const memory = `${digits(of("peakMb"))} (${digits(of("earlyMb"))})`;
      row(name, of("seconds"), each, micros(of("seconds")), micros(of("cpuSeconds")), memory, ...server);
    }
    print("");
    print(
      `The bare route answered ${digits(median(bare))} orders a second, where the targets in seconds take ${bareOfTargets}.`,
    );
    reach("batch through a server, sqlite:, a million lines", micros(middle(through, "seconds")));
    reach("batch in process, sqlite:", micros(middle(own, "seconds")));
    reach("batch through a server, the client's memory", middle(through, "peakMb"));
    reach("batch through a server, the server's memory", middle(through, "serverMb"));
  });
}

interface Round {
  readonly file: string;
  readonly folder: string;
  readonly accounts: number;
}

async function bareRate({ folder, accounts }: Round): Promise<number> {
  const { url, stop } = await startBare();
  const load = { url, file: writeRequests(folder, "exchange", { accounts }), connections: 256 };
  await measure({ ...load, seconds: 2 });
  const { requests, seconds } = await measure({ ...load, seconds: 3 });
  await stop();
  return requests / seconds;
}

async function runThrough({ file, folder, accounts }: Round): Promise<Sample> {
  const server = await startFx("sqlite:", `sqlite:${join(folder, "served.db")}`);
  await openAccounts(server, folder, accounts);
  const before = server.cpuSeconds().own;
  const ran = await runBatch(file, folder, server.url);
  const sample = {
    ...ran,
    serverCpuSeconds: server.cpuSeconds().own - before,
    serverMb: peakMegabytes(server.pid) ?? Number.NaN,
  };
  await requireCleanAudit(server);
  await server.stop();
  return sample;
}

async function runOwn({ file, folder, accounts }: Round): Promise<Sample> {
  const place = `sqlite:${join(folder, "own.db")}`;
  const opener = await startFx("sqlite:", place);
  await openAccounts(opener, folder, accounts);
  await opener.stop();
  const ran = await runBatch(file, folder, place);
  await runFx(["audit", "--url", place]);
  return { ...ran, serverCpuSeconds: 0, serverMb: 0 };
}

async function runBatch(file: string, folder: string, url: string) {
  const results = join(folder, "results.ndjson");
  const { seconds, cpuSeconds, peakMb } = await runFx(["batch", file, "--url", url], results);
  return { seconds, cpuSeconds, earlyMb: peakMb.early, peakMb: peakMb.all };
}
