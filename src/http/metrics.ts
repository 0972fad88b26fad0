import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { type CurrencyCode, pln } from "../core/currency.ts";
import { startOfDay } from "../core/date.ts";
import { answerCodes, FxError } from "../core/errors.ts";
import { type EntryKind, entryKinds } from "../core/journal.ts";
import { knownDigits, type Money } from "../core/money.ts";
import { fetchOutcomes, type RatesStatus, type RateTable } from "../core/rates.ts";
import type { BulkAnswer, BulkLine, Commits, Recorded } from "../core/service.ts";
import type { ReadyJson } from "../wire/server.ts";
import { toFxError } from "./errors.ts";

export type Metrics = ReturnType<typeof openMetrics>;

/** A request as far as it was read; an order has its pair. */
type Asked = object & { readonly from?: CurrencyCode; readonly to?: CurrencyCode };

/** Facts about the process, for probes and metrics. */
export interface Probes {
  /** The version of fx. */
  readonly version: string;
  readonly store: ReadyJson["store"];
  /** The newest schema that this fx knows. */
  readonly schemaVersion: number;
  /** Fails unless the store answers now. */
  ping(): Promise<void>;
  rates(): RatesStatus;
  readonly commits: Commits;
}

interface MetricOptions {
  readonly probes: Pick<Probes, "version" | "store" | "rates" | "commits">;
  readonly now: () => Date;
  /** When the TLS certificate expires, where there is one. */
  readonly certificateExpires?: (() => Date | undefined) | undefined;
}

