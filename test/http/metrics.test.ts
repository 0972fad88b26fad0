import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { answerCodes } from "../../src/core/errors.ts";
import { fetchOutcomes, type RatesStatus, type RateTable } from "../../src/core/rates.ts";
import { openMetrics } from "../../src/http/metrics.ts";
import { sendBulk } from "../support/bulk.ts";
import { adult } from "../support/fixture.ts";
import { openGate } from "../support/gate.ts";
import { send } from "../support/http.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const pesel = adult(1);
const order = { pesel, from: "PLN", to: "USD", toBuy: 10 };
let server: TestServer;

beforeEach(async () => {
  server = await startServer();
  await send(server.url, "POST", "/api/user", {
    body: { name: "Jan", surname: "Kowalski", pesel, pln: 1000 },
  });
});
afterEach(() => server.close());

const exchange = (fields: object = {}, headers: Record<string, string> = {}) =>
  send(server.url, "POST", `/api/exchange/${pesel}`, {
    body: { ...order, ...fields },
    headers: { "content-type": "application/json", ...headers },
  });

/** The values of a metric, by its labels as they stand in the text. */
async function valuesOf(name: string): Promise<Record<string, number>> {
  const { text } = await send(server.url, "GET", "/metrics");
  const rows = [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].filter(([, each]) => each === name);
  return Object.fromEntries(rows.map(([, , labels = "", value]) => [labels, Number(value)]));
}

describe("commits", () => {
  test("Commits are counted with their size and duration", async () => {
    const before = await valuesOf("fx_commit_requests_sum");
    await sendBulk(server.url, [order, order, order]);
    assert.equal((await valuesOf("fx_commit_requests_sum"))[""], (before[""] ?? 0) + 3);
    const { "": groups } = await valuesOf("fx_commit_requests_count");
    assert.deepEqual(await valuesOf("fx_commit_duration_seconds_count"), { "": groups });
    assert.ok(((await valuesOf("fx_commit_duration_seconds_sum"))[""] ?? 0) > 0);
  });

  test("Failed commits are counted", async (t) => {
    const { "": before = 0 } = await valuesOf("fx_commit_duration_seconds_count");
    t.mock.method(server.store, "transact", async () => {
      throw new Error("the disk is gone");
    });
    await exchange();
    assert.deepEqual(await valuesOf("fx_commit_duration_seconds_count"), { "": before + 1 });
  });

  test("Requests that wait for a commit are in the gauge", async (t) => {
    const { store } = server;
    const transact = store.transact.bind(store);
    const [gate, begun] = [openGate(), openGate()];
    t.mock.method(store, "transact", async (...args: Parameters<typeof transact>) => {
      begun.release();
      await gate.passed;
      return transact(...args);
    });
    const orders = [exchange()];
    await begun.passed;
    orders.push(exchange(), exchange());
    await until(async () => (await valuesOf("fx_waiting_requests"))[""] === 2);
    gate.release();
    await Promise.all(orders);
    assert.deepEqual(await valuesOf("fx_waiting_requests"), { "": 0 });
  });
});

describe("the rate table", () => {
  /** The metrics of a process with this state of the rates, at `at`. */
  async function gauges(at: string, state: Partial<RatesStatus>): Promise<string> {
    const rates = { ...server.rates.status(), ...state };
    const commits = { waiting: 0, observe: () => {} };
    const probes = { version: "1.2.3", store: "memory" as const, rates: () => rates, commits };
    const metrics = openMetrics({ probes, now: () => new Date(at) });
    return metrics.text();
  }

  for (const [at, effectiveDate, seconds] of [
    ["2026-06-07T22:00:00Z", "2026-06-08", 0],
    ["2026-06-07T22:30:00Z", "2026-06-08", 1800],
    ["2026-12-07T23:30:00Z", "2026-12-08", 1800],
    ["2026-06-08T12:00:00Z", "2026-06-09", 0],
    ["2026-06-08T12:00:00Z", "2027-06-08", 0],
  ] as const) {
    test(`The rate table has an age that is never negative: at ${at}, one of ${effectiveDate} is ${seconds} s old`, async () => {
      const table = { ...(server.rates.status().table as RateTable), effectiveDate };
      assert.match(await gauges(at, { table }), new RegExp(`^fx_rates_table_age_seconds ${seconds}$`, "m"));
    });
  }

  for (const [heldBack, value] of [
    [undefined, 0],
    ["109/C/NBP/2026", 1],
  ] as const) {
    test(`fx_rates_held_back is ${value} where ${heldBack ?? "no table"} is held back`, async () => {
      const text = await gauges("2026-06-08T12:00:00Z", { heldBack });
      assert.match(text, new RegExp(`^fx_rates_held_back ${value}$`, "m"));
    });
  }

  test("A rate table that is not there has no age", async () => {
    assert.doesNotMatch(
      await gauges("2026-06-08T12:00:00Z", { table: undefined }),
      /^fx_rates_table_age_seconds /m,
    );
  });

  test("fx_trading is 0 where orders do not settle", async () => {
    const notTraded = { code: "too-old", reason: "It is too old." } as const;
    assert.match(await gauges("2026-06-08T12:00:00Z", { notTraded }), /^fx_trading 0$/m);
    assert.match(await gauges("2026-06-08T12:00:00Z", {}), /^fx_trading 1$/m);
  });

  test("fx_trading_suspended tells a suspension from any other reason why orders do not settle", async () => {
    for (const [code, value] of [
      ["suspended", 1],
      ["too-old", 0],
    ] as const) {
      const text = await gauges("2026-06-08T12:00:00Z", { notTraded: { code, reason: "Why." } });
      assert.match(text, new RegExp(`^fx_trading_suspended ${value}$`, "m"));
    }
  });
});

test("Results of orders, amounts of the table's currencies and fetches of rates are counted from 0", async (t) => {
  const fresh = await startServer();
  t.after(() => fresh.close());
  const { text } = await send(fresh.url, "GET", "/metrics");
  const results = [...text.matchAll(/^fx_orders_total\{result="([a-z-]+)"\} 0$/gm)].map(
    ([, result]) => result,
  );
  assert.deepEqual(results, ["settled", "replayed", ...answerCodes]);
  for (const series of ['{currency="PLN",side="sold"}', '{currency="USD",side="bought"}']) {
    assert.ok(text.includes(`\nfx_exchanged_total${series} 0\n`), series);
  }
  for (const outcome of fetchOutcomes)
    assert.ok(text.includes(`\nfx_rate_fetches_total{outcome="${outcome}"} 0\n`));
});
