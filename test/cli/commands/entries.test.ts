import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { newFolder } from "../../support/folder.ts";
import { runFx, spawnFx, startFx } from "../../support/run-fx.ts";
import { openHere, runHere } from "../../support/run-here.ts";
import { until } from "../../support/until.ts";

const folder = newFolder();
const url = `sqlite:${join(folder, "fx.db")}`;
const env = { FX_URL: url };

const open = (index: number) => openHere(url, { index, pln: "5" });

const ids = (text: string) =>
  text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line).id as string);

describe("fx entries", () => {
  before(async () => {
    for (const index of [1, 2, 3]) await open(index);
  });

  test("fx entries lists the entries in a table at a terminal, and with tabs in a pipe", async () => {
    const at80 = await runHere(["entries", "--no-color"], { env, columns: 80 });
    const [heading, ...rows] = at80.stdout.trimEnd().split("\n");
    assert.match(heading ?? "", /^Account +# {2}Time \(Warsaw\) +Kind +Out +In$/);
    for (const row of rows) assert.match(row, /^\d{6}\*{5} +1 {2}[\d-]+ [\d:]+ {2}opening +5\.00 PLN$/);
    assert.equal(rows.length, 3);
    const piped = await runHere(["entries", "--limit", "2"], { env });
    assert.match(piped.stdout, /^(\d{6}\*{5}\t1\t\S+Z\topening\t\t5\.00 PLN\t\S{36}\t\n){2}$/);
  });

  test("fx entries --json is one entry a line, and --after goes on behind one of them", async () => {
    const { stdout } = await runHere(["entries", "--json"], { env });
    assert.equal(ids(stdout).length, 3);
    const [first = "", ...others] = ids(stdout);
    for (const after of [first, `/api/receipts/${first}`]) {
      assert.deepEqual(ids((await runHere(["entries", "--json", "--after", after], { env })).stdout), others);
    }
  });

  test("Where there are no entries, fx entries says so on stderr", async () => {
    const none = await runHere(["entries"], { env: { FX_URL: "memory:" } });
    assert.deepEqual([none.stderr, none.exit], ["There are no entries.\n", 0]);
  });

  test("fx entries --follow in its own process sees what another process writes, and Ctrl-C ends it with 130", async () => {
    const follower = spawnFx(["entries", "--follow", "--json"], { env });
    await until(() => ids(follower.output().stdout).length === 3);
    await open(4);
    await until(() => ids(follower.output().stdout).length === 4);
    follower.child.kill("SIGINT");
    const { exit, stderr } = await follower.ended;
    assert.deepEqual(
      [exit, stderr.trim()],
      [130, '{"code":"interrupted","message":"Interrupted.","hint":null,"exit":130}'],
    );
  });

  test("fx entries --follow goes on after its server was started anew, and --limit ends it", async () => {
    const place = ["--db", url, "--rates", "demo", "--log-level", "silent"];
    const server = await startFx(place);
    const port = new URL(server.url).port;
    const follower = spawnFx(["entries", "--follow", "--json", "--limit", "6"], {
      env: { FX_URL: server.url },
    });
    await until(() => ids(follower.output().stdout).length === 4);
    await server.stop();
    await open(5);
    const again = await startFx([...place, "--port", port]);
    await open(6);
    const { exit, stdout, stderr } = await follower.ended;
    await again.stop();
    assert.deepEqual([exit, stderr, new Set(ids(stdout)).size], [0, "", 6]);
  });

  test("fx entries --follow of a server that nobody has started exits with 7 at once", async () => {
    const { exit } = await runFx(["entries", "--follow"], { env: { FX_URL: "http://127.0.0.1:1" } });
    assert.equal(exit, 7);
  });
});
