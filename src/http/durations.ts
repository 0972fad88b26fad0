/** In seconds. */
const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** A histogram of how long answers took, in Prometheus's text. prom-client's own is slower (docs/PERFORMANCE.md). */
export class Durations {
  readonly #name: string;
  readonly #help: string;
  readonly #byLabels = new Map<string, { readonly buckets: number[]; count: number; seconds: number }>();

  constructor(name: string, help: string) {
    this.#name = name;
    this.#help = help;
  }

  observe(method: string, route: string, status: number, seconds: number): void {
    const labels = `method="${method}",route="${route}",status="${status}"`;
    let series = this.#byLabels.get(labels);
    if (series === undefined) {
      series = { buckets: bounds.map(() => 0), count: 0, seconds: 0 };
      this.#byLabels.set(labels, series);
    }
    series.count += 1;
    series.seconds += seconds;
    const bucket = bounds.findIndex((bound) => seconds <= bound);
    if (bucket >= 0) series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
  }

  text(): string {
    const name = this.#name;
    const lines = [`# HELP ${name} ${this.#help}`, `# TYPE ${name} histogram`];
    for (const [labels, { buckets, count, seconds }] of this.#byLabels) {
      let upTo = 0;
      for (const [index, bound] of bounds.entries()) {
        upTo += buckets[index] ?? 0;
        lines.push(`${name}_bucket{le="${bound}",${labels}} ${upTo}`);
      }
      lines.push(`${name}_bucket{le="+Inf",${labels}} ${count}`);
      lines.push(`${name}_sum{${labels}} ${seconds}`, `${name}_count{${labels}} ${count}`);
    }
    return `${lines.join("\n")}\n`;
  }
}
