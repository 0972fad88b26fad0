import { join } from "node:path";
import { type Ran, runFx } from "./commands.ts";
import type { Options } from "./options.ts";
import { digits, printTable, progress, reach, row } from "./report.ts";
import { writeLines } from "./requests.ts";
import { inFolder, openAccounts, peakMegabytes, requireCleanAudit, startFx } from "./servers.ts";

/** `fx batch` of a file of orders, its results into a file: through a server, and in its own process. */
export async function benchBatch({ lines, accounts }: Options): Promise<void> {
  await inFolder(async (folder) => {
    const file = writeLines(folder, { lines, accounts });
    const results = join(folder, "results.ndjson");
    const micros = (seconds: number) => (seconds * 1e6) / lines;
    const cells = ({ seconds, cpuSeconds, peakMb }: Ran) => [
      ...[seconds, micros(seconds), micros(cpuSeconds)],
      `${digits(peakMb.all)} (${digits(peakMb.early)})`,
    ];

    const server = await startFx("sqlite:", `sqlite:${join(folder, "served.db")}`);
    await openAccounts(server, folder, accounts);
    const before = server.cpuSeconds().own;
    const through = await runFx(["batch", file, "--url", server.url], results);
    const serverMicros = micros(server.cpuSeconds().own - before);
    const serverMb = peakMegabytes(server.pid) ?? Number.NaN;
    progress(`batch through a server: ${through.seconds} s`);
    await requireCleanAudit(server);
    await server.stop();

    const place = `sqlite:${join(folder, "own.db")}`;
    const opener = await startFx("sqlite:", place);
    await openAccounts(opener, folder, accounts);
    await opener.stop();
    const own = await runFx(["batch", file, "--url", place], results);
    await runFx(["audit", "--url", place]);

    printTable([
      ...[`fx batch of ${lines} lines, sqlite:`, "s", "µs a line", "CPU µs a line"],
      ...["peak MB (in the first quarter)", "server's CPU µs a line", "server's peak MB"],
    ]);
    row("through a server", ...cells(through), serverMicros, serverMb);
    row("in its own process", ...cells(own), "", "");
    reach("batch through a server, sqlite:, a million lines", micros(through.seconds));
    reach("batch in process, sqlite:", micros(own.seconds));
    reach("batch through a server, the client's memory", through.peakMb.all);
    reach("batch through a server, the server's memory", serverMb);
  });
}
