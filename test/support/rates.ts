import { EventEmitter, once } from "node:events";
import type { RateTable } from "../../src/core/rates.ts";
import type { RatesEvent } from "../../src/rates/trading.ts";
import { identified } from "./fixture.ts";

/** A table in the bank's format; `rates` has bid and ask by currency. */
export function publishedOf(
  number: string,
  effectiveDate: string,
  rates: Record<string, readonly [number, number]> = { USD: [3.6268, 3.7] },
) {
  return {
    table: "C",
    no: number,
    tradingDate: effectiveDate,
    effectiveDate,
    rates: Object.entries(rates).map(([code, [bid, ask]]) => ({ currency: code, code, bid, ask })),
  };
}

export function tableOf(...published: Parameters<typeof publishedOf>): RateTable {
  return identified(publishedOf(...published));
}

/** Collects events of rates; `next` resolves to the first event of a kind that was not consumed yet. */
export function ratesEvents() {
  const emitter = new EventEmitter();
  const all: RatesEvent[] = [];
  const seen = { "in-force": 0, "not-trading": 0, refused: 0, failed: 0, clock: 0 };
  const ofKind = <K extends RatesEvent["kind"]>(kind: K) =>
    all.filter((event): event is Extract<RatesEvent, { kind: K }> => event.kind === kind);
  return {
    all,
    onEvent: (event: RatesEvent) => {
      all.push(event);
      emitter.emit("event");
    },
    async next<K extends RatesEvent["kind"]>(kind: K): Promise<Extract<RatesEvent, { kind: K }>> {
      // The timers of rates are unreferenced, so this one keeps the process alive.
      const limit = new AbortController();
      const timer = setTimeout(
        () => limit.abort(new Error(`no event ${kind}: ${all.map((event) => event.kind)}`)),
        120_000,
      );
      try {
        while (ofKind(kind).length <= seen[kind]) await once(emitter, "event", { signal: limit.signal });
      } finally {
        clearTimeout(timer);
      }
      seen[kind] += 1;
      return ofKind(kind)[seen[kind] - 1] as Extract<RatesEvent, { kind: K }>;
    },
  };
}
