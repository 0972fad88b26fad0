import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { EntryKind } from "../../src/core/journal.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { type Answer, type Asked, overHttp } from "../support/channels.ts";
import { adult } from "../support/fixture.ts";
import { type Served, startFx } from "../support/run-fx.ts";
import { until } from "../support/until.ts";
import { assertSettledOnce } from "./orders.ts";

const accounts = 20;
const clients = 32;
/** Every kind of request is answered several times before a kill. */
const answersBeforeAKill = 200;

export interface KillReport {
  readonly kills: number;
  /** Number of answered requests by kind. */
  readonly answered: Readonly<Record<string, number>>;
  /** Requests without a first answer, which were repeated with their keys. */
  readonly unanswered: number;
  /** Unanswered requests, by kind, that had been settled before the kill. */
  readonly settledBeforeTheKill: Readonly<Record<string, number>>;
  readonly readyMs: { readonly median: number; readonly max: number };
}

/**
 * Kills `fx serve --db sqlite:…` with SIGKILL `kills` times under a load of every kind of request, and repeats every
 * unanswered request with its key. Each must then be in the journal exactly once, as it was answered, and the audit
 * clean.
 */
export async function killNine(kills: number): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), "fx-kill-nine-"));
  const path = join(folder, "ledger.db");
  /** Receipts of answered requests by key. */
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
      const ask = overHttp(url);
      readyMs.push(tookMs);
      if (round === 0) await openAccounts(url);
      for (const [key, asked] of unanswered) {
        const answer = await ask({ ...asked, key });
        answered.set(key, receiptOf(answer));
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
          const answer = await ask({ ...asked, key }).catch(() => undefined);
          if (answer === undefined) continue;
          const receipt = receiptOf(answer);
          unanswered.delete(key);
          answered.set(key, receipt);
          count(kinds, asked.kind);
          client.done(asked, receipt);
        }
      });
      const before = answered.size;
      while (answered.size < before + answersBeforeAKill) await Promise.race([pause(5), ...load]);
      await pause(Math.random() * 40);
      served.signal("SIGKILL");
      await served.ended;
      killed = true;
      await Promise.all(load);
      lost += unanswered.size;
    }
    const store = openSqlite(path);
    await assertSettledOnce(store, answered).finally(() => store.close());
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

/** Restarts the server on the same ledger and waits until it is ready. */
async function serve(path: string): Promise<{ served: Served; readyMs: number }> {
  const started = performance.now();
  const served = await startFx(["--db", `sqlite:${path}`, "--rates", "demo", "--log-level", "error"]);
  await until(async () => (await fetch(`${served.url}/health/ready`)).status === 200);
  return { served, readyMs: performance.now() - started };
}

async function openAccounts(url: string): Promise<void> {
  const ask = overHttp(url);
  for (let index = 0; index < accounts + clients; index += 1) {
    const pln = index < accounts ? "1000000000" : "0";
    receiptOf(await ask({ kind: "opening", pesel: adult(index), name: "Jan", surname: "Kowalski", pln }));
  }
}

/** The receipt of an answer; no request is to be refused. */
function receiptOf({ told }: Answer): string {
  assert.ok("receipt" in told && told.receipt !== undefined, JSON.stringify(told));
  return told.receipt;
}

/** Sends every kind of request in turn; what changes the state of an account, to one of its own. */
class Client {
  readonly #own: string;
  #count: number;
  #turns = 0;
  /** Receipts that can be reversed. */
  readonly #undoable: string[] = [];

  constructor(nth: number) {
    this.#own = adult(accounts + nth);
    this.#count = nth;
  }

  next(): Asked {
    this.#count += 1;
    const pesel = adult(this.#count % accounts);
    const name = { name: `Jan ${this.#count}`, surname: "Kowalski" };
    const cash = { pesel, amount: "0.01", currency: "PLN" };
    const receipt = this.#count % 6 === 4 ? this.#undoable.pop() : undefined;
    if (receipt !== undefined) return { kind: "reversal", pesel, receipt, reason: "a slip" };
    switch (this.#count % 6) {
      case 0:
        return { kind: "deposit", ...cash };
      case 1:
        return { kind: "withdrawal", ...cash };
      case 2:
        return { kind: "renaming", pesel, ...name };
      case 3:
        return this.#nextOfOwn(name);
      default:
        return { kind: "exchange", pesel, from: "PLN", to: "USD", toBuy: "0.01" };
    }
  }

  /** Closes the account, opens it again, blocks and unblocks it. */
  #nextOfOwn(name: { name: string; surname: string }): Asked {
    const pesel = this.#own;
    const kinds = ["closing", "opening", "block", "unblock"] as const;
    const kind = kinds[this.#turns % kinds.length] ?? "closing";
    this.#turns += 1;
    if (kind === "opening") return { kind, pesel, ...name, pln: "0" };
    return kind === "closing" ? { kind, pesel } : { kind, pesel, reason: "a freeze" };
  }

  done({ kind }: Asked, receipt: string): void {
    if (["exchange", "deposit", "withdrawal"].includes(kind)) this.#undoable.push(receipt);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { kills: { type: "string", default: "50" } } });
  process.stdout.write(`${JSON.stringify(await killNine(Number(values.kills)), null, 2)}\n`);
}