export function openMetrics(options: MetricOptions) {
  const { probes } = options;
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  // Gauges with the suffix of counters. Each is the sum of the gauge without the suffix.
  for (const kind of ["handles", "requests", "resources"]) {
    registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  }
  gaugeProcess(probes, registers);
  countFetches(probes, registers);
  registerGauges(registers, gaugesOf(options));
  const count = countRequests(probes, registers);
  const lines = new Counter({
    name: "fx_bulk_lines_total",
    help: "Answered lines of batches by result: settled, opened, replayed, or the code of the refusal",
    labelNames: ["result"],
    registers,
  });
  for (const result of ["settled", "opened", ...otherResults]) lines.inc({ result }, 0);
  const durations = new Histogram({
    name: "fx_http_request_duration_seconds",
    help: "Time from a request's headers to the end of its answer",
    labelNames: ["method", "route", "status"],
    buckets: secondsBounds,
    registers,
  });
  observeCommits(probes.commits, registers);

  return {
    /** Counts an answer; `route` is the pattern, never the path. */
    observe(method: string, route: string, status: number, ms: number): void {
      durations.observe({ method, route, status }, ms / 1000);
    },
    /** Reads a request, carries it out, and counts its result. */
    async counted<A extends Asked, T extends Recorded>(
      kind: EntryKind,
      read: () => A,
      carryOut: (asked: A) => Promise<T>,
    ): Promise<T> {
      let asked: A | undefined;
      try {
        asked = read();
        const done = await carryOut(asked);
        count(kind, asked, done);
        return done;
      } catch (error) {
        count(kind, asked, toFxError(error));
        throw error;
      }
    },
    /** Counts a line of a batch, and gives its result: "settled", "opened", "replayed" or the code of the refusal. */
    bulkLine(line: BulkLine, answer: BulkAnswer): string {
      const result = line instanceof FxError ? line.code : count(line.kind, line, answer);
      lines.inc({ result });
      return result;
    },
    /** Prometheus's text format. */
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

const secondsBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

function observeCommits(commits: Commits, registers: Registry[]): void {
  const durations = new Histogram({
    name: "fx_commit_duration_seconds",
    help: "Time that the store took for a group commit",
    buckets: secondsBounds,
    registers,
  });
  const sizes = new Histogram({
    name: "fx_commit_requests",
    help: "Requests and lines of batches in a group commit",
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers,
  });
  commits.observe((requests, seconds) => {
    durations.observe(seconds);
    sizes.observe(requests);
  });
}

/** Results that every kind of request may have beside its success. */
const otherResults = ["replayed", ...answerCodes];
/** The label of a currency that the table in force does not quote, so that a client cannot make up labels. */
const otherCurrency = "other";

/** Counts requests that change an account. All results are there from the start, so that rate() sees 0 before the first. */
function countRequests({ rates }: MetricOptions["probes"], registers: Registry[]) {
  const orders = new Counter({
    name: "fx_orders_total",
    help: "Exchange orders by result: settled, replayed, or the code of the refusal",
    labelNames: ["result"],
    registers,
  });
  for (const result of ["settled", ...otherResults]) orders.inc({ result }, 0);
  const changes = new Counter({
    name: "fx_changes_total",
    help: "Requests that change an account, other than orders, by kind and result: settled (for openings: opened), replayed, or the code of the refusal",
    labelNames: ["kind", "result"],
    registers,
  });
  for (const kind of entryKinds.filter((kind) => kind !== "exchange")) {
    for (const result of [settledOf(kind), ...otherResults]) changes.inc({ kind, result }, 0);
  }
  const pairs = new Counter({
    name: "fx_pair_orders_total",
    help: "Exchange orders by currency pair and result; a currency that the table in force does not quote is labelled other",
    labelNames: ["from", "to", "result"],
    registers,
  });
  const exchanged = new Counter({
    name: "fx_exchanged_total",
    help: "Amounts that customers sold and bought in exchanges, by currency, in its units",
    labelNames: ["currency", "side"],
    registers,
    collect() {
      for (const currency of [pln, ...(rates().table?.rates.keys() ?? [])]) {
        for (const side of ["sold", "bought"]) this.inc({ currency, side }, 0);
      }
    },
  });
  const label = (code: CurrencyCode | undefined) =>
    code !== undefined && (code === pln || rates().table?.rates.has(code)) ? code : otherCurrency;

  return (kind: EntryKind, asked: Asked | undefined, answer: BulkAnswer): string => {
    const result = resultOf(kind, answer);
    if (kind !== "exchange") {
      changes.inc({ kind, result });
      return result;
    }
    orders.inc({ result });
    pairs.inc({ from: label(asked?.from), to: label(asked?.to), result });
    if (result === "settled" && "sold" in answer && answer.sold && answer.bought) {
      exchanged.inc({ currency: answer.sold.currency, side: "sold" }, units(answer.sold));
      exchanged.inc({ currency: answer.bought.currency, side: "bought" }, units(answer.bought));
    }
    return result;
  };
}

function gaugeProcess({ version, store, rates }: MetricOptions["probes"], registers: Registry[]): void {
  new Gauge({
    name: "fx_info",
    help: "Always 1; the labels name the version, the kind of store and the source of the rates",
    labelNames: ["version", "store", "rates"],
    registers,
  }).set({ version, store, rates: rates().source }, 1);
}

function countFetches({ rates }: MetricOptions["probes"], registers: Registry[]): void {
  new Counter({
    name: "fx_rate_fetches_total",
    help: "How often the source was asked for rates, by outcome: accepted (a new table is in force), unchanged, refused (a check held the new table back), failed",
    labelNames: ["outcome"],
    registers,
    collect() {
      const { fetches } = rates();
      this.reset();
      for (const outcome of fetchOutcomes) this.inc({ outcome }, fetches[outcome]);
    },
  });
}

/** The help of each gauge, and what reads its value. One without a value is left out. */
type Gauges = Readonly<Record<string, readonly [help: string, read: () => number | undefined]>>;

function gaugesOf({ probes, now, certificateExpires }: MetricOptions): Gauges {
  return {
    fx_waiting_requests: [
      "Requests and lines of batches that wait for a commit",
      () => probes.commits.waiting,
    ],
    fx_tls_certificate_expires_at_seconds: [
      "When the TLS certificate expires, in seconds since 1970; absent without TLS",
      () => {
        const at = certificateExpires?.();
        return at && at.getTime() / 1000;
      },
    ],
    fx_rates_table_age_seconds: [
      "Time since the start of the effective date, in Warsaw, of the table in force; 0 before it, absent without a table",
      () => ageOf(probes.rates().table, now()),
    ],
    fx_trading: [
      "1 while orders are settled, 0 while they are not; /health/ready says why",
      () => Number(probes.rates().notTraded === undefined),
    ],
    fx_trading_suspended: [
      "1 while an operator has suspended trading, 0 otherwise; fx_trading is 0, too",
      () => Number(probes.rates().notTraded?.code === "suspended"),
    ],
    fx_rates_held_back: [
      "1 while a check holds the newest table back, 0 otherwise; /health/ready names it",
      () => Number(probes.rates().heldBack !== undefined),
    ],
  };
}

function registerGauges(registers: Registry[], gauges: Gauges): void {
  for (const [name, [help, read]] of Object.entries(gauges)) {
    new Gauge({
      ...{ name, help, registers },
      collect() {
        const value = read();
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
  }
}

/** A table of the ledger may take effect later by this machine's clock. */
function ageOf(table: RateTable | undefined, now: Date): number | undefined {
  if (table === undefined) return undefined;
  return Math.max(0, now.getTime() - startOfDay(table.effectiveDate).getTime()) / 1000;
}

function units({ currency, minor }: Money): number {
  return Number(minor) / 10 ** knownDigits(currency);
}

function resultOf(kind: EntryKind, answer: BulkAnswer): string {
  if (answer.replayed) return "replayed";
  return answer instanceof FxError ? answer.code : settledOf(kind);
}

function settledOf(kind: EntryKind): string {
  return kind === "opening" ? "opened" : "settled";
}
