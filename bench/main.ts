import { benchBatch } from "./batch.ts";
import { benchBeside } from "./beside.ts";
import { benchCli } from "./cli.ts";
import { benchHttp } from "./http.ts";
import { benchLedger } from "./ledger.ts";
import { type Options, readOptions } from "./options.ts";
import { benchProcesses } from "./processes.ts";
import { printTargets } from "./report.ts";
import { benchScale } from "./scale.ts";
import { benchTokens } from "./tokens.ts";
import { benchTurns } from "./turns.ts";

const benches: Record<string, (options: Options) => Promise<void>> = {
  http: benchHttp,
  beside: benchBeside,
  batch: benchBatch,
  ledger: benchLedger,
  tokens: benchTokens,
  turns: benchTurns,
  scale: benchScale,
  processes: benchProcesses,
  cli: benchCli,
};
/** What a run without a name is: all that has a target. */
const usual = ["http", "tokens", "beside", "batch", "ledger"];

try {
  const { parts, options } = readOptions(process.argv.slice(2));
  for (const part of parts.length === 0 ? usual : parts) {
    const bench = benches[part];
    if (bench === undefined) {
      throw new Error(`There is no bench ${part}. There are ${Object.keys(benches).join(", ")}.`);
    }
    await bench(options);
  }
  printTargets();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  process.exit(1);
}
