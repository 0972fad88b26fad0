import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { CurrencyCode } from "../core/currency.ts";
import { startOfDay } from "../core/date.ts";
import { answerCodes, FxError } from "../core/errors.ts";
import { type EntryKind, entryKinds } from "../core/journal.ts";
import { fetchOutcomes, type RatesStatus } from "../core/rates.ts";
import type { BulkAnswer, BulkLine, CommitFigures, Recorded } from "../core/service.ts";
import type { Between } from "./admission.ts";
import { toFxError } from "./errors.ts";
import { ExchangeCounts } from "./exchange-counts.ts";
import { Durations, histogramText } from "./histograms.ts";

export interface Metrics {
  /** Counts an answer; `route` is the pattern, never the path. */
  observe(method: string, route: string, status: number, ms: number): void;
  /** Reads a request, carries it out, and counts what became of it. */
  counted<A extends Asked, T extends Recorded>(
    kind: EntryKind,
    read: () => A,
    carryOut: (asked: A) => Promise<T>,
  ): Promise<T>;
  /** Counts a line of a bulk, and gives its result: "settled", "opened", "replayed" or the code of the refusal. */
  bulkLine(line: BulkLine, answer: BulkAnswer): string;
  /** The text that Prometheus reads, in UTF-8. Made in parts. */
  text(between: Between): Promise<Buffer>;
  readonly contentType: string;
}

/** A request as far as it was read; an order has its pair. */
type Asked = object & { readonly from?: CurrencyCode; readonly to?: CurrencyCode };
type Labels = Readonly<Record<string, string>>;

export function openMetrics({
  probes,
  now,
}: {
  readonly probes: {
    readonly version: string;
    readonly store: string;
    rates(): RatesStatus;
    commits(): CommitFigures;
  };
  readonly now: () => Date;
}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  // Gauges with the suffix of counters. Each is the sum of the gauge without the suffix.
  for (const kind of ["handles", "requests", "resources"]) {
    registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  }
  const { version, store } = probes;
  new Gauge({
    name: "fx_info",
    help: "Always 1; the labels name the version, the kind of store and the source of the rates",
    labelNames: ["version", "store", "rates"],
    registers,
  }).set({ version, store, rates: probes.rates().source }, 1);
  /** prom-client gets the numbers when it is asked: a label of its own is slow to look up (docs/PERFORMANCE.md). */
  const counter = (
    name: string,
    help: string,
    labelNames: readonly string[],
    each: (put: (labels: Labels, value: number) => void) => void,
  ) => {
    const metric = new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        each((labels, value) => metric.inc(labels, value));
      },
    });
  };
  /** Results are there from the start, so that rate() sees 0 before the first. */
  const countResults = (name: string, help: string, series: readonly Labels[]) => {
    const counts = new Map(series.map((labels) => [Object.values(labels).join(" "), { labels, count: 0 }]));
    counter(name, help, Object.keys(series[0] ?? {}), (put) => {
      for (const { labels, count } of counts.values()) put(labels, count);
    });
    return (values: string) => {
      const counted = counts.get(values);
      if (counted !== undefined) counted.count += 1;
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
  const exchanges = new ExchangeCounts(() => probes.rates());
  counter(
    "fx_pair_orders_total",
    "Exchange orders by pair and result, from the first of each; a currency that the table in force does not quote is other",
    ["from", "to", "result"],
    (put) => exchanges.orders(put),
  );
  counter(
    "fx_exchanged_total",
    "What customers sold and bought in exchanges, by currency, in units of it",
    ["currency", "side"],
    (put) => exchanges.volume(put),
  );
  counter(
    "fx_rate_fetches_total",
    "How often the source was asked for rates, by outcome: accepted (a new table is in force), unchanged, refused (a check held the new table back), failed",
    ["outcome"],
    (put) => {
      const { fetches } = probes.rates();
      for (const outcome of fetchOutcomes) put({ outcome }, fetches[outcome]);
    },
  );
  new Gauge({
    name: "fx_rates_table_age_seconds",
    help: "Time since the start of the effective date, in Warsaw, of the table in force; 0 before it, absent without a table",
    registers,
    collect() {
      const { table } = probes.rates();
      this.reset();
      if (table === undefined) this.remove();
      // A table of the ledger may take effect later by this machine's clock.
      else this.set(Math.max(0, now().getTime() - startOfDay(table.effectiveDate).getTime()) / 1000);
    },
  });
  new Gauge({
    name: "fx_trading",
    help: "1 while orders are settled, 0 while they are not; /health/ready says why",
    registers,
    collect() {
      this.set(probes.rates().notTraded === undefined ? 1 : 0);
    },
  });
  new Gauge({
    name: "fx_rates_held_back",
    help: "1 while a check holds the newest table back, 0 otherwise; /health/ready names it",
    registers,
    collect() {
      this.set(probes.rates().heldBack === undefined ? 0 : 1);
    },
  });
  new Gauge({
    name: "fx_waiting_requests",
    help: "Requests and lines of bulks that wait for a commit",
    registers,
    collect() {
      this.set(probes.commits().waiting);
    },
  });
  const durations = new Durations();

  function count(kind: EntryKind, asked: Asked | undefined, answer: BulkAnswer): string {
    const result = resultOf(kind, answer);
    if (kind !== "exchange") {
      changes(`${kind} ${result}`);
      return result;
    }
    orders(result);
    exchanges.order(asked?.from, asked?.to, result);
    if (result === "settled" && "sold" in answer && answer.sold && answer.bought) {
      exchanges.exchanged(answer.sold, answer.bought);
    }
    return result;
  }

  return {
    observe: (method, route, status, ms) => durations.observe(method, route, status, ms / 1000),
    counted: async (kind, read, carryOut) => {
      let asked: ReturnType<typeof read> | undefined;
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
    bulkLine: (line, answer) => {
      const result = line instanceof FxError ? line.code : count(line.kind, line, answer);
      bulkLines(result);
      return result;
    },
    text: async (between) => {
      const { sizes, seconds } = probes.commits();
      const texts: string[] = [];
      for (const { name } of registry.getMetricsAsArray()) {
        texts.push(await registry.getSingleMetricAsString(name));
        await between();
      }
      const whole = [
        `${texts.join("\n\n")}\n`,
        histogramText(
          "fx_http_request_duration_seconds",
          "Time from a request's headers to the end of its answer",
          durations,
        ),
        histogramText("fx_commit_duration_seconds", "Time in which the store carried out a batch", [
          ["", seconds],
        ]),
        histogramText("fx_batch_requests", "Requests and lines of bulks in a batch", [["", sizes]]),
      ].join("\n");
      return Buffer.from(whole);
    },
    contentType: registry.contentType,
  };
}

function resultOf(kind: EntryKind, answer: BulkAnswer): string {
  if (answer.replayed) return "replayed";
  return answer instanceof FxError ? answer.code : settledOf(kind);
}

function settledOf(kind: EntryKind): string {
  return kind === "opening" ? "opened" : "settled";
}
