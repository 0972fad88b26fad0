import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { answerCodes } from "../core/errors.ts";
import type { RatesStatus } from "../core/rates.ts";

export interface Metrics {
  /** Counts an answer; `route` is the pattern, never the path. */
  observe(method: string, route: string, status: number, ms: number): void;
  /** Counts orders by what became of them: "settled", "replayed" or the code of the refusal. */
  order(result: string, count?: number): void;
  /** Counts lines of bulks likewise; those of openings may be "opened". */
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
  const duration = new Histogram({
    name: "fx_http_request_duration_seconds",
    help: "Time from a request's headers to the end of its answer",
    labelNames: ["method", "route", "status"],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const orders = new Counter({
    name: "fx_orders_total",
    help: "Exchange orders by result: settled, replayed, or the code of the refusal",
    labelNames: ["result"],
    registers,
  });
  // There from the start, so that rate() sees 0 before the first order.
  for (const result of ["settled", "replayed", ...answerCodes]) orders.inc({ result }, 0);
  const bulkLines = new Counter({
    name: "fx_bulk_lines_total",
    help: "Answered lines of bulks by result: settled, opened, replayed, or the code of the refusal",
    labelNames: ["result"],
    registers,
  });
  for (const result of ["settled", "opened", "replayed", ...answerCodes]) bulkLines.inc({ result }, 0);
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
    observe: (method, route, status, ms) => duration.observe({ method, route, status }, ms / 1000),
    order: (result, count = 1) => orders.inc({ result }, count),
    bulkLines: (result, count) => bulkLines.inc({ result }, count),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
