/**
 * Sends requests of every shape to a server and checks every answer: `npm run fuzz -- --requests N --seed S`. A seed
 * makes requests reproducible. `--db postgres` keeps the ledger in PostgreSQL.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import fc from "fast-check";
import { maskPesels } from "../../src/core/mask.ts";
import { watched, watchMemory } from "../support/memory.ts";
import { createDatabase } from "../support/postgres.ts";
import { runFx, startFx } from "../support/run-fx.ts";
import { faultOf } from "./check.ts";
import { type Answer, Connection } from "./connection.ts";
import { ApiDocument } from "./document.ts";
import { type Asked, anyRequest, type Draft, type Heard, type Role, type Tokens } from "./requests.ts";

/** The most requests of a run, each over a connection of its own. */
const atOnce = 8;

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
    const document = new ApiDocument(await (await fetch(`${server.url}/openapi.json`)).json());
    const play = new Play(server.url, document);
    const startedAt = performance.now();
    try {
      const runs = fc.array(anyRequest(document, tokens), { minLength: 1, maxLength: atOnce });
      const property = fc.asyncProperty(runs, (drafts) => play.run(drafts));
      const details = await fc.check(property, { seed, numRuns: Math.ceil((2 * requests) / (1 + atOnce)) });
      if (details.failed)
        faults.push(`after ${details.numRuns} runs: ${(details.errorInstance as Error).message}`);
    } finally {
      play.close();
      memory.stop();
      const ended = await server.stop();
      if (ended.exit !== 0) faults.push(`fx serve ended with exit ${ended.exit}`);
      for (const leak of leaksIn(ended.stderr + ended.stdout)) faults.push(`in the log: ${leak}`);
    }
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    if (requests >= 10_000) {
      const never = document.operations
        .map(({ operationId }) => operationId)
        .filter((id) => !play.done.has(id));
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

/** Two valid tokens of each role; the invalid ones are a revoked one, unknown ones, and other texts. */
async function makeTokens(file: string): Promise<Tokens> {
  const fx = async (...line: string[]) => {
    const { stdout, stderr, exit } = await runFx(["token", ...line, "--tokens", file]);
    if (exit !== 0) throw new Error(stderr);
    return stdout.trim();
  };
  const two = async (role: Role) => [
    await fx("create", `${role}-1`, "--role", role),
    await fx("create", `${role}-2`, "--role", role, "--expires", "1d"),
  ];
  const valid = { viewer: await two("viewer"), teller: await two("teller"), operator: await two("operator") };
  const revoked = await fx("create", "revoked", "--role", "operator");
  await fx("revoke", "revoked");
  const near = `${valid.operator[0]?.slice(0, -1)}~`;
  return {
    valid,
    invalid: [revoked, near, `fxt_${"Zq7".repeat(16)}a`, "abc", "80010112340", "a".repeat(5000)],
  };
}

/** Sends requests over connections that stay open between runs, and checks their answers. */
class Play {
  /** Number of answers by status, and of connections that ended without one. */
  readonly answers: Record<string, number> = {};
  /** Operations that were answered with a success. */
  readonly done = new Set<string>();
  /** Number of answers, and lines of answers, with a receipt that is not of an earlier request. */
  entries = 0;
  readonly #url: string;
  readonly #document: ApiDocument;
  readonly #heard: Heard = { receipt: [], cursor: [], table: [], checkpoint: undefined };
  readonly #open = new Map<number, Connection>();
  /** The last request that was answered on a connection. */
  readonly #before = new WeakMap<Connection, Asked>();

  constructor(url: string, document: ApiDocument) {
    this.#url = url;
    this.#document = document;
  }

  async run(drafts: readonly Draft[]): Promise<void> {
    const sent = await Promise.allSettled(
      drafts.map((draft, place) => this.#send(place, draft(this.#heard))),
    );
    const failed = sent.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  close(): void {
    for (const connection of this.#open.values()) connection.close();
  }

  async #send(place: number, asked: Asked): Promise<void> {
    const known = this.#open.get(place);
    const connection = known?.isOpen === true ? known : await Connection.open(this.#url);
    this.#open.set(place, connection);
    must(connection.rest === "", `bytes that belong to no answer: ${connection.rest}`, asked);
    connection.write(asked.bytes);
    // The server may wait for more of an invalid request.
    if (!asked.isHttp) connection.end();
    const answer = await connection
      .read(asked.method)
      .catch((error: Error) => must(false, error.message, asked));
    const what = answer === undefined ? "none" : String(answer.status);
    this.answers[what] = (this.answers[what] ?? 0) + 1;
    if (answer === undefined) {
      connection.close();
      // The answer to a large body may be lost, as the server closes the connection before it has read all of it.
      const before = shown(this.#before.get(connection)?.bytes ?? Buffer.from("none"));
      must(!asked.isHttp || asked.body.length > 16_384, `no answer, after ${before}`, asked);
      return;
    }
    this.#before.set(connection, asked);
    const fault = faultOf(asked, answer, this.#document);
    must(fault === undefined, `${fault}\n${shownAnswer(answer)}`, asked);
    if (asked.operation !== undefined && answer.status < 400) this.done.add(asked.operation.operationId);
    this.#hear(answer);
    if (!asked.isHttp || answer.headers.get("connection") === "close") connection.close();
  }

  #hear({ headers, body }: Answer): void {
    if (headers.has("fx-receipt") && !headers.has("idempotency-replayed")) this.entries += 1;
    const isBulk = headers.get("content-type")?.startsWith("application/x-ndjson");
    const lines = isBulk ? body.toString().split("\n") : [];
    this.entries += lines.filter(
      (line) => /^\{"line":.*"receipt":"[^"]/.test(line) && !/"replayed":true/.test(line),
    ).length;
    const keep = (list: string[], text: string | undefined) => {
      if (text !== undefined) list.push(text);
      if (list.length > 50) list.shift();
    };
    const text = body.length < 200_000 ? body.toString() : "";
    keep(this.#heard.receipt, headers.get("fx-receipt")?.split("/").at(-1));
    keep(this.#heard.cursor, /"next":"([^"]+)"/.exec(text)?.[1]);
    keep(this.#heard.table, /"(?:table|tableId)":"([^"]+)"/.exec(text)?.[1]);
    if (text.startsWith('{"checkpoint":')) this.#heard.checkpoint = body;
  }
}

function must(holds: boolean, otherwise: string, asked: Asked | undefined): asserts holds {
  if (!holds) throw new Error(`${otherwise}\n${shown(asked?.bytes ?? Buffer.alloc(0))}`);
}

/** Lines of the log with a token, or with a PESEL in any spelling that was sent. */
function leaksIn(log: string): string[] {
  return log
    .split("\n")
    .map((line) => line.replace(/"time":\d+/, ""))
    .filter((line) => maskPesels(line) !== line || /\d{6}-\d{5}(?!\d)|８００１/.test(line))
    .slice(0, 3);
}

function shown(bytes: Buffer): string {
  const text = bytes
    .toString("latin1")
    .replaceAll(/[^\n -~]/g, (each) => `\\x${each.charCodeAt(0).toString(16).padStart(2, "0")}`);
  return text.length > 4000 ? `${text.slice(0, 4000)}… (${bytes.length} bytes)` : text;
}

function shownAnswer({ status, headers, body }: Answer): string {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  return `--> ${status}\n${lines.join("\n")}\n\n${shown(body).slice(0, 1500)}\n`;
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
