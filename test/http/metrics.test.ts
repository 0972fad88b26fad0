import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { balanceOf } from "../../src/core/account.ts";
import { pln } from "../../src/core/currency.ts";
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

describe("orders", () => {
  test("Orders are counted by pair and outcome, those of a batch too, and a pair that cannot be read or is not quoted is other", async () => {
    const key = { "idempotency-key": "k" };
    for (const [fields, headers] of [
      [{}, key],
      [{}, key],
      [{ toBuy: 1e6 }, {}],
      [{ from: "usd", to: "pln", toBuy: undefined, toSell: 1 }, {}],
      [{ to: "ABC" }, {}],
      [{ from: "ABD", to: "THB" }, {}],
      [{ from: "x".repeat(500) }, {}],
      [{ pesel: 1 }, {}],
    ] as const) {
      await exchange(fields, headers);
    }
    await sendBulk(server.url, [order, order, "{"]);
    const byPair = await valuesOf("fx_pair_orders_total");
    assert.deepEqual(byPair, {
      'from="PLN",to="USD",result="settled"': 3,
      'from="PLN",to="USD",result="replayed"': 1,
      'from="PLN",to="USD",result="insufficient-funds"': 1,
      'from="USD",to="PLN",result="settled"': 1,
      'from="PLN",to="other",result="unsupported-currency"': 1,
      'from="other",to="other",result="unsupported-currency"': 1,
      'from="other",to="USD",result="unsupported-currency"': 1,
      'from="other",to="other",result="invalid-request"': 1,
    });
    const sum = (counts: Record<string, number>) => Object.values(counts).reduce((all, one) => all + one);
    assert.equal(sum(byPair), sum(await valuesOf("fx_orders_total")));
  });

  test("Amounts exchanged are counted from 0 in units of each currency, as the customer sold and bought, without repeated and refused orders", async () => {
    const exchanged = () => valuesOf("fx_exchanged_total");
    const none = await exchanged();
    assert.deepEqual([none['currency="PLN",side="sold"'], none['currency="USD",side="bought"']], [0, 0]);
    for (const _ of [1, 2]) await exchange({}, { "idempotency-key": "k" });
    await exchange({ to: "JPY", toBuy: 100 });
    await exchange({ toBuy: 1e6 });
    const volume = await exchanged();
    assert.equal(volume['currency="USD",side="bought"'], 10);
    assert.equal(volume['currency="JPY",side="bought"'], 100);
    const left = balanceOf(await server.service.account(pesel), pln);
    assert.equal(volume['currency="PLN",side="sold"'], Number(100_000n - left) / 100);
  });
});

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

test("rate fetches are counted by outcome from 0", async () => {
  const expected = fetchOutcomes.map((outcome) => [`outcome="${outcome}"`, 0]);
  assert.deepEqual(await valuesOf("fx_rate_fetches_total"), Object.fromEntries(expected));
});
