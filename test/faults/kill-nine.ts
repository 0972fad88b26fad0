import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openSqlite } from "../../src/sqlite/store.ts";
import { adult } from "../support/fixture.ts";
import { type Served, startFx } from "../support/run-fx.ts";
import { assertSettledOnce } from "./orders.ts";

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
      const { served, readyMs: tookMs } = await serve(path);
      const { url } = served;
      readyMs.push(tookMs);
      if (round === 0) await openAccounts(url);
      for (const [key, pesel] of unanswered) {
        const answer = await order(url, pesel, key);
        assert.equal(answer.status, 200, `the order sent again: ${answer.text}`);
        answered.set(key, answer.receipt);
        if (answer.replayed) settledBefore += 1;
      }
      unanswered.clear();
      if (round === kills) {
        await served.stop();
        break;
      }
      let killed = false;
      const load = Array.from({ length: clients }, async (_, client) => {
        for (let count = 0; !killed; count += 1) {
          const pesel = adult((client + count) % accounts);
          const key = randomUUID();
          unanswered.set(key, pesel);
          const answer = await order(url, pesel, key).catch(() => undefined);
          if (answer === undefined) continue;
          assert.equal(answer.status, 200, answer.text);
          unanswered.delete(key);
          answered.set(key, answer.receipt);
        }
      });
      await new Promise((done) => setTimeout(done, 150 + (round % 7) * 40));
      served.signal("SIGKILL");
      await served.ended;
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
  await assertSettledOnce(store, answered).finally(() => store.close());
}

/** Starts the server on what the last one left, and waits until it is ready. */
async function serve(path: string): Promise<{ served: Served; readyMs: number }> {
  const started = performance.now();
  const served = await startFx(["--db", `sqlite:${path}`, "--rates", "demo", "--log-level", "error"]);
  while ((await fetch(`${served.url}/health/ready`)).status !== 200) {
    await new Promise((next) => setTimeout(next, 5));
  }
  return { served, readyMs: performance.now() - started };
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
