import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { newFolder } from "../../support/folder.ts";
import { runFx, spawnFx, startFx } from "../../support/run-fx.ts";
import { openHere } from "../../support/run-here.ts";
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
