import assert from "node:assert/strict";
import { auditLedger } from "../../src/ledger/audit.ts";
import { readJournal } from "../../src/ledger/journal-reader.ts";
import { decodeEntry } from "../../src/ledger/rows.ts";
import type { Store } from "../../src/ledger/store.ts";
import { type HttpAnswer, send } from "../support/http.ts";

export interface Order {
  readonly pesel: string;
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly toBuy?: number;
  readonly toSell?: number;
}

export interface OrderAnswer extends HttpAnswer {
  /** The id of the exchange; empty if there is none. */
  readonly receipt: string;
  readonly replayed: boolean;
}

/** One cent's worth of dollars, under its key. */
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
 * Checks that the journal has each of these requests once, as it was answered, and no other with a key, and that the
 * audit is clean.
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

/** Of times in milliseconds. */
export function summary(times: readonly number[]): { readonly median: number; readonly max: number } {
  const sorted = times.map(Math.round).sort((a, b) => a - b);
  return { median: sorted[Math.floor(sorted.length / 2)] ?? 0, max: sorted.at(-1) ?? 0 };
}
