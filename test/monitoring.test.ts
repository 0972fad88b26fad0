import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { operations } from "../src/wire/operations.ts";
import { statusOf } from "../src/wire/problem.ts";
import { sendBulk } from "./support/bulk.ts";
import { adult } from "./support/fixture.ts";
import { newFolder } from "./support/folder.ts";
import { send } from "./support/http.ts";
import { startServer, type TestServer } from "./support/server.ts";

const pathOf = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const read = (path: string) => readFileSync(pathOf(path), "utf8");

/** The alerts, in the order of the file. */
const alerts = [
  ...read("docs/alerts.yml").matchAll(/- alert: (\w+)\n\s+expr: (?:>-)?([\s\S]+?)\n\s+(?:for|labels):/g),
].map(([, name = "", expr = ""]) => ({ name, expr }));

/** The queries of the dashboard's panels, as Grafana sends them to Prometheus. */
const queries = [...read("docs/dashboard.json").matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)].map(
  ([, expr = ""]) =>
    (JSON.parse(expr) as string).replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*"),
);

/** The metrics of a server that has done some of everything, with the values of their labels. */
interface Metric {
  readonly type: string;
  readonly labels: Map<string, Set<string>>;
}

let server: TestServer;
let text = "";
const metrics = new Map<string, Metric>();

before(async () => {
  server = await startServer();
  const { url } = server;
  const pesel = adult(1);
  await send(url, "POST", "/api/user", { body: { name: "Jan", surname: "Kowalski", pesel, pln: 1000 } });
  const order = { pesel, from: "PLN", to: "USD", toBuy: 1 };
  await send(url, "POST", `/api/exchange/${pesel}`, { body: order });
  await sendBulk(url, [order, { ...order, toBuy: 1e6 }]);
  ({ text } = await send(url, "GET", "/metrics"));
  for (const [, name = "", type = ""] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    metrics.set(name, { type, labels: new Map() });
  }
  for (const [, name = "", labels = ""] of text.matchAll(/^([a-z]\w+)(?:\{(.*)\})? \S+$/gm)) {
    const metric = metricOf(name);
    assert.ok(metric, name);
    for (const [, label = "", value = ""] of labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      metric.labels.set(label, (metric.labels.get(label) ?? new Set()).add(value));
    }
  }
  metrics.set("up", { type: "gauge", labels: new Map() });
});
after(() => server.close());

/** The metric that a series belongs to, such as the histogram "x" for "x_bucket". */
function metricOf(series: string): Metric | undefined {
  const histogram = metrics.get(series.replace(/_(bucket|sum|count)$/, ""));
  return metrics.get(series) ?? (/histogram|summary/.test(histogram?.type ?? "") ? histogram : undefined);
}

/** The metrics and label values in an expression that no server has. */
function unknownIn(expr: string): string[] {
  const texts: string[] = [];
  const plain = expr.replace(/"((?:[^"\\]|\\.)*)"/g, (_all, value) => `"${texts.push(value) - 1}"`);
  const found: string[] = [];
  const names = [...plain.matchAll(/\b(?:fx|nodejs|process)_\w+|\bup\b/g)].map(([name]) => name);
  if (names.length === 0) found.push("no metric at all");
  const known = new Set(["job", "instance", "le"]);
  for (const name of names) {
    const metric = metricOf(name);
    if (metric === undefined) found.push(name);
    for (const label of metric?.labels.keys() ?? []) known.add(label);
  }
  for (const [, labels = ""] of plain.matchAll(/\b(?:by|on) \(([^)]*)\)/g)) {
    found.push(...labels.split(/, ?/).filter((label) => !known.has(label)));
  }
  for (const [, name = "", matchers = ""] of plain.matchAll(/(\w+)\{([^}]*)\}/g)) {
    for (const [, label = "", sign = "", index] of matchers.matchAll(/(\w+)(=~|!~|!=|=)"(\d+)"/g)) {
      if (label === "job" || label === "instance") continue;
      const sought = texts[Number(index)] ?? "";
      const matches = sign.includes("~")
        ? new RegExp(`^(?:${sought})$`)
        : { test: (value: string) => value === sought };
      if (!valuesOf(name, label).some((value) => matches.test(value)))
        found.push(`${name}{${label}${sign}"${sought}"}`);
    }
  }
  return found;
}

