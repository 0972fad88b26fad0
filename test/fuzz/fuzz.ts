import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { maskPesels } from "../../src/core/mask.ts";
import { watched, watchMemory } from "../support/memory.ts";
import { createDatabase } from "../support/postgres.ts";
import { runFx, startFx } from "../support/run-fx.ts";
import { faultOf } from "./check.ts";
import { type Answer, Connection } from "./connection.ts";
import { ApiDocument } from "./document.ts";
import { type Asked, makeRequest, type Role, type Tokens } from "./requests.ts";
import { Heard } from "./values.ts";

const clients = 64;
/** Every so often a client sends a few requests at once. */
const pipeline = { every: 8, requests: 4 };
const mostFaults = 10;

export interface FuzzReport {
  readonly seed: number;
  readonly requests: number;
  readonly seconds: number;
  /** How many answers there were of each status, and ends of the connection without one. */
  readonly answers: Readonly<Record<string, number>>;
  /** In MB, between the warm-up and the end. */
  readonly memory: object;
  readonly audit: string;
  /** Each with the request that met it. */
  readonly faults: readonly string[];
}

/**
 * Sends requests of every shape, made from the OpenAPI document, to the built `fx serve` with tokens in force, and
 * checks every answer against the document; then the audit, the memory, and that the log has no PESEL and no token.
 */
