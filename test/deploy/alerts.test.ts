import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { cannotStart, startCluster } from "../cluster/cluster.ts";
import { newFolder } from "../support/folder.ts";

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const read = (path: string) => readFileSync(pathOf(path), "utf8");
const alerts = read("docs/alerts-cluster.yml");

const folder = newFolder();

test("docs/alerts-cluster.yml asks for metrics that Patroni and etcd have", {
  skip: cannotStart(),
}, async (t) => {
  const cluster = await startCluster(folder);
  t.after(() => cluster.stop());
  const metricsOf = async (name: string, port: number) =>
    (await fetch(`http://${cluster.host(name).address}:${port}/metrics`)).text();
  const text = (await metricsOf("db1", 8008)) + (await metricsOf("etcd1", 2379));
  const asked = [...alerts.matchAll(/\b(?:patroni|etcd)_\w+/g)].map(([name]) => name);
  assert.ok(asked.length > 5);
  for (const name of asked) assert.match(text, new RegExp(`^${name}[{ ]`, "m"), name);
  assert.match(text, /^patroni_primary\{scope="[^"]+"\} [01]/m);
});

for (const file of ["alerts.yml", "alerts-cluster.yml"]) {
  test(`promtool sees each alert of ${file} when it should, and none when all is well`, {
    skip:
      spawnSync("promtool", ["--version"]).error && "promtool is not installed (apt-get install prometheus)",
  }, () => {
    const names = [...read(`docs/${file}`).matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
    const cases = read(`test/fixtures/${file}`);
    assert.deepEqual(
      names.filter((name) => !cases.includes(`"${name}"`)),
      [],
    );
    const { stdout, stderr } = spawnSync("promtool", ["test", "rules", pathOf(`test/fixtures/${file}`)], {
      encoding: "utf8",
    });
    assert.match(stdout + stderr, /SUCCESS/);
  });
}
