import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { sameSignalMs } from "../../src/cli/signals.ts";
import { adult } from "../support/fixture.ts";
import { newFolder } from "../support/folder.ts";
import { runFx, spawnFx, startFx } from "../support/run-fx.ts";
import { until } from "../support/until.ts";

const accounts = 20;
const someOrders = 3000;
/** Enough orders for a batch to be killed in the middle, and to be interrupted early: it answers what is under way. */
const manyOrders = 12_000;
const mostOrders = 20_000;

/** A ledger with accounts, and a file of orders. */
async function desk(t: TestContext, orders = someOrders) {
  const folder = newFolder(t);
  const place = { env: { FX_URL: `sqlite:${join(folder, "fx.db")}`, FX_RATES: "demo" } };
  const file = (name: string, lines: readonly string[]) => {
    const path = join(folder, name);
    writeFileSync(path, `${lines.join("\n")}\n`);
    return path;
  };
  const pesels = Array.from({ length: accounts }, (_, index) => adult(index));
  const people = pesels.map((pesel) => `Jan,Kowalski,${pesel},1000`);
  await runFx(["batch", file("accounts.csv", ["name,surname,pesel,pln", ...people])], place);
  const lines = Array.from({ length: orders }, (_, index) => `${pesels[index % accounts]},PLN,USD,0.01,`);
  return {
    place,
    file: file("orders.csv", ["pesel,from,to,toBuy,toSell", ...lines]),
    serve: (port = "0") =>
      startFx(["--db", place.env.FX_URL, "--rates", "demo", "--log-level", "silent", "--port", port]),
    audit: async () => JSON.parse((await runFx(["audit", "--json"], place)).stdout),
  };
}

const linesIn = (text: string) => text.split("\n").length - 1;

type Batch = ReturnType<typeof spawnFx>;

/** Acts as soon as more than `results` are read, while the others are still to come. */
function after(results: number, { child, ended }: Batch, act: () => unknown): Promise<unknown> {
  let seen = 0;
  const acted = new Promise<unknown>((resolve) => {
    const count = (text: string) => {
      seen += linesIn(text);
      if (seen <= results) return;
      child.stdout.off("data", count);
      resolve(act());
    };
    child.stdout.on("data", count);
  });
  return Promise.race([acted, ended]);
}

test("A batch whose server is killed and restarted neither loses nor doubles a line", async (t) => {
  const { file, serve, audit } = await desk(t);
  let served = await serve();
  const { url } = served;
  const batch = () => spawnFx(["batch", file], { env: { FX_URL: url } });
  let { output, ended } = batch();
  for (const share of [0.1, 0.4, 0.7]) {
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    await until(() => isOver || linesIn(output().stdout) > share * someOrders);
    served.signal("SIGKILL");
    await served.ended;
    served = await serve(new URL(url).port);
    // The batch either waited for the server or ended without success, and is run again.
    if (isOver) ({ output, ended } = batch());
  }
  let ran = await ended;
  for (let more = 0; more < 3 && ran.exit !== 0; more += 1) ran = await batch().ended;
  assert.equal(ran.exit, 0, ran.stderr);
  await served.stop();
  const { ok, entries } = await audit();
  assert.deepEqual([ok, entries], [true, accounts + someOrders]);
});

for (const where of ["in its own process", "at a server"]) {
  test(`A long batch ${where} that is killed and run again neither loses nor doubles a line`, async (t) => {
    const { place: local, file, serve, audit } = await desk(t, manyOrders);
    const server = where === "at a server" ? await serve() : undefined;
    const place = { env: { ...local.env, ...(server && { FX_URL: server.url }) } };
    for (const share of [0.3, 0.6]) {
      const batch = spawnFx(["batch", file], place);
      await after(share * manyOrders, batch, () => batch.child.kill("SIGKILL"));
      assert.equal((await batch.ended).exit, null);
    }
    const ran = await runFx(["batch", file], place);
    assert.equal(ran.exit, 0, ran.stderr);
    const results = ran.stdout.trimEnd().split("\n");
    assert.equal(results.length, manyOrders);
    assert.ok(results.filter((line) => JSON.parse(line).replayed).length > 0.5 * manyOrders);
    await server?.stop();
    const { ok, entries } = await audit();
    assert.deepEqual([ok, entries], [true, accounts + manyOrders]);
  });
}

for (const [how, interrupt] of [
  ["stopped by Ctrl-C", ({ child }) => child.kill("SIGINT")],
  ["interrupted twice, while nobody reads its results,", interruptTwice],
] as readonly [string, (batch: Batch) => unknown][]) {
  test(`A long local batch ${how} ends with exit 130, and the next run does the rest`, async (t) => {
    const { place, file, audit } = await desk(t, mostOrders);
    const batch = spawnFx(["batch", file], place);
    await after(0.1 * mostOrders, batch, () => interrupt(batch));
    const { exit, stdout, stderr } = await batch.ended;
    assert.equal(exit, 130, stderr);
    assert.ok(linesIn(stdout) < mostOrders);
    // A batch that is interrupted twice has not reported all that it did.
    if (interrupt !== interruptTwice) assert.equal((await audit()).entries, accounts + linesIn(stdout));
    assert.equal((await runFx(["batch", file], place)).exit, 0);
    const { ok, entries } = await audit();
    assert.deepEqual([ok, entries], [true, accounts + mostOrders]);
  });
}

/** Interrupts a batch that cannot end by itself, as its results are not read. */
async function interruptTwice({ child }: Batch): Promise<void> {
  child.stdout.pause();
  child.kill("SIGINT");
  // Earlier, it would count as the same Ctrl-C; later, the thread would be done.
  await pause(sameSignalMs + 20);
  child.kill("SIGINT");
  await pause(500);
  child.stdout.resume();
}