export async function fuzz({
  requests,
  seed,
  db = "sqlite",
}: {
  readonly requests: number;
  readonly seed: number;
  readonly db?: "sqlite" | "postgres" | undefined;
}): Promise<FuzzReport> {
  const folder = mkdtempSync(join(tmpdir(), "fx-fuzz-"));
  const database = db === "postgres" ? await createDatabase() : undefined;
  const place = database?.url ?? `sqlite:${join(folder, "fx.db")}`;
  const faults: string[] = [];
  const answers: Record<string, number> = {};
  try {
    const file = join(folder, "tokens.json");
    const tokens = await makeTokens(file);
    const args = ["--rates", "demo", "--tokens", file, "--log-level", "debug"];
    const server = await startFx(args, { env: { FX_DB: place, ...watched } });
    const { url } = server;
    const memory = watchMemory(url, tokens.valid.operator[0]);
    const startedAt = performance.now();
    try {
      const document = new ApiDocument(await (await fetch(`${url}/openapi.json`)).json());
      let sent = 0;
      const told = new Set<string>();
      const onFault = (nth: number, asked: Asked, fault: string, answer?: Answer) => {
        const kind = `${asked.operation?.operationId ?? "elsewhere"}: ${fault.slice(0, 60)}`;
        if (told.has(kind) || faults.length >= mostFaults) return;
        told.add(kind);
        faults.push(
          `request ${nth} of seed ${seed}: ${fault}\n${shown(asked.bytes)}\n${answer ? shownAnswer(answer) : ""}`,
        );
      };
      const count = (what: string) => {
        answers[what] = (answers[what] ?? 0) + 1;
        sent += 1;
        if (sent % 10_000 === 0) process.stderr.write(`${sent} of ${requests}, ${faults.length} faults\n`);
      };
      const client = async (first: number) => {
        const heard = new Heard();
        const session = new Session(url, (nth, asked, answer) => {
          count(answer === undefined ? "none" : String(answer.status));
          if (answer === undefined) return;
          hear(heard, answer);
          const fault = faultOf(asked, answer, document);
          if (fault !== undefined) onFault(nth, asked, fault, answer);
        });
        for (let round = 0, nth = first; nth < requests && faults.length < mostFaults; round += 1) {
          const batch: [number, Asked][] = [];
          for (
            let more = round % pipeline.every === 0 ? pipeline.requests : 1;
            more > 0 && nth < requests;
            more -= 1
          ) {
            batch.push([nth, makeRequest({ seed, nth, document, heard, tokens })]);
            nth += clients;
          }
          await session.send(batch, onFault);
        }
        session.close();
      };
      await Promise.all(Array.from({ length: clients }, (_, nth) => client(nth)));
    } finally {
      memory.stop();
      const ended = await server.stop();
      if (ended.exit !== 0) faults.push(`fx serve ended with exit ${ended.exit}`);
      for (const leak of leaksIn(ended.stderr + ended.stdout)) faults.push(`in the log: ${leak}`);
    }
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    if (!memory.isFlat()) faults.push(`the memory grows: ${JSON.stringify(memory.report())}`);
    const audit = await runFx(["audit", "--json"], { env: { FX_URL: place } });
    if (audit.exit !== 0) faults.push(`fx audit: exit ${audit.exit}: ${audit.stdout}${audit.stderr}`);
    return {
      seed,
      requests,
      seconds,
      answers,
      memory: memory.report(),
      audit: oneLine(audit.stdout),
      faults,
    };
  } finally {
    await database?.drop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Of each role two that count; of the others one that was revoked, one that was never made, and no tokens at all. */
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

type OnFault = (nth: number, asked: Asked, fault: string, answer?: Answer) => void;

/** One client's connection, which is opened again where the server has closed it. */
class Session {
  readonly #url: string;
  readonly #onAnswer: (nth: number, asked: Asked, answer: Answer | undefined) => void;
  #connection: Connection | undefined;
  /** The last that was answered on the connection. */
  #before: Asked | undefined;

  constructor(url: string, onAnswer: (nth: number, asked: Asked, answer: Answer | undefined) => void) {
    this.#url = url;
    this.#onAnswer = onAnswer;
  }

  /** Sends requests without waiting for answers in between, and the rest again where an answer ends the connection. */
  async send(batch: readonly [number, Asked][], onFault: OnFault): Promise<void> {
    let rest = batch;
    while (rest.length > 0) {
      if (this.#connection?.isOpen !== true) this.#connection = await Connection.open(this.#url);
      const connection = this.#connection;
      const [[nth, asked]] = rest as [[number, Asked]];
      if (connection.rest !== "")
        onFault(nth, asked, `before it came what belongs to no answer: ${connection.rest}`);
      const now = rest.slice(0, rest.findIndex(([, { isHttp }]) => !isHttp) + 1 || rest.length);
      connection.write(Buffer.concat(now.map(([, { bytes }]) => bytes)));
      // The server may wait for more of what is not HTTP. Requests before it would not be answered after an end.
      if (!asked.isHttp) connection.end();
      const answered = await this.#read(connection, now, onFault);
      rest = rest.slice(answered);
    }
  }

  /** Gives how many requests are done with. */
  async #read(connection: Connection, batch: readonly [number, Asked][], onFault: OnFault): Promise<number> {
    for (const [index, [nth, asked]] of batch.entries()) {
      let answer: Answer | undefined;
      try {
        answer = await connection.read(asked.method);
      } catch (error) {
        onFault(nth, asked, (error as Error).message);
      }
      this.#onAnswer(nth, asked, answer);
      // The answer to a large body may be lost: the connection is closed before all of it has arrived.
      if (answer === undefined && asked.isHttp && asked.body.length <= 16_384) {
        onFault(
          nth,
          asked,
          `no answer, after ${this.#before === undefined ? "none" : shown(this.#before.bytes)}`,
        );
      }
      this.#before = asked;
      if (!asked.isHttp || answer === undefined || answer.headers.get("connection") === "close") {
        connection.close();
        this.#connection = undefined;
        this.#before = undefined;
        return index + 1;
      }
    }
    return batch.length;
  }

  close(): void {
    this.#connection?.close();
  }
}

function hear(heard: Heard, { headers, body }: Answer): void {
  const receipt = headers.get("fx-receipt")?.split("/").at(-1);
  if (receipt !== undefined) Heard.keep(heard.receipts, receipt);
  const text = body.length < 200_000 ? body.toString() : "";
  const [, cursor] = /"next":"([^"]+)"/.exec(text) ?? [];
  if (cursor !== undefined) Heard.keep(heard.cursors, cursor);
  for (const name of ["table", "tableId"]) {
    const [, table] = new RegExp(`"${name}":"([^"]+)"`).exec(text) ?? [];
    if (table !== undefined) Heard.keep(heard.tables, table);
  }
  if (text.startsWith('{"checkpoint":')) heard.checkpoint = body;
}

/** Lines of the log with a PESEL, in any of the spellings that were sent, or with a token. */
function leaksIn(log: string): string[] {
  const leaks: string[] = [];
  for (let start = 0; start < log.length && leaks.length < 3; ) {
    const end = log.indexOf("\n", start);
    const line = log.slice(start, end < 0 ? log.length : end).replace(/"time":\d+/, "");
    if (maskPesels(line) !== line || /\d{6}-\d{5}(?!\d)|８００１/.test(line)) leaks.push(line);
    start = end < 0 ? log.length : end + 1;
  }
  return leaks;
}

function shown(bytes: Buffer): string {
  const text = bytes
    .toString("latin1")
    .replaceAll(/[^\n -~]/g, (each) =>
      each === "\r" ? "" : `\\x${each.charCodeAt(0).toString(16).padStart(2, "0")}`,
    );
  return text.length > 20_000 ? `${text.slice(0, 20_000)}… (${bytes.length} bytes)` : text;
}

function shownAnswer({ status, headers, body }: Answer): string {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  return `--> ${status}\n${lines.join("\n")}\n\n${shown(body).slice(0, 1500)}\n`;
}

const oneLine = (json: string) => json.trim().replaceAll(/\s+/g, " ");
