import assert from "node:assert/strict";
import { FxError } from "../../src/core/errors.ts";
import type { CurrentRates, TableLedger } from "../../src/core/rates.ts";
import { type FetchLimits, openApi } from "../../src/rates/nbp.ts";
import { openRates, type RatesOptions } from "../../src/rates/open.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { identified, putInForce } from "./fixture.ts";
import { type NbpStandIn, startNbpStandIn } from "./nbp-stand-in.ts";
import { publishedOf, ratesEvents } from "./rates.ts";

export const noon = new Date("2026-06-09T10:00:00Z");
export const minute = 60_000;
export const older = publishedOf("108/C/NBP/2026", "2026-06-08", { USD: [4, 4.08] });
export const newer = publishedOf("109/C/NBP/2026", "2026-06-09", { USD: [4.01, 4.09] });
export const json = (...tables: (object | string)[]) =>
  tables.map((table) => (typeof table === "string" ? table : JSON.stringify(table)));
/** Short limits, for a bank that does not answer in time. */
export const impatient = { limits: { responseTimeoutMs: 50, requestTimeoutMs: 100 } };
const cleanups: (() => Promise<void>)[] = [];

/** Closes everything that a test has opened; for afterEach. */
export async function closeAll(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}

/** A stand-in for the bank with these tables, as objects or as texts. */
export async function standIn(...tables: (object | string)[]): Promise<NbpStandIn> {
  const bank = await startNbpStandIn(json(...tables));
  cleanups.push(() => bank.close());
  return bank;
}

interface LiveOptions extends Partial<RatesOptions> {
  readonly limits?: Partial<FetchLimits>;
  /** The bank's table that the ledger has in force. */
  readonly inForce?: object;
}

/** Rates of `bank` at noon of 9 June 2026 that refresh every 10 ms, with their events and their ledger. */
export async function openLive(bank: NbpStandIn, { limits, inForce, ...options }: LiveOptions = {}) {
  const events = ratesEvents();
  const { now = () => noon } = options;
  bank.clock = now;
  const ledger = options.ledger ?? openSqlite(":memory:");
  if (inForce !== undefined) await putInForce(ledger, identified(inForce, bank.url));
  const rates = await openRates({
    source: openApi(bank.url, limits),
    ledger,
    role: "serve",
    now,
    elapsedMs: () => now().getTime(),
    onEvent: events.onEvent,
    refreshMs: 10,
    retryMs: 10,
    newerTableMs: 60_000,
    ...options,
  });
  cleanups.push(() => rates.close());
  return Object.assign(rates, { events, ledger });
}

/** Asserts that no quote is available, and returns the error. */
export async function unavailable(rates: CurrentRates): Promise<FxError> {
  const error = await rates.forQuote().catch((error: unknown) => error);
  assert.ok(error instanceof FxError, "a table is in force");
  assert.equal(error.code, "rates-unavailable");
  return error;
}

/** Number of the table that orders settle at. */
export async function traded(rates: CurrentRates & { readonly ledger: TableLedger }): Promise<string> {
  return rates.forOrder(await rates.ledger.inForce()).number;
}

/** Number of the table that quotes use. */
export async function quoted(rates: CurrentRates): Promise<string> {
  return (await rates.forQuote()).number;
}

/** A ledger that can fail on demand and counts its reads. */
export function faultyLedger(store: TableLedger = openSqlite(":memory:")) {
  let works = true;
  let reads = 0;
  const unlessBroken = <T>(work: () => Promise<T>): Promise<T> => {
    reads += 1;
    if (works) return work();
    return Promise.reject(new FxError("storage-unavailable", "The store failed: the disk is full."));
  };
  const ledger: TableLedger = {
    inForce: () => unlessBroken(() => store.inForce()),
    acceptedTables: () => unlessBroken(() => store.acceptedTables()),
    acceptTable: (table, accepted) => unlessBroken(() => store.acceptTable(table, accepted)),
    saveTables: (tables) => unlessBroken(() => store.saveTables(tables)),
    tables: (range) => unlessBroken(() => store.tables(range)),
  };
  return {
    ledger,
    store,
    reads: () => reads,
    works: (can: boolean) => {
      works = can;
    },
  };
}
