import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { balanceOf } from "../../src/core/account.ts";
import { pln } from "../../src/core/currency.ts";
import { Histogram } from "../../src/core/histogram.ts";
import { fetchOutcomes, type RatesStatus, type RateTable } from "../../src/core/rates.ts";
import { openMetrics } from "../../src/http/metrics.ts";
import { sendBulk } from "../support/bulk.ts";
import { adult, now } from "../support/fixture.ts";
import { send } from "../support/http.ts";
import { startServer, type TestServer } from "../support/server.ts";

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

describe("orders by pair", () => {
  const count = () => valuesOf("fx_pair_orders_total");

  test("are counted by what became of them", async () => {
    await exchange({}, { "idempotency-key": "k" });
    await exchange({}, { "idempotency-key": "k" });
    await exchange({ toBuy: 1e6 });
    await exchange({ from: "usd", to: "pln", toBuy: undefined, toSell: 1 });
    assert.deepEqual(await count(), {
      'from="PLN",to="USD",result="settled"': 1,
      'from="PLN",to="USD",result="replayed"': 1,
      'from="PLN",to="USD",result="insufficient-funds"': 1,
      'from="USD",to="PLN",result="settled"': 1,
    });
  });

  test("are counted in bulks too", async () => {
    await sendBulk(server.url, [order, order, "{"]);
    assert.deepEqual(await count(), { 'from="PLN",to="USD",result="settled"': 2 });
  });

  test("take no label from a client: a currency that is not quoted is other", async () => {
    await exchange({ to: "ABC" });
    await exchange({ from: "ABD", to: "THB" });
    await exchange({ from: "x".repeat(500) });
    assert.deepEqual(await count(), {
      'from="PLN",to="other",result="unsupported-currency"': 1,
      'from="other",to="other",result="unsupported-currency"': 1,
      'from="other",to="USD",result="unsupported-currency"': 1,
    });
  });

  test("that cannot be read have the pair other", async () => {
    await exchange({ pesel: 1 });
    assert.deepEqual(await count(), { 'from="other",to="other",result="invalid-request"': 1 });
  });

  test("add up to the orders by result", async () => {
    await exchange();
    await exchange({ to: "ABC" });
    await sendBulk(server.url, [order]);
    const sum = (counts: Record<string, number>) => Object.values(counts).reduce((all, one) => all + one);
    assert.equal(sum(await count()), sum(await valuesOf("fx_orders_total")));
  });
});

describe("what was exchanged", () => {
  test("is counted in units of each currency, on the customer's side", async () => {
    await exchange();
    await exchange({ to: "JPY", toBuy: 100 });
    const volume = await valuesOf("fx_exchanged_total");
    assert.equal(volume['currency="USD",side="bought"'], 10);
    assert.equal(volume['currency="JPY",side="bought"'], 100);
    const left = balanceOf(await server.service.account(pesel), pln);
    assert.equal(volume['currency="PLN",side="sold"'], Number(100_000n - left) / 100);
  });

  test("is 0 from the start for each currency that is quoted", async () => {
    const volume = await valuesOf("fx_exchanged_total");
    assert.equal(volume['currency="PLN",side="sold"'], 0);
    assert.equal(volume['currency="USD",side="bought"'], 0);
  });

  test("leaves out what was answered again, and what was refused", async () => {
    await exchange({}, { "idempotency-key": "k" });
    await exchange({}, { "idempotency-key": "k" });
    await exchange({ toBuy: 1e6 });
    assert.equal((await valuesOf("fx_exchanged_total"))['currency="USD",side="bought"'], 10);
  });
});

