/**
 * Sends requests of every shape to a server and checks every answer: `npm run fuzz -- --requests N --seed S`. The same
 * seed makes the same requests. `--db postgres` keeps the ledger in PostgreSQL.
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
const { faults, ...report } = await fuzz({
  requests: Number(values.requests),
  seed: Number(values.seed),
  db: values.db === "postgres" ? "postgres" : "sqlite",
});
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
for (const fault of faults) process.stderr.write(`\n${fault}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
