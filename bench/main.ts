import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Figures, parts, type Size } from "./parts.ts";
import type { Build } from "./processes.ts";

const usage = `npm run bench -- [part…] [options]

Measures this build, or this build and another in turns. Parts: ${Object.keys(parts).join(", ")}; all without one.
wrk must be installed; fx must be built (npm run build).

  --against FOLDER  the folder of another build, to measure in turns with this one
  --rounds N        how often each build is measured; the median counts (default 3)
  --seconds N       how long each load lasts (default 3)
  --accounts N      accounts that orders go to (default 10000)
  --lines N         lines of a batch (default 300000)
  --write           write the results to bench/results and the table to docs/PERFORMANCE.md
`;

const root = fileURLToPath(new URL("..", import.meta.url));
const document = join(root, "docs/PERFORMANCE.md");

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    against: { type: "string" },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "3" },
    accounts: { type: "string", default: "10000" },
    lines: { type: "string", default: "300000" },
    write: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) process.stdout.write(usage);
else await bench();

async function bench(): Promise<void> {
  const size: Size = {
    seconds: wholeNumber("seconds"),
    accounts: wholeNumber("accounts"),
    lines: wholeNumber("lines"),
  };
  const builds: Build[] = [{ name: "this build", folder: root }];
  if (values.against !== undefined) builds.push({ name: values.against, folder: values.against });
  const samples = builds.map(() => new Map<string, number[]>());
  for (const name of positionals.length > 0 ? positionals : Object.keys(parts)) {
    const part = parts[name];
    if (part === undefined) throw new Error(`There is no part ${name}.\n\n${usage}`);
    for (let round = 1; round <= wholeNumber("rounds"); round += 1) {
      for (const [index, build] of builds.entries()) {
        process.stderr.write(`${name}, round ${round}, ${build.name}\n`);
        const figures = await inFolder((folder) => part(build, folder, size));
        add(samples[index] as Map<string, number[]>, figures);
      }
    }
  }
  const table = tableOf(builds, samples);
  process.stdout.write(`${table}\n`);
  if (values.write) save(builds, samples, table);
}

function add(samples: Map<string, number[]>, figures: Figures): void {
  for (const [name, value] of Object.entries(figures))
    samples.set(name, [...(samples.get(name) ?? []), value]);
}

/** A Markdown table of the medians: a row for each thing that was measured, or each figure beside the other build's. */
function tableOf(
  builds: readonly Build[],
  [own = new Map(), other]: readonly Map<string, number[]>[],
): string {
  const head = ["", ...builds.map(({ name }) => name), ...(other === undefined ? [] : ["ratio"])];
  const rows =
    other === undefined
      ? rowsOf(own)
      : [...own].map(([name, values]) => {
          const [mine, theirs] = [median(values), median(other.get(name) ?? [])];
          return [name, digits(mine), digits(theirs), digits(mine / theirs)];
        });
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** All figures of one thing in one row, each with its unit. */
function rowsOf(samples: ReadonlyMap<string, number[]>): string[][] {
  const figures = new Map<string, string[]>();
  for (const [name, values] of samples) {
    const [, what = "", unit = ""] = /^(.*), (.*)$/.exec(name) ?? [];
    figures.set(what, [...(figures.get(what) ?? []), `${digits(median(values))} ${unit}`]);
  }
  return [...figures].map(([what, all]) => [what, all.join(", ")]);
}

/** Writes the results to a dated JSON file, and puts the table between the marks of docs/PERFORMANCE.md. */
function save(builds: readonly Build[], samples: readonly Map<string, number[]>[], table: string): void {
  const date = new Date().toISOString().slice(0, 10);
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: availableParallelism() };
  const results = builds.map(({ name }, index) => ({
    build: name,
    samples: Object.fromEntries(samples[index] ?? []),
  }));
  mkdirSync(join(root, "bench/results"), { recursive: true });
  writeFileSync(
    join(root, `bench/results/${date}.json`),
    `${JSON.stringify({ date, ...machine, results }, undefined, 2)}\n`,
  );
  const caption = `${date}, ${machine.cores} cores of ${machine.cpu}, Node ${machine.node}.`;
  const text = readFileSync(document, "utf8");
  const written = text.replace(
    /(<!-- bench -->\n).*?(<!-- \/bench -->)/s,
    (_, begin, end) => `${begin}${caption}\n\n${table}\n${end}`,
  );
  writeFileSync(document, written);
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "fx-bench-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function wholeNumber(name: "rounds" | "seconds" | "accounts" | "lines"): number {
  const number = Number(values[name]);
  if (!Number.isInteger(number) || number < 1)
    throw new Error(`--${name} takes a whole number, not ${values[name]}.`);
  return number;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** Rounds to three significant digits. */
function digits(value: number): string {
  return Math.abs(value) >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}
