/** What fx has to reach. A run prints last what it came to. */
const targets: Readonly<Record<string, Bound>> = {
  "bulk over HTTP, memory:": { unit: "of the bare route", atLeast: 1.75, aim: 3 },
  "bulk over HTTP, sqlite:": { unit: "of the bare route", atLeast: 1.4, aim: 2.5 },
  "bulk over HTTP, postgres:": { unit: "of the bare route", atLeast: 0.7, aim: 1.2 },
  "batch through a server, sqlite:, a million lines": { unit: "s", atMost: 60, aim: 30 },
  "batch in process, sqlite:": { unit: "µs a line", atMost: 35, aim: 25 },
  "batch through a server, the client's memory": { unit: "MB", atMost: 300, aim: 300 },
  "batch through a server, the server's memory": { unit: "MB", atMost: 300, aim: 300 },
  "p99 of orders beside a bulk, memory:": { unit: "× without", atMost: 2, aim: 2 },
  "p99 of orders beside a bulk, sqlite:": { unit: "× without", atMost: 2, aim: 2 },
  "p99 of orders beside a bulk, postgres:": { unit: "× without", atMost: 2, aim: 2 },
  "order, 64 connections, memory:": { unit: "of the bare route", atLeast: 0.75, aim: 0.85 },
  "order, 256 connections, memory:": { unit: "of the bare route", atLeast: 0.8, aim: 0.85 },
  "account read, memory:": { unit: "of the bare route", atLeast: 0.85, aim: 0.95 },
  "account read, sqlite:": { unit: "of the bare route", atLeast: 0.85, aim: 0.95 },
  "account read, postgres:": { unit: "of the bare route", atLeast: 0.75, aim: 0.95 },
  "orders with tokens on, for the same processor time": { unit: "of those off", atLeast: 0.97, aim: 0.99 },
  "audit of 10 million entries, sqlite:": { unit: "s", atMost: 120, aim: 60 },
  "longest gap of orders beside an audit or a position": { unit: "ms", atMost: 50, aim: 10 },
};

interface Bound {
  readonly unit: string;
  readonly atLeast?: number;
  readonly atMost?: number;
  readonly aim: number;
}

const reached = new Map<string, number>();

export function reach(target: string, value: number): void {
  reached.set(target, value);
}

/** What this run came to, beside what it should. */
export function printTargets(): void {
  if (reached.size === 0) return;
  printTable(["target", "measured", "floor", "aim", ""]);
  for (const [name, { unit, atLeast, atMost, aim }] of Object.entries(targets)) {
    const value = reached.get(name);
    if (value === undefined) continue;
    const holds = atLeast === undefined ? value <= (atMost ?? 0) : value >= atLeast;
    const meetsAim = atLeast === undefined ? value <= aim : value >= aim;
    const verdict = meetsAim ? "the aim" : holds ? "holds" : "**falls short**";
    row(name, `${digits(value)} ${unit}`, atLeast ?? atMost, aim, verdict);
  }
}

/** The head of a table in Markdown; `row` adds to it. */
export function printTable(columns: readonly string[]): void {
  print("");
  row(...columns);
  print(`|${columns.map(() => "---|").join("")}`);
}

export function row(...cells: readonly unknown[]): void {
  print(`| ${cells.map((cell) => (typeof cell === "number" ? digits(cell) : cell)).join(" | ")} |`);
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Three digits that count. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return "–";
  return Math.abs(value) >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
