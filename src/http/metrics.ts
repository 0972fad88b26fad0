import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { answerCodes } from "../core/errors.ts";
import type { RatesStatus } from "../core/rates.ts";
import { Durations } from "./durations.ts";

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
  const durations = new Durations(
    "fx_http_request_duration_seconds",
    "Time from a request's headers to the end of its answer",
  );
  /** Results are there from the start, so that rate() sees 0 before the first. A label of prom-client's is slow to look up. */
  const countResults = (name: string, help: string, results: readonly string[]) => {
    const counts = new Map(results.map((result) => [result, 0]));
    new Counter({
      name,
      help,
      labelNames: ["result"],
      registers,
      collect() {
        this.reset();
        for (const [result, count] of counts) this.inc({ result }, count);
      },
    });
    return (result: string, count = 1) => void counts.set(result, (counts.get(result) ?? 0) + count);
  };
  const order = countResults(
    "fx_orders_total",
    "Exchange orders by result: settled, replayed, or the code of the refusal",
    ["settled", "replayed", ...answerCodes],
  );
  const bulkLines = countResults(
    "fx_bulk_lines_total",
    "Answered lines of bulks by result: settled, opened, replayed, or the code of the refusal",
    ["settled", "opened", "replayed", ...answerCodes],
  );
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
    order,
    bulkLines,
    text: async () => `${await registry.metrics()}\n${durations.text()}`,
    contentType: registry.contentType,
  };
}
