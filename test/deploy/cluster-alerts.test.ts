import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { cannotStart, startCluster } from "../cluster/cluster.ts";

const alerts = readFileSync(new URL("../../docs/alerts-cluster.yml", import.meta.url), "utf8");

test("docs/alerts-cluster.yml asks for metrics that Patroni and etcd have", {
  skip: cannotStart(),
  timeout: 200_000,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "fx-alerts-"));
  const cluster = await startCluster(folder);
  t.after(async () => {
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const metricsOf = async (name: string, port: number) =>
    (await fetch(`http://${cluster.host(name).address}:${port}/metrics`)).text();
  const text = (await metricsOf("db1", 8008)) + (await metricsOf("etcd1", 2379));
  const asked = [...alerts.matchAll(/\b(?:patroni|etcd)_\w+/g)].map(([name]) => name);
  assert.ok(asked.length > 5);
  for (const name of asked) assert.match(text, new RegExp(`^${name}[{ ]`, "m"), name);
  assert.match(text, /^patroni_primary\{scope="[^"]+"\} [01]/m);
});
