import { benchCli } from "./cli.ts";
import { benchHttp } from "./http.ts";
import { benchScale } from "./scale.ts";

const [what = "http", ...args] = process.argv.slice(2);
const benches: Record<string, (args: readonly string[]) => Promise<void>> = {
  http: benchHttp,
  scale: benchScale,
  cli: benchCli,
};
const bench = benches[what];
if (bench === undefined)
  throw new Error(`There is no bench ${what}. There are ${Object.keys(benches).join(", ")}.`);
await bench(args).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  // Servers that were started end with this process.
  process.exit(1);
});
