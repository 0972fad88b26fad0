import { parseArgs } from "node:util";
import { openSqlite } from "../../src/sqlite/store.ts";
import { simulate, surviving } from "./simulate.ts";

const { values } = parseArgs({
  options: { seeds: { type: "string", default: "1000" }, from: { type: "string", default: "1" } },
});
const first = Number(values.from);
const last = first + Number(values.seeds) - 1;
for (let seed = first; seed <= last; seed += 1) {
  await simulate(seed, surviving(openSqlite(":memory:")));
  if (process.stderr.isTTY) process.stderr.write(`\r${seed - first + 1} of ${values.seeds}`);
}
process.stdout.write(
  `${values.seeds} seeds, ${first} to ${last}: every answer and every account as in the model\n`,
);
