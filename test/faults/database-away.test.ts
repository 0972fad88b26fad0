import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { LedgerService } from "../../src/ledger/service.ts";
import { openPostgres } from "../../src/postgres/store.ts";
import { adult, fixedRates, opening } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { createDatabase } from "../support/postgres.ts";
import { Network } from "../support/proxy.ts";
import { headOf, openConnection } from "../support/raw-connection.ts";
import { startFx } from "../support/run-fx.ts";
import { runHere } from "../support/run-here.ts";
import { until } from "../support/until.ts";
import { centOrder, type OrderAnswer, sendOrder } from "./orders.ts";

const accounts = 50;

/** `fx serve` and its database, with a network between them that can fail. */
async function start(t: TestContext, { parameters = "", heapMb = 4096 } = {}) {
  const database = await createDatabase();
  const store = await openPostgres(database.url);
  const service = new LedgerService(store, fixedRates());
  const openings = Array.from({ length: accounts }, (_, index) => opening({ index }));
  await Promise.all(openings.map((each) => service.createAccount(each)));
  const network = await Network.open(database.url);
  const served = await startFx(["--rates", "demo", "--log-level", "silent"], {
    env: { FX_DB: `${network.url}${parameters}`, NODE_OPTIONS: `--max-old-space-size=${heapMb}` },
  });
  t.after(async () => {
    network.restore();
    await served.stop();
    await network.close();
    await store.close();
    await database.drop();
  });
  return { database, network, url: served.url };
}

const statusOfReady = async (url: string) => (await send(url, "GET", "/health/ready")).status;

test("A server without its database keeps running, and is not ready until the database is back", async (t) => {
  const { network, url } = await start(t);
  for (const goAway of [() => network.cut(), () => network.silence()]) {
    assert.equal(await statusOfReady(url), 200);
    goAway();
    const answer = await send(url, "GET", "/health/ready");
    assert.equal(answer.status, 503);
    assert.equal((answer.json as { status: string }).status, "store-unavailable");
    assert.equal((await send(url, "GET", "/health/live")).status, 200);
    network.restore();
    await until(async () => (await statusOfReady(url)) === 200);
  }
});

test("fx doctor waits for what a server without its database says, and has its reason", async (t) => {
  const { network, url } = await start(t);
  network.cut();
  const { stdout, exit } = await runHere(["doctor", "--url", url]);
  assert.match(stdout, /check\tserver\twrong\t.*: store-unavailable,/);
  assert.match(stdout, /check\ttable\twrong\tThe database /);
  assert.equal(exit, 11);
});

/** Number of requests that a server admits before it knows its own speed. */
const taken = 2048;

test("Orders over the admission limit are refused without using memory; admitted ones are settled or not begun", async (t) => {
  const { network, url, database } = await start(t, { parameters: "?deadline=60", heapMb: 384 });
  assert.equal((await sendOrder(url, centOrder(adult(), "first"))).status, 200);
  network.cut();
  const waiting = await pipeline(url, taken, "waiting", taken);
  const probes = await overloadedSoon(url);
  const refused = await pipeline(url, 4 * taken, "refused", 1000);
  assert.deepEqual(await refused.answers(), { "503": 4 * taken });

  network.restore();
  // Orders that waited for more than 10 s are refused without being begun.
  const { "200": settled = 0, "503": late = 0, ...others } = await waiting.answers();
  assert.deepEqual(others, {});
  assert.equal(settled + late, taken);
  assert.ok(settled >= 1, "those that were under way");
  const probed = (await Promise.all(probes)).filter(({ status }) => status === 200).length;
  const [{ entries } = {}] = await database.run("select count(*)::int as entries from journal");
  assert.equal(entries, accounts + 1 + settled + probed);
});

/** Sends orders until one is refused as overloaded, and returns those without an immediate answer. */
async function overloadedSoon(url: string): Promise<readonly Promise<OrderAnswer>[]> {
  const waiting: Promise<OrderAnswer>[] = [];
  for (;;) {
    const asked = sendOrder(url, centOrder(adult(), `probe-${waiting.length}`));
    const answer = await Promise.race([asked, pause(2000)]);
    if (answer !== undefined) {
      assert.equal(answer.status, 503);
      isProblem(answer, "overloaded");
      assert.equal(answer.headers.get("retry-after"), "1");
      return waiting;
    }
    waiting.push(asked);
    assert.ok(waiting.length < 60, "the queue is full");
  }
}

/** Pipelines orders over several connections. */
async function pipeline(url: string, count: number, name: string, connections: number) {
  const pipes = Array.from({ length: connections }, async (_, index) => {
    const connection = await openConnection(url);
    const mine = Math.ceil((count - index) / connections);
    for (let sent = 0; sent < mine; sent += 1) {
      const { key, ...body } = centOrder(adult(sent % accounts), `${name}-${index}-${sent}`);
      const text = JSON.stringify(body);
      const headers = ["Content-Type: application/json", `Content-Length: ${text.length}`];
      const head = headOf(`POST /api/exchange/${body.pesel}`, ...headers, `Idempotency-Key: ${key}`);
      connection.socket.write(head + text);
    }
    return async () => {
      await connection.until(new RegExp(`(HTTP/1\\.1 \\d{3}[\\s\\S]*){${mine}}`));
      connection.socket.destroy();
      return connection.statuses();
    };
  });
  const open = await Promise.all(pipes);
  return {
    /** Waits for all answers, and returns their number by status. */
    answers: async () => {
      const counts: Record<number, number> = {};
      for (const statuses of open) {
        for (const status of await statuses()) counts[status] = (counts[status] ?? 0) + 1;
      }
      return counts;
    },
  };
}
