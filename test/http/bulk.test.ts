import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent } from "node:http";
import { before, describe, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { FxError } from "../../src/core/errors.ts";
import type { ExchangeService } from "../../src/core/service.ts";
import { linesBeforeReading } from "../../src/wire/bulk.ts";
import { engines } from "../support/adapters.ts";
import { BulkClient, brief, linesType, sendBulk } from "../support/bulk.ts";
import { adult } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { headOf, openConnection } from "../support/raw-connection.ts";
import { startServer, type TestServer, useServer } from "../support/server.ts";
import { everyPage } from "../support/service.ts";
import { until } from "../support/until.ts";

const pesel = adult(1);
const opening = { name: "Jan", surname: "Kowalski", pesel, pln: 100_000 };
const order = { pesel, from: "PLN", to: "USD", toBuy: 1 };
const deposit = { kind: "deposit", pesel, amount: 101, currency: "usd", note: "Counter 2" };
/** A service over a store that somebody else closes. */
const lasting = { close: async () => {} };
/** `count` orders with keys. */
const orders = (count: number, name = "k") =>
  Array.from({ length: count }, (_, index) => ({ ...order, key: `${name}:${index}` }));

async function started(t: TestContext, ...args: Parameters<typeof startServer>): Promise<TestServer> {
  const server = await startServer(...args);
  t.after(() => server.app.close());
  return server;
}

async function opened(t: TestContext, ...args: Parameters<typeof startServer>): Promise<TestServer> {
  const server = await started(t, ...args);
  assert.equal((await send(server.url, "POST", "/api/user", { body: opening })).status, 204);
  return server;
}

/** The keys of the account's exchanges, each as often as it was done. */
async function keysDone(service: ExchangeService): Promise<(string | undefined)[]> {
  const entries = await everyPage((page) => service.statement(pesel, page));
  return entries
    .filter(({ kind }) => kind === "exchange")
    .map(({ key }) => key)
    .sort();
}

async function linesCounted(url: string): Promise<Record<string, number>> {
  const { text } = await send(url, "GET", "/metrics");
  const counted = [...text.matchAll(/^fx_bulk_lines_total\{result="(.*)"\} (\d+)$/gm)];
  return Object.fromEntries(counted.map(([, result, count]) => [result, Number(count)]));
}

for (const adapter of engines) {
  describe(`a batch over ${adapter.name}`, () => {
    test("A batch that is cut off and sent again does each of its lines once", async (t) => {
      const { url, service } = await opened(t, lasting, "", { store: await adapter.open(t) });
      const lines = orders(2000);
      for (const [sent, answered] of [
        ...[
          [1, 0],
          [60, 0],
          [60, 1],
          [1000, 0],
          [1000, 1],
        ],
        ...[
          [2000, 0],
          [2000, 300],
          [2000, 900],
        ],
      ] as [number, number][]) {
        const client = new BulkClient(url);
        client.write(...lines.slice(0, sent));
        for (let count = 0; count < answered; count += 1) await client.next();
        client.cut();
      }
      const answers = await sendBulk(url, lines);
      assert.ok(answers.every(({ status }) => status === 200));
      assert.deepEqual(await keysDone(service), lines.map(({ key }) => key).sort());
      assert.deepEqual((await service.audit()).findings, []);
    });

    test("A batch that a stop ends has done what it answered, and nothing else", async (t) => {
      const store = await adapter.open(t);
      const server = await opened(t, lasting, "", { store });
      const client = new BulkClient(server.url);
      client.write(...orders(1000));
      const first = await client.next();
      const stopped = server.close();
      const answers = await client.rest();
      await stopped;
      const last = answers.pop();
      assert.deepEqual([last?.line, last?.status, last?.problem?.code], [null, 503, "overloaded"]);
      assert.deepEqual(
        [first, ...answers].map((answer) => answer?.line),
        Array.from({ length: answers.length + 1 }, (_, index) => index + 1),
      );
      const done = orders(answers.length + 1).map(({ key }) => key);
      assert.deepEqual(await keysDone(server.service), done.sort());
    });
  });
}

describe("a line of a batch", () => {
  const server = useServer();
  before(async () => {
    await send(server.url, "POST", "/api/user", { body: opening });
  });

  const person = { ...opening, pesel: adult(2) };
  for (const [name, path, line] of [
    ["that is not JSON", "exchange", "{"],
    ["that is no object", "exchange", "[1]"],
    ["with a field twice", "exchange", JSON.stringify(order).replace("{", '{"toBuy":1,')],
    ["with too many digits", "exchange", JSON.stringify(order).replace(":1}", ":1.00000000000000001}")],
    ["with an unknown field", "exchange", { ...order, tobuy: 1 }],
    ["without an amount", "exchange", { ...order, toBuy: undefined }],
    ["with both amounts", "exchange", { ...order, toSell: 1 }],
    ["that is not UTF-8", "exchange", Buffer.from('{"pesel":"\xff"}', "latin1")],
    ["with a name too long", "user", { ...person, name: "x".repeat(101) }],
    ["without a balance", "user", { ...person, pln: undefined }],
    ["with an impossible PESEL", "user", { ...person, pesel: "1" }],
    ["of an account that exists", "user", opening],
    ["with a note too long", "deposits", { ...deposit, note: "x".repeat(201) }],
    ["of a deposit without an amount", "deposits", { ...deposit, amount: undefined }],
    ["of a deposit with an unknown field", "deposits", { ...deposit, pln: 1 }],
    ["of a withdrawal without cover", "withdrawals", { ...deposit, kind: "withdrawal" }],
  ] as const) {
    test(`A line ${name} is refused as a request of its own is`, async () => {
      const paths = { user: "/api/user", exchange: `/api/exchange/${pesel}` };
      const at = path === "user" || path === "exchange" ? paths[path] : `/api/user/${pesel}/${path}`;
      const body = typeof line === "string" || line instanceof Buffer ? line : JSON.stringify(bodyIn(line));
      const headers = { "content-type": "application/json" };
      const single = await send(server.url, "POST", at, { headers, body });
      const alone = isProblem(single);
      const [answer, next] = await sendBulk(server.url, [line, order]);
      const { instance, ...problem } = alone;
      const detail = problem.detail.replace(/^The body/, "The line").replace("in the body", "in the line");
      // A line has more fields.
      const told = JSON.stringify({ ...answer?.problem, instance }).replaceAll(/ Known: [\w, ]+/g, "");
      assert.match(answer?.problem?.instance ?? "", /^urn:fx:request:./);
      assert.deepEqual(
        JSON.parse(told),
        JSON.parse(JSON.stringify({ ...problem, instance, detail }).replaceAll(/ Known: [\w, ]+/g, "")),
      );
      assert.equal(answer?.status, single.status);
      assert.equal(next?.status, 200);
    });
  }

  test("A line of more than 16 KiB is refused, however long, and the lines after it are done", async () => {
    const padded = (length: number) => JSON.stringify(order).padEnd(length, " ");
    const lines = [padded(16_384), padded(16_385), "x".repeat(20_000_000), order, padded(1).padStart(20_000)];
    const answers = await sendBulk(server.url, lines);
    assert.deepEqual(answers.map(brief), [
      "1 200",
      "2 400 invalid-request",
      "3 400 invalid-request",
      "4 200",
      "5 400 invalid-request",
    ]);
    assert.equal(answers[2]?.problem?.detail, "The line is longer than 16 KiB.");
  });

  test("A blank line counts, and is not answered", async () => {
    const answers = await sendBulk(server.url, [
      "\ufeff",
      "",
      " \t",
      `${JSON.stringify(order)}\r`,
      "\r",
      order,
    ]);
    assert.deepEqual(answers.map(brief), ["4 200", "6 200"]);
  });
});

describe("a batch over HTTP", () => {
  const server = useServer();
  before(async () => {
    await send(server.url, "POST", "/api/user", { body: opening });
  });

  test("A batch begins its answer before the first line", async () => {
    const client = new BulkClient(server.url);
    const { statusCode, headers } = await client.response();
    assert.deepEqual([statusCode, headers["content-type"]], [200, "application/x-ndjson; charset=utf-8"]);
    assert.equal(headers["cache-control"], "no-store");
    client.end();
    assert.deepEqual(await client.rest(), []);
  });

  test("A batch answers a line before the next one comes, and single requests go between", async () => {
    const client = new BulkClient(server.url);
    for (const line of [1, 3]) {
      client.write(order, "{");
      const answer = await client.next();
      assert.equal(answer?.line, line);
      assert.equal((await client.next())?.line, line + 1);
      const single = await send(server.url, "POST", `/api/exchange/${pesel}`, { body: order });
      const held = single.json as NonNullable<typeof answer>["account"];
      assert.equal(held?.currencies[1]?.amount, (answer?.account?.currencies[1]?.amount ?? 0) + 1);
    }
    client.end();
    assert.deepEqual(await client.rest(), []);
  });

  test("A batch is refused while 64 are under way", async () => {
    const clients = Array.from({ length: 64 }, () => new BulkClient(server.url));
    for (const client of clients) await client.response();
    const refused = new BulkClient(server.url);
    const { statusCode, headers } = await refused.response();
    refused.end();
    assert.deepEqual([statusCode, headers["retry-after"]], [503, "5"]);
    for (const client of clients) client.end();
    for (const client of clients) assert.deepEqual(await client.rest(), []);
    const later = new BulkClient(server.url);
    assert.equal((await later.response()).statusCode, 200);
    later.end(order);
    assert.equal((await later.rest()).length, 1);
  });

  test("A batch may come with or without Content-Length, and with Expect: 100-continue", async () => {
    const text = `${JSON.stringify(order)}\n`;
    const length = { ...linesType, "content-length": String(text.length) };
    for (const headers of [length, linesType, { ...length, expect: "100-continue" }]) {
      assert.deepEqual((await sendBulk(server.url, [order], { headers })).map(brief), ["1 200"]);
    }
  });

  test("A batch leaves its connection to the next request", async (t) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.after(() => agent.destroy());
    const first = new BulkClient(server.url, { agent });
    first.end(order);
    assert.equal((await first.rest()).length, 1);
    const second = new BulkClient(server.url, { agent });
    second.end(order);
    assert.equal((await second.rest()).length, 1);
    assert.equal(second.request.reusedSocket, true);
  });

  test("A batch logs a failure of the store once, and answers it for each line", async (t) => {
    const { url, store, log } = await opened(t);
    t.mock.method(store, "transact", async () => {
      throw new FxError("storage-unavailable", "The disk is gone.");
    });
    const answers = await sendBulk(url, Array(500).fill(order));
    assert.deepEqual([...new Set(answers.map(({ problem }) => problem?.code))], ["storage-unavailable"]);
    assert.equal(answers.length, 500);
    assert.equal(log().match(/"msg":"failed"/g)?.length, 1);
  });
});

