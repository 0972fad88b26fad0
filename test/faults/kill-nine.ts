import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { auditLedger } from "../../src/ledger/audit.ts";
import { readJournal } from "../../src/ledger/journal-reader.ts";
import { openSqlite } from "../../src/ledger/sqlite.ts";
import { adult } from "../support/fixture.ts";

const fx = fileURLToPath(new URL("../../bin/fx.js", import.meta.url));
const accounts = 20;
const clients = 32;

export interface KillReport {
  readonly kills: number;
  readonly answered: number;
  /** Orders whose first answer never came, which were sent again with their keys. */
  readonly unanswered: number;
  /** Of those, how many had been settled before the kill. */
  readonly settledBeforeTheKill: number;
  readonly readyMs: { readonly median: number; readonly max: number };
}

/**
 * Kills `fx serve --db sqlite:…` with SIGKILL under load, `kills` times, and sends every order that was not answered
 * again with its key. Then each order must be in the journal exactly once, as it was answered, and the audit clean.
 */
export async function killNine(kills: number): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), "fx-kill-nine-"));
  const path = join(folder, "ledger.db");
  /** Receipt by key, of every order that was answered 200. */
  const answered = new Map<string, string>();
  const unanswered = new Map<string, string>();
  const readyMs: number[] = [];
  let settledBefore = 0;
  let lost = 0;
  try {
    for (let round = 0; round <= kills; round += 1) {
      const server = await serve(path);
      readyMs.push(server.readyMs);
      if (round === 0) await openAccounts(server.url);
      for (const [key, pesel] of unanswered) {
        const answer = await order(server.url, pesel, key);
        assert.equal(answer.status, 200, `the order sent again: ${answer.text}`);
        answered.set(key, answer.receipt);
        if (answer.replayed) settledBefore += 1;
      }
      unanswered.clear();
      if (round === kills) {
        await stop(server.process, "SIGTERM");
        break;
      }
      let killed = false;
      const load = Array.from({ length: clients }, async (_, client) => {
        for (let count = 0; !killed; count += 1) {
          const pesel = adult((client + count) % accounts);
          const key = randomUUID();
          unanswered.set(key, pesel);
          const answer = await order(server.url, pesel, key).catch(() => undefined);
          if (answer === undefined) continue;
          assert.equal(answer.status, 200, answer.text);
          unanswered.delete(key);
          answered.set(key, answer.receipt);
        }
      });
      await new Promise((done) => setTimeout(done, 150 + (round % 7) * 40));
      const dead = stop(server.process, "SIGKILL");
      await dead;
      killed = true;
      await Promise.all(load);
      lost += unanswered.size;
    }
    await check(path, answered);
    readyMs.sort((a, b) => a - b);
    return {
      kills,
      answered: answered.size,
      unanswered: lost,
      settledBeforeTheKill: settledBefore,
      readyMs: { median: readyMs[Math.floor(readyMs.length / 2)] ?? 0, max: readyMs.at(-1) ?? 0 },
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function check(path: string, answered: ReadonlyMap<string, string>): Promise<void> {
  const store = openSqlite(path);
  const receipts = new Map<string, string>();
  for await (const rows of readJournal(store)) {
    for (const { kind, key, id } of rows) {
      if (kind !== "exchange") continue;
      assert.ok(key !== null && !receipts.has(key), "one entry for each key");
      receipts.set(key, id);
    }
  }
  const report = await auditLedger(store);
  await store.close();
  assert.deepEqual(report.findings, []);
  assert.equal(receipts.size, answered.size, "entries and answers");
  for (const [key, receipt] of answered)
    assert.equal(receipts.get(key), receipt, "the receipt that was answered");
}

async function serve(path: string): Promise<{ process: ChildProcess; url: string; readyMs: number }> {
  const started = performance.now();
  const server = spawn(
    process.execPath,
    [fx, "serve", "--port", "0", "--db", `sqlite:${path}`, "--rates", "demo"],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  let output = "";
  for await (const chunk of server.stdout.setEncoding("utf8")) {
    output += chunk;
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0];
    if (url === undefined) continue;
    server.stdout.on("error", () => {}).resume();
    while ((await fetch(`${url}/health/ready`)).status !== 200)
      await new Promise((next) => setTimeout(next, 5));
    return { process: server, url, readyMs: performance.now() - started };
  }
  throw new Error(`fx serve did not start: ${output}`);
}

function stop(server: ChildProcess, signal: NodeJS.Signals): Promise<unknown> {
  const ended = new Promise((done) => server.once("exit", done));
  server.kill(signal);
  return ended;
}

async function openAccounts(url: string): Promise<void> {
  for (let index = 0; index < accounts; index += 1) {
    const body = { name: "Jan", surname: "Kowalski", pesel: adult(index), pln: 1_000_000_000 };
    assert.equal((await post(`${url}/api/user`, body)).status, 204);
  }
}

async function order(url: string, pesel: string, key: string) {
  const body = { pesel, from: "PLN", to: "USD", toBuy: 0.01 };
  const response = await post(`${url}/api/exchange/${pesel}`, body, { "idempotency-key": key });
  return {
    status: response.status,
    text: await response.text(),
    receipt: response.headers.get("fx-receipt")?.split("/").at(-1) ?? "",
    replayed: response.headers.has("idempotency-replayed"),
  };
}

function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { kills: { type: "string", default: "50" } } });
  process.stdout.write(`${JSON.stringify(await killNine(Number(values.kills)), null, 2)}\n`);
}
