import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { auditLedger } from "../../src/ledger/audit.ts";
import { readJournal } from "../../src/ledger/journal-reader.ts";
import { decodeEntry } from "../../src/ledger/rows.ts";
import type { Store } from "../../src/ledger/store.ts";
import { adult } from "../support/fixture.ts";
import { type HttpAnswer, send } from "../support/http.ts";
import { runSql } from "../support/postgres.ts";
import { type Served, startFx } from "../support/run-fx.ts";
import { until } from "../support/until.ts";

export interface Order {
  readonly pesel: string;
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly toBuy?: number;
  readonly toSell?: number;
}

export interface OrderAnswer extends HttpAnswer {
  /** Id of the exchange; empty without one. */
  readonly receipt: string;
  readonly replayed: boolean;
}

/** Starts a server over a ledger in a file, which ends with the test. */
export async function serveFile(t: TestContext, path: string, cwd = "."): Promise<Served> {
  const server = await startFx(["--db", `sqlite:${path}`, "--rates", "demo", "--log-level", "silent"], {
    cwd,
  });
  t.after(() => server.stop());
  return server;
}

/** Opens an account with 1,000 PLN, and returns the status of the answer. */
export async function openAccount({ url }: { readonly url: string }, pesel = adult()): Promise<number> {
  const body = { name: "Jan", surname: "Kowalski", pesel, pln: 1000 };
  return (await send(url, "POST", "/api/user", { body })).status;
}

/** An order for one US cent. */
export function centOrder(pesel: string, key: string): Order {
  return { pesel, key, from: "PLN", to: "USD", toBuy: 0.01 };
}

export async function sendOrder(url: string, { key, ...body }: Order): Promise<OrderAnswer> {
  const headers = { "content-type": "application/json", "idempotency-key": key };
  const answer = await send(url, "POST", `/api/exchange/${body.pesel}`, { headers, body });
  return {
    ...answer,
    receipt: answer.headers.get("fx-receipt")?.split("/").at(-1) ?? "",
    replayed: answer.headers.has("idempotency-replayed"),
  };
}

/**
 * Asserts that the journal has exactly these requests under keys, as they were answered, and that the audit is clean.
 */
export async function assertSettledOnce(
  store: Store,
  receiptByKey: ReadonlyMap<string, string>,
): Promise<void> {
  const settled = new Map<string, string>();
  for await (const rows of readJournal(store)) {
    for (const { entry } of rows.map(decodeEntry)) {
      const { key, id } = entry;
      if (entry.kind === "opening" && !receiptByKey.has(key ?? "")) continue;
      assert.ok(key !== undefined && !settled.has(key), "one entry for each key");
      settled.set(key, id);
    }
  }
  const { findings } = await auditLedger(store);
  assert.deepEqual(findings, []);
  for (const [key, receipt] of receiptByKey)
    assert.equal(settled.get(key), receipt, "the receipt as answered");
  assert.equal(settled.size, receiptByKey.size, "entries and answers");
}

/** An order of a load, with the times of its request and of its answer in milliseconds since 1970. */
export interface Sent extends OrderAnswer {
  readonly client: number;
  readonly pesel: string;
  readonly key: string;
  readonly sentMs: number;
  readonly answeredMs: number;
}

/**
 * Clients of these servers that send an order under a new key as soon as the last one is answered, until `stop`. What
 * is not settled must be `storage-unavailable`.
 */
export function startLoad(urls: readonly string[], { accounts = 20, clients = 16 } = {}) {
  const all: Sent[] = [];
  let isOver = false;
  const client = async (index: number): Promise<void> => {
    for (let count = 0; !isOver; count += 1) {
      const pesel = adult((index + count) % accounts);
      const key = randomUUID();
      const sentMs = Date.now();
      const answer = await sendOrder(urls[index % urls.length] ?? "", centOrder(pesel, key));
      if (answer.status !== 200) assert.match(answer.text, /storage-unavailable/);
      all.push({ ...answer, client: index, pesel, key, sentMs, answeredMs: Date.now() });
      await pause(10);
    }
  };
  const running = Promise.all(Array.from({ length: clients }, (_, index) => client(index)));
  running.catch(() => {});
  return {
    sent: all,
    settled: () => all.filter(({ status }) => status === 200),
    stop: async () => {
      isOver = true;
      await running;
    },
  };
}

/** Waits until a query returns a row. */
export async function untilRow(url: string, query: string): Promise<void> {
  await until(async () => (await runSql(url, query)).length > 0);
}

/** Median and maximum of times in milliseconds. */
export function summary(times: readonly number[]): { readonly median: number; readonly max: number } {
  const sorted = times.map(Math.round).sort((a, b) => a - b);
  return { median: sorted[Math.floor(sorted.length / 2)] ?? 0, max: sorted.at(-1) ?? 0 };
}