/** A line with an answer of 2 KiB. Thousands of them fill the buffers of a connection. */
const longAnswered = Object.fromEntries(
  Array.from({ length: 20 }, (_, index) => ["x".repeat(40) + index, 1]),
);

describe("a client of a batch", () => {
  test("A client of a batch that does not read is not read either, and gets all answers once it reads", async (t) => {
    const { url } = await started(t);
    const client = new BulkClient(url);
    const response = await client.response();
    const total = 12_000;
    client.end(...Array(total).fill(longAnswered));
    let [before, counted] = [-1, 0];
    while (counted > before || counted === 0) {
      before = counted;
      await pause(300);
      counted = (await linesCounted(url))["invalid-request"] ?? 0;
    }
    assert.ok(counted < total, `${counted} lines were answered`);
    assert.equal(response.readableFlowing, null);
    assert.equal((await client.rest()).length, total);
  });

  test("A client of a batch that sends 1,000 lines before it reads gets all their answers", async (t) => {
    const { url } = await opened(t, {}, "", { bulkIdleTimeoutMs: 2000 });
    const client = new BulkClient(url);
    client.end(...orders(linesBeforeReading));
    await once(client.request, "finish");
    assert.equal((await client.rest()).filter(({ status }) => status === 200).length, linesBeforeReading);
  });

  test("A client that sends too many lines before it reads gets their answers, and then why its batch ended", async (t) => {
    const { url, log } = await started(t, {}, "", { bulkIdleTimeoutMs: 2000 });
    const client = new BulkClient(url);
    client.end(...Array(20_000).fill(longAnswered));
    await once(client.request, "finish");
    await until(() => log().includes('"ended"') || client.request.writableLength === 0);
    const answers = await client.rest();
    const last = answers.at(-1);
    assert.ok(answers.length > linesBeforeReading && answers.length < 20_000, String(answers.length));
    assert.deepEqual([last?.line, last?.problem?.code], [null, "overloaded"]);
    assert.match(last?.problem?.detail ?? "", /Read answers while you send, or send at most 1000 lines/);
    assert.ok(answers.slice(0, -1).every(({ line }, index) => line === index + 1));
  });

  test("The line of a batch that was cut off in the log counts every line that was settled", async (t) => {
    const { url, service, log } = await opened(t);
    const client = new BulkClient(url);
    client.write(...orders(3000));
    await client.next();
    client.cut();
    await until(() => log().includes('"ended":"cut"'));
    const [, settled] = /"lines":\{"settled":(\d+)\}/.exec(log()) ?? [];
    const { length } = await keysDone(service);
    assert.ok(length > 64, String(length));
    assert.equal(Number(settled), length);
  });

  test("A client of a batch that is silent for too long is told so", async (t) => {
    const { url, log } = await opened(t, {}, "", { bulkIdleTimeoutMs: 1000 });
    const client = new BulkClient(url);
    client.write(order);
    client.request.write('{"pesel":');
    const answers = await client.rest();
    assert.deepEqual(answers.map(brief), ["1 200", " 503 overloaded"]);
    assert.equal(answers[1]?.line, null);
    await until(() => log().includes('"ended":"overloaded"'));
  });

  test("A client of a batch that never reads its answers is cut off", async (t) => {
    const { url, log } = await started(t, {}, "", { bulkIdleTimeoutMs: 2000 });
    const text = Array(12_000).fill(JSON.stringify(longAnswered)).join("\n");
    const client = new BulkClient(url);
    await client.response();
    client.end(text);
    await until(() => log().includes('"ended"'));
    assert.match(log(), /"ended":"cut"/);
  });

  test("A batch may take longer than the time limit for receiving a request", async (t) => {
    const { app, url } = await opened(t);
    const connected = once(app.server, "connection");
    const client = new BulkClient(url);
    const [socket] = await connected;
    client.write(order);
    assert.equal((await client.next())?.status, 200);
    // As Node does when requestTimeout is over.
    const late = Object.assign(new Error("late"), { code: "ERR_HTTP_REQUEST_TIMEOUT" });
    app.server.emit("clientError", late, socket);
    client.end(order);
    assert.deepEqual((await client.rest()).map(brief), ["2 200"]);
  });

  test("A batch that breaks the chunked encoding is cut off", async (t) => {
    const { url, log } = await opened(t);
    const { socket, until: seen, closed } = await openConnection(url);
    const types = ["Content-Type: application/x-ndjson", "Transfer-Encoding: chunked"];
    socket.write(headOf("POST /api/bulk", ...types));
    await seen(/200 OK/);
    socket.write("no length\r\n");
    await closed;
    await until(() => log().includes('"ended":"cut"'));
  });
});

