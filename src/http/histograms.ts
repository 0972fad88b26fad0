import { Histogram, secondsBounds } from "../core/histogram.ts";

/** How long answers took. prom-client's own histogram is slower (docs/PERFORMANCE.md). */
export class Durations {
  readonly #byLabels = new Map<string, Histogram>();

  observe(method: string, route: string, status: number, seconds: number): void {
    const labels = `method="${method}",route="${route}",status="${status}"`;
    let histogram = this.#byLabels.get(labels);
    if (histogram === undefined) {
      histogram = new Histogram(secondsBounds);
      this.#byLabels.set(labels, histogram);
    }
    histogram.observe(seconds);
  }

  [Symbol.iterator]() {
    return this.#byLabels.entries();
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
