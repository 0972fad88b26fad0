import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { answerCodes } from "../core/errors.ts";
import { type EntryKind, entryKinds } from "../core/journal.ts";
import type { RatesStatus } from "../core/rates.ts";
import type { Recorded } from "../core/service.ts";
import { Durations } from "./durations.ts";
import { toFxError } from "./errors.ts";

export interface Metrics {
  /** Counts an answer; `route` is the pattern, never the path. */
  observe(method: string, route: string, status: number, ms: number): void;
  /**
   * Counts requests of a kind by what became of them: "settled" (of openings "opened"), "replayed" or the code of the
   * refusal.
   */
  requests(kind: EntryKind, result: string, count: number): void;
  /** Carries out a request, and counts it. */
  counted<T extends Recorded>(kind: EntryKind, carryOut: () => Promise<T>): Promise<T>;
  /** Counts lines of bulks likewise. */
  bulkLines(result: string, count: number): void;
  /** The text that Prometheus reads. */
  text(): Promise<string>;
  readonly contentType: string;
}

export function openMetrics(options: {
  readonly probes: { readonly version: string; readonly store: string; rates(): RatesStatus };
  readonly now: () => Date;
}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  // Gauges with the suffix of counters. Each is the sum of the gauge without the suffix.
  for (const kind of ["handles", "requests", "resources"]) {
    registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  }
  const { version, store } = options.probes;
  new Gauge({
    name: "fx_info",
    help: "Always 1; the labels name the version, the kind of store and the source of the rates",
    labelNames: ["version", "store", "rates"],
    registers,
  }).set({ version, store, rates: options.probes.rates().source }, 1);
  const durations = new Durations(
    "fx_http_request_duration_seconds",
    "Time from a request's headers to the end of its answer",
  );
  /** Results are there from the start, so that rate() sees 0 before the first. A label of prom-client's is slow to look up. */
  const countResults = (name: string, help: string, series: readonly Readonly<Record<string, string>>[]) => {
    const counts = new Map(series.map((labels) => [Object.values(labels).join(" "), { labels, count: 0 }]));
    new Counter({
      name,
      help,
      labelNames: Object.keys(series[0] ?? {}),
      registers,
      collect() {
        this.reset();
        for (const { labels, count } of counts.values()) this.inc(labels, count);
      },
    });
    return (values: string, count: number) => {
      const counted = counts.get(values);
      if (counted !== undefined) counted.count += count;
    };
  };
  const others = ["replayed", ...answerCodes];
  const orders = countResults(
    "fx_orders_total",
    "Exchange orders by result: settled, replayed, or the code of the refusal",
    ["settled", ...others].map((result) => ({ result })),
  );
  const changes = countResults(
    "fx_changes_total",
    "Requests that change an account, other than orders, by kind and result: settled (of openings opened), replayed, or the code of the refusal",
    entryKinds
      .filter((kind) => kind !== "exchange")
      .flatMap((kind) => [settledOf(kind), ...others].map((result) => ({ kind, result }))),
  );
  const bulkLines = countResults(
    "fx_bulk_lines_total",
    "Answered lines of bulks by result: settled, opened, replayed, or the code of the refusal",
    ["settled", "opened", ...others].map((result) => ({ result })),
  );
  const requests: Metrics["requests"] = (kind, result, count) =>
    kind === "exchange" ? orders(result, count) : changes(`${kind} ${result}`, count);
  new Gauge({
    name: "fx_rates_table_age_seconds",
    help: "Time since the start of the effective date of the table in force; absent without a table",
    registers,
    collect() {
      const { table } = options.probes.rates();
      this.reset();
      if (table === undefined) this.remove();
      else this.set((options.now().getTime() - Date.parse(table.effectiveDate)) / 1000);
    },
  });
  return {
    observe: (method, route, status, ms) => durations.observe(method, route, status, ms / 1000),
    requests,
    counted: async (kind, carryOut) => {
      try {
        const done = await carryOut();
        requests(kind, done.replayed ? "replayed" : settledOf(kind), 1);
        return done;
      } catch (error) {
        const { code, replayed } = toFxError(error);
        requests(kind, replayed ? "replayed" : code, 1);
        throw error;
      }
    },
    bulkLines,
    text: async () => `${await registry.metrics()}\n${durations.text()}`,
    contentType: registry.contentType,
  };
}

function settledOf(kind: EntryKind): string {
  return kind === "opening" ? "opened" : "settled";
}