/** The values that a label can have. */
function valuesOf(series: string, label: string): string[] {
  if (label === "status") return Object.values(statusOf).map(String);
  if (label === "route") return Object.values(operations).map(({ path }) => path);
  return [...(metricOf(series)?.labels.get(label) ?? [])];
}

test("The alerts and the dashboard have queries to check", () => {
  assert.equal(alerts.length, read("docs/alerts.yml").split("- alert:").length - 1);
  assert.ok(alerts.length > 10);
  assert.ok(queries.length > 20);
});

for (const { name, expr } of alerts) {
  test(`The alert ${name} asks for metrics, labels and values that exist`, () =>
    assert.deepEqual(unknownIn(expr), []));
}

for (const query of queries) {
  test(`The dashboard asks for metrics, labels and values that exist: ${query}`, () =>
    assert.deepEqual(unknownIn(query), []));
}

test("Every alert says what to do", () => {
  for (const file of ["alerts.yml", "alerts-cluster.yml"]) {
    const descriptions = read(`docs/${file}`).match(/^ {10}description: ".+"$/gm);
    assert.equal(descriptions?.length, namesIn(file).length, file);
  }
});

test("A metric, a label or a value that no server has is reported", () => {
  assert.deepEqual(unknownIn('rate(fx_order_total{result="settled"}[5m])'), [
    "fx_order_total",
    'fx_order_total{result="settled"}',
  ]);
  assert.deepEqual(unknownIn('sum by (pair) (fx_orders_total{result="done"})'), [
    "pair",
    'fx_orders_total{result="done"}',
  ]);
});

describe("docs/OPERATIONS.md", () => {
  const page = read("docs/OPERATIONS.md");

  test("docs/OPERATIONS.md has a row for each metric of fx, with its labels", () => {
    const rows = [...page.matchAll(/^\| `(fx_\w+)` \| (.*?) \|/gm)].map(([, name, labels = ""]) => {
      return `${name}: ${[...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label)}`;
    });
    const own = [...metrics].filter(([name]) => name.startsWith("fx_"));
    const expected = own.map(
      ([name, { labels }]) => `${name}: ${[...labels.keys()].filter((label) => label !== "le")}`,
    );
    assert.deepEqual(rows.sort(), expected.sort());
  });
});

describe("promtool", {
  skip: promtool(["--version"]) === undefined && "promtool is not installed (apt-get install prometheus)",
}, () => {
  test("promtool finds nothing in the metrics", () => assert.equal(promtool(["check", "metrics"], text), ""));

  for (const file of ["alerts.yml", "alerts-cluster.yml"]) {
    test(`promtool finds nothing in ${file}`, () => {
      assert.match(
        promtool(["check", "rules", "--lint-fatal", pathOf(`docs/${file}`)]) ?? "",
        /SUCCESS: \d+ rules found/,
      );
    });
  }

  test("promtool can read the queries of the dashboard", (t) => {
    const rules = queries.map((expr, nth) => ({ record: `panel:${nth}`, expr }));
    const folder = newFolder(t);
    const file = join(folder, "dashboard.json");
    writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
    const answer = promtool(["check", "rules", file]);
    assert.match(answer ?? "", new RegExp(`SUCCESS: ${queries.length} rules found`));
  });
});

function namesIn(file: string): string[] {
  return [...read(`docs/${file}`).matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
}

/** Runs promtool and returns its output; undefined if it is not installed. */
function promtool(args: readonly string[], input = ""): string | undefined {
  const { stdout, stderr, error } = spawnSync("promtool", args, { input, encoding: "utf8" });
  return error === undefined ? stdout + stderr : undefined;
}
