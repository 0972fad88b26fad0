import { Histogram, secondsBounds } from "../core/histogram.ts";
import { getOrMake } from "./maps.ts";

/** How long answers took. prom-client's own histogram is slower (docs/PERFORMANCE.md). */
export class Durations {
  /** Not by the text of all labels, which would be made for each answer. */
  readonly #byRoute = new Map<string, Map<string, Map<number, Histogram>>>();

  observe(method: string, route: string, status: number, seconds: number): void {
    const histogram = this.#byRoute.get(route)?.get(method)?.get(status) ?? this.#add(method, route, status);
    histogram.observe(seconds);
  }

  #add(method: string, route: string, status: number): Histogram {
    const byMethod = getOrMake(this.#byRoute, route, () => new Map<string, Map<number, Histogram>>());
    const byStatus = getOrMake(byMethod, method, () => new Map<number, Histogram>());
    return getOrMake(byStatus, status, () => new Histogram(secondsBounds));
  }

  *[Symbol.iterator](): Generator<readonly [labels: string, Histogram]> {
    for (const [route, byMethod] of this.#byRoute) {
      for (const [method, byStatus] of byMethod) {
        for (const [status, histogram] of byStatus) {
          yield [`method="${method}",route="${route}",status="${status}"`, histogram];
        }
      }
    }
  }
}

/** Histograms of one name in Prometheus's text, each with its labels; "" for none. */
export function histogramText(
  name: string,
  help: string,
  histograms: Iterable<readonly [labels: string, Histogram]>,
): string {
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`];
  for (const [labels, { bounds, counts, count, sum }] of histograms) {
    const others = labels === "" ? "" : `,${labels}`;
    const own = labels === "" ? "" : `{${labels}}`;
    let upTo = 0;
    for (const [index, bound] of bounds.entries()) {
      upTo += counts[index] ?? 0;
      lines.push(`${name}_bucket{le="${bound}"${others}} ${upTo}`);
    }
    lines.push(`${name}_bucket{le="+Inf"${others}} ${count}`);
    lines.push(`${name}_sum${own} ${sum}`, `${name}_count${own} ${count}`);
  }
  return `${lines.join("\n")}\n`;
}