describe("a stop", () => {
  test("A stop ends the batch of a client that sends nothing more", async (t) => {
    const { app, url } = await opened(t);
    const client = new BulkClient(url);
    client.write(order);
    client.request.write('{"pesel":');
    await client.next();
    const closed = app.close();
    assert.deepEqual((await client.rest()).map(brief), [" 503 overloaded"]);
    await closed;
  });

  test("A stop ends the batch of a client that never stops sending", async (t) => {
    const { app, url } = await opened(t);
    const client = new BulkClient(url);
    const flood = setInterval(() => client.write(...Array(50).fill(order)), 5);
    t.after(() => clearInterval(flood));
    await client.next();
    const closed = app.close();
    const answers = await client.rest();
    assert.equal(brief(answers.at(-1) as (typeof answers)[number]), " 503 overloaded");
    assert.ok(answers.slice(0, -1).every(({ status }) => status === 200));
    await closed;
  });

  test("A batch that comes during a stop is refused", async (t) => {
    const { app, url } = await opened(t);
    const { socket, closed: ended, received } = await openConnection(url);
    socket.write("POST /api/bulk HTTP/1.1\r\n");
    await until(async () => (await send(url, "GET", "/health/live")).status === 200);
    const closed = app.close();
    await new Promise(setImmediate);
    socket.write("Host: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: 0\r\n\r\n");
    await ended;
    assert.match(received(), /503 Service Unavailable[\s\S]*overloaded/);
    await closed;
  });
});

/** The body of the single request that asks for the same as a line. */
function bodyIn(line: object): object {
  if (!("kind" in line)) return line;
  const { kind: _, pesel: __, ...body } = line as typeof deposit;
  return body;
}
