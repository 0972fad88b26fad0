import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { EntryKind } from "../../src/core/journal.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { adult } from "../support/fixture.ts";
import { type Served, startFx } from "../support/run-fx.ts";
import { assertSettledOnce } from "./orders.ts";

const accounts = 20;
const clients = 32;

export interface KillReport {
  readonly kills: number;
  /** How many requests of each kind. */
  readonly answered: Readonly<Record<string, number>>;
  /** Requests whose first answer never came, which were sent again with their keys. */
  readonly unanswered: number;
  /** Of those, how many of each kind had been settled before the kill. */
  readonly settledBeforeTheKill: Readonly<Record<string, number>>;
  readonly readyMs: { readonly median: number; readonly max: number };
}

/**
 * Kills `fx serve --db sqlite:…` with SIGKILL under a load of every kind of request, `kills` times, and sends every
 * request that was not answered again with its key. Then each must be in the journal exactly once, as it was answered,
 * and the audit clean.
 */
export async function killNine(kills: number): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), "fx-kill-nine-"));
  const path = join(folder, "ledger.db");
  /** Receipt by key, of every request that was answered. */
  const answered = new Map<string, string>();
  const unanswered = new Map<string, Asked>();
  const askers = Array.from({ length: clients }, (_, client) => new Client(client));
  const readyMs: number[] = [];
  const kinds: Record<string, number> = {};
  const settledBefore: Record<string, number> = {};
  let lost = 0;
  try {
    for (let round = 0; round <= kills; round += 1) {
      const { served, readyMs: tookMs } = await serve(path);
      const { url } = served;
      readyMs.push(tookMs);
      if (round === 0) await openAccounts(url);
      for (const [key, asked] of unanswered) {
        const answer = await ask(url, asked, key);
        assert.equal(answer.status, asked.status, `${asked.kind} sent again: ${answer.text}`);
        answered.set(key, answer.receipt);
        count(kinds, asked.kind);
        if (answer.replayed) count(settledBefore, asked.kind);
      }
      unanswered.clear();
      if (round === kills) {
        await served.stop();
        break;
      }
      let killed = false;
      const load = askers.map(async (client) => {
        while (!killed) {
          const asked = client.next();
          const key = randomUUID();
          unanswered.set(key, asked);
          const answer = await ask(url, asked, key).catch(() => undefined);
          if (answer === undefined) continue;
          assert.equal(answer.status, asked.status, `${asked.kind}: ${answer.text}`);
          unanswered.delete(key);
          answered.set(key, answer.receipt);
          count(kinds, asked.kind);
          client.done(asked, answer.receipt);
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
      answered: kinds,
      unanswered: lost,
      settledBeforeTheKill: settledBefore,
      readyMs: { median: readyMs[Math.floor(readyMs.length / 2)] ?? 0, max: readyMs.at(-1) ?? 0 },
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function count(counts: Record<string, number>, kind: EntryKind): void {
  counts[kind] = (counts[kind] ?? 0) + 1;
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
  for (let index = 0; index < accounts + clients; index += 1) {
    const pln = index < accounts ? 1_000_000_000 : 0;
    const body = { name: "Jan", surname: "Kowalski", pesel: adult(index), pln };
    assert.equal((await post(`${url}/api/user`, body)).status, 204);
  }
}

interface Asked {
  readonly kind: EntryKind;
  readonly path: string;
  readonly body: object;
  /** Of the answer, which is never a refusal. */
  readonly status: 200 | 204;
}

/** Asks for each kind in turn, and closes and opens an account of its own. */
class Client {
  readonly #own: string;
  #count: number;
  #isClosed = false;
  /** Receipts that can be reversed. */
  readonly #undoable: string[] = [];

  constructor(nth: number) {
    this.#own = adult(accounts + nth);
    this.#count = nth;
  }

  next(): Asked {
    this.#count += 1;
    const pesel = adult(this.#count % accounts);
    const name = `Jan ${this.#count}`;
    const cash = { amount: 0.01, currency: "PLN" };
    const account = (kind: EntryKind, last: string, body: object): Asked => {
      return { kind, path: `/api/user/${pesel}/${last}`, body, status: 200 };
    };
    switch (this.#count % 6) {
      case 0:
        return account("deposit", "deposits", cash);
      case 1:
        return account("withdrawal", "withdrawals", cash);
      case 2:
        return account("renaming", "name", { name, surname: "Kowalski" });
      case 3: {
        this.#isClosed = !this.#isClosed;
        if (this.#isClosed) {
          return { kind: "closing", path: `/api/user/${this.#own}/closing`, body: {}, status: 200 };
        }
        const body = { name, surname: "Nowak", pesel: this.#own, pln: 0 };
        return { kind: "opening", path: "/api/user", body, status: 204 };
      }
      case 4: {
        const id = this.#undoable.pop();
        if (id !== undefined) {
          return {
            kind: "reversal",
            path: `/api/receipts/${id}/reversal`,
            body: { reason: "a slip" },
            status: 200,
          };
        }
      }
    }
    const body = { pesel, from: "PLN", to: "USD", toBuy: 0.01 };
    return { kind: "exchange", path: `/api/exchange/${pesel}`, body, status: 200 };
  }

  done({ kind }: Asked, receipt: string): void {
    if (["exchange", "deposit", "withdrawal"].includes(kind)) this.#undoable.push(receipt);
  }
}

async function ask(url: string, { path, body }: Asked, key: string) {
  const response = await post(`${url}${path}`, body, { "idempotency-key": key });
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
