/**
 * Sends requests of every shape to a server and checks every answer: `npm run fuzz -- --requests N --seed S`. A seed
 * makes requests reproducible. `--db postgres` keeps the ledger in PostgreSQL.
 */
import { parseArgs } from "node:util";
import { fuzz } from "./fuzz.ts";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "20000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
    db: { type: "string", default: "sqlite" },
  },
});
const { requests, seed, db } = values;
const { report, faults } = await fuzz({ requests: Number(requests), seed: Number(seed), db });
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
for (const fault of faults) process.stderr.write(`\n${fault}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
