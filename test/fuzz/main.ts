/**
 * Sends requests of every shape to a server and checks every answer: `npm run fuzz -- --requests N --seed S`. A seed
 * makes requests reproducible. `--db postgres` keeps the ledger in PostgreSQL.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { operations } from "../../src/wire/operations.ts";
import { watched, watchMemory } from "../support/memory.ts";
import { createDatabase } from "../support/postgres.ts";
import { runFx, startFx } from "../support/run-fx.ts";
import { leaksIn, makeTokens, Play } from "./play.ts";

/**
 * Sends about this many random requests, made from the OpenAPI document, to the built `fx serve` with tokens. Checks
 * every answer against the document, and at the end that every operation was done, the audit, that what was refused or
 * replayed made no entry, the memory, and that the log has no PESEL and no token. Returns figures, and the faults that
 * were found; requests are shrunk to few.
 */
async function fuzz(
  requests: number,
  seed: number,
  db: string,
): Promise<{ report: object; faults: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), "fx-fuzz-"));
  const database = db === "postgres" ? await createDatabase() : undefined;
  const place = database?.url ?? `sqlite:${join(folder, "fx.db")}`;
  const faults: string[] = [];
  try {
    const file = join(folder, "tokens.json");
    const tokens = await makeTokens(file);
    const args = ["--rates", "demo", "--tokens", file, "--log-level", "debug"];
    const server = await startFx(args, { env: { FX_DB: place, ...watched } });
    const memory = watchMemory(server.url, tokens.valid.operator[0]);
    const play = new Play(server.url);
    const startedAt = performance.now();
    try {
      const fault = await play.run(requests, tokens, seed);
      if (fault !== undefined) faults.push(fault);
    } finally {
      memory.stop();
      const ended = await server.stop();
      if (ended.exit !== 0) faults.push(`fx serve ended with exit ${ended.exit}`);
      for (const leak of leaksIn(ended.stderr + ended.stdout).slice(0, 3)) faults.push(`in the log: ${leak}`);
    }
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    if (requests >= 10_000) {
      const never = Object.keys(operations).filter((id) => !play.done.has(id));
      if (never.length > 0) faults.push(`never answered with a success: ${never.join(", ")}`);
    }
    if (!memory.isFlat()) faults.push(`the memory grows: ${JSON.stringify(memory.report())}`);
    const audit = await runFx(["audit", "--json"], { env: { FX_URL: place } });
    if (audit.exit !== 0) faults.push(`fx audit: exit ${audit.exit}: ${audit.stdout}${audit.stderr}`);
    const { entries } = JSON.parse(audit.stdout);
    if (entries !== play.entries) faults.push(`${entries} entries, and ${play.entries} answered as new`);
    const report = { seed, seconds, answers: play.answers, memory: memory.report() };
    return { report, faults };
  } finally {
    await database?.drop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "20000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
    db: { type: "string", default: "sqlite" },
  },
});
const { requests, seed, db } = values;
const { report, faults } = await fuzz(Number(requests), Number(seed), db);
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
for (const fault of faults) process.stderr.write(`\n${fault}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