describe("commits", () => {
  test("are counted with their size and their time", async () => {
    const before = await valuesOf("fx_batch_requests_sum");
    await sendBulk(server.url, [order, order, order]);
    assert.equal((await valuesOf("fx_batch_requests_sum"))[""], (before[""] ?? 0) + 3);
    const { "": batches } = await valuesOf("fx_batch_requests_count");
    assert.deepEqual(await valuesOf("fx_commit_duration_seconds_count"), { "": batches });
    assert.ok(((await valuesOf("fx_commit_duration_seconds_sum"))[""] ?? 0) > 0);
  });

  test("are counted when they fail", async (t) => {
    const { "": before = 0 } = await valuesOf("fx_commit_duration_seconds_count");
    t.mock.method(server.store, "transact", async () => {
      throw new Error("the disk is gone");
    });
    await exchange();
    assert.deepEqual(await valuesOf("fx_commit_duration_seconds_count"), { "": before + 1 });
  });

  test("leave a queue of what waits for them", async (t) => {
    const { store } = server;
    const transact = store.transact.bind(store);
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begun = () => {};
    const first = new Promise<void>((resolve) => {
      begun = resolve;
    });
    t.mock.method(store, "transact", async (...args: Parameters<typeof transact>) => {
      begun();
      await gate;
      return transact(...args);
    });
    const orders = [exchange()];
    await first;
    orders.push(exchange(), exchange());
    while ((await valuesOf("fx_waiting_requests"))[""] !== 2);
    release();
    await Promise.all(orders);
    assert.deepEqual(await valuesOf("fx_waiting_requests"), { "": 0 });
  });
});

test("the text is made in parts, with a rest after each metric", async () => {
  let askedSinceRest = 0;
  let most = 0;
  const rates = (): RatesStatus => {
    askedSinceRest += 1;
    most = Math.max(most, askedSinceRest);
    const fetches = { accepted: 0, unchanged: 0, refused: 0, failed: 0 };
    return {
      source: "demo",
      recorded: true,
      table: undefined,
      notTraded: "There is no rate table yet.",
      problem: undefined,
      clock: undefined,
      heldBack: undefined,
      fetches,
    };
  };
  const commits = () => ({ waiting: 0, sizes: new Histogram([1]), seconds: new Histogram([1]) });
  const probes = { version: "1.2.3", store: "memory", rates, commits };
  const metrics = openMetrics({ probes, now: () => now });
  await metrics.text(async () => {
    askedSinceRest = 0;
  });
  assert.equal(most, 1);
});

describe("the rate table", () => {
  /** The metrics of a process with this state of the rates, at `at`. */
  async function gauges(at: string, state: Partial<RatesStatus>): Promise<string> {
    const rates = { ...server.rates.status(), ...state };
    const commits = () => ({ waiting: 0, sizes: new Histogram([1]), seconds: new Histogram([1]) });
    const probes = { version: "1.2.3", store: "memory", rates: () => rates, commits };
    const metrics = openMetrics({ probes, now: () => new Date(at) });
    return (await metrics.text(async () => {})).toString();
  }

  for (const [at, effectiveDate, seconds] of [
    ["2026-06-07T22:00:00Z", "2026-06-08", 0],
    ["2026-06-07T22:30:00Z", "2026-06-08", 1800],
    ["2026-12-07T23:30:00Z", "2026-12-08", 1800],
    ["2026-06-08T12:00:00Z", "2026-06-09", 0],
    ["2026-06-08T12:00:00Z", "2027-06-08", 0],
  ] as const) {
    test(`has an age that is never negative: at ${at}, one of ${effectiveDate} is ${seconds} s old`, async () => {
      const table = { ...(server.rates.status().table as RateTable), effectiveDate };
      assert.match(await gauges(at, { table }), new RegExp(`^fx_rates_table_age_seconds ${seconds}$`, "m"));
    });
  }

  for (const [heldBack, value] of [
    [undefined, 0],
    ["109/C/NBP/2026", 1],
  ] as const) {
    test(`is told to be held back as ${value} where that is ${heldBack ?? "none"}`, async () => {
      const text = await gauges("2026-06-08T12:00:00Z", { heldBack });
      assert.match(text, new RegExp(`^fx_rates_held_back ${value}$`, "m"));
    });
  }

  test("that orders do not settle at is told as fx_trading 0", async () => {
    assert.match(await gauges("2026-06-08T12:00:00Z", { notTraded: "It is too old." }), /^fx_trading 0$/m);
    assert.match(await gauges("2026-06-08T12:00:00Z", {}), /^fx_trading 1$/m);
  });
});

test("rate fetches are counted by outcome from 0", async () => {
  const expected = fetchOutcomes.map((outcome) => [`outcome="${outcome}"`, 0]);
  assert.deepEqual(await valuesOf("fx_rate_fetches_total"), Object.fromEntries(expected));
});

test("the delay of the event loop is told", async () => {
  await send(server.url, "GET", "/metrics");
  for (const what of ["p50", "p99", "max"]) {
    const { "": seconds = Number.NaN } = await valuesOf(`nodejs_eventloop_lag_${what}_seconds`);
    assert.ok(seconds >= 0, what);
  }
});
