import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { FxError } from "../../src/core/errors.ts";
import type { ExchangeService } from "../../src/core/service.ts";
import { bulkType } from "../../src/wire/bulk.ts";
import { adult } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { getRequest, openConnection } from "../support/raw-connection.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const tlsFixture = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url));
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const path = `/api/user/${adult(1)}`;
/** The head of a request to open an account. */
const openingHead = (fields: string) =>
  `POST /api/user HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${fields}\r\n\r\n`;

/** A server whose accounts are read only once `release` was called; `seen` counts those asked for. */
async function startGated(options: Parameters<typeof startServer>[2] = {}) {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const seen = { asked: 0 };
  const account: ExchangeService["account"] = async (pesel) => {
    seen.asked += 1;
    await gate;
    return { pesel, name: "Jan", surname: "Kowalski", balances: [], closed: false, blocked: false };
  };
  const server = await startServer({ account }, "", options);
  return { server, seen, release };
}

describe("pipelined requests", () => {
  test("Sixteen pipelined requests are answered in their order", async (t) => {
    const { server, release } = await startGated();
    t.after(() => server.close());
    release();
    const connection = await openConnection(server.url);
    connection.get(path, ...numbers(15).map((index) => (index % 2 === 0 ? path : "/nothing")));
    await until(() => connection.statuses().length === 16);
    assert.deepEqual(
      connection.statuses(),
      numbers(16).map((index) => (index % 2 === 0 ? 404 : 200)),
    );
    connection.socket.destroy();
  });

  for (const count of [17, 1000]) {
    test(`A connection with ${count} pipelined requests is closed, and at most 16 are begun`, async (t) => {
      const { server, seen, release } = await startGated();
      t.after(() => server.close());
      const connection = await openConnection(server.url);
      connection.get(...numbers(count).map(() => path));
      await connection.closed;
      release();
      assert.ok(seen.asked <= 16, String(seen.asked));
      assert.equal((await send(server.url, "GET", path)).status, 200);
    });
  }

  test("Pipelined requests are carried out one after another", async (t) => {
    const { server, seen, release } = await startGated();
    t.after(() => server.close());
    const connection = await openConnection(server.url);
    connection.get(path, path, path);
    await pause(50);
    assert.equal(seen.asked, 1);
    release();
    await until(() => connection.statuses().length === 3);
    connection.socket.destroy();
  });

  for (const stream of ["/api/audit/comparison", "/api/bulk", "/api/bulk?dryRun=true"]) {
    test(`A request behind one to ${stream} that is over before its body was read is answered`, async (t) => {
      const server = await startServer();
      t.after(() => server.close());
      const connection = await openConnection(server.url);
      const body = `${"x".repeat(1000)}\n`.repeat(10);
      const head = `POST ${stream} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${bulkType}\r\n`;
      connection.socket.write(
        `${head}Content-Length: ${body.length}\r\n\r\n${body}${getRequest("/api/rates")}`,
      );
      await until(() => connection.statuses().length === 2 || connection.socket.closed);
      assert.equal(connection.statuses().length, 2, connection.received());
      connection.socket.destroy();
    });
  }

  test("A pipelined request is not begun once its client has gone", async (t) => {
    const { server, seen, release } = await startGated();
    t.after(() => server.close());
    const connection = await openConnection(server.url);
    connection.get(path, path);
    await until(() => seen.asked === 1);
    connection.reset();
    await until(() => server.log().split('"status":499').length === 3);
    release();
    assert.equal((await send(server.url, "GET", path)).status, 200);
    assert.equal(seen.asked, 2);
  });

  test("Pipelined requests are answered before a 400 for what is no HTTP behind them", async (t) => {
    const { server, seen, release } = await startGated();
    t.after(() => server.close());
    const connection = await openConnection(server.url);
    connection.socket.write(`${getRequest(path)}${getRequest(path)}no HTTP\r\n\r\n`);
    await until(() => seen.asked === 1);
    release();
    await connection.closed;
    assert.deepEqual(connection.statuses(), [200, 200, 400]);
  });

  const chunkedBulk = `POST /api/bulk HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${bulkType}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  for (const [fault, behind] of Object.entries({
    "is chunked wrongly": `${openingHead("Transfer-Encoding: chunked")}no chunk\r\n`,
    "does not arrive in time": `${openingHead("Content-Length: 9")}{`,
    "is a bulk that is chunked wrongly": `${chunkedBulk}no chunk\r\n`,
    "is a bulk that does not arrive in time": `${chunkedBulk}3\r\n{}\n\r\n`,
  })) {
    test(`A pipelined request has its own answer before the 400 for a body behind it that ${fault}`, async (t) => {
      const { server, seen, release } = await startGated({ requestTimeoutMs: 200 });
      t.after(() => server.close());
      const connection = await openConnection(server.url);
      connection.socket.write(getRequest(path) + getRequest(path) + behind);
      await until(() => seen.asked === 1);
      // Until after the time limit of the body.
      await pause(1500);
      assert.deepEqual(connection.statuses(), []);
      release();
      await connection.closed;
      assert.deepEqual(connection.statuses(), [200, 200, 400]);
    });
  }

  for (const over of ["http", "https"]) {
    test(`A request behind one whose answer closes the connection is not begun, over ${over}`, async (t) => {
      const tls =
        over === "https" ? { cert: tlsFixture("server.crt"), key: tlsFixture("server.key") } : undefined;
      const { server, seen, release } = await startGated(tls && { tls });
      t.after(() => server.close());
      release();
      const connection = await openConnection(server.url, tls && { rejectUnauthorized: false });
      const refused = `${openingHead("Content-Encoding: gzip\r\nContent-Length: 2")}{}`;
      connection.socket.write(refused + getRequest(path));
      await connection.closed;
      assert.deepEqual(connection.statuses(), [400]);
      await until(() => server.log().split('"status":').length === 3);
      assert.equal(seen.asked, 0);
    });
  }

  test("A bulk is answered to its end before a 400 for what is no HTTP behind it", async (t) => {
    const { server } = await startGated();
    t.after(() => server.close());
    const connection = await openConnection(server.url);
    const head = `POST /api/bulk HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${bulkType}\r\nContent-Length: 6\r\n\r\n`;
    connection.socket.write(`${head}{}\n{}\nno HTTP\r\n\r\n`);
    await connection.closed;
    assert.deepEqual(connection.statuses(), [200, 400]);
    assert.match(connection.received(), /"line":2,.*\r\n0\r\n\r\nHTTP\/1.1 400/s);
  });
});

for (const [over, tls] of [
  ["http", undefined],
  ["https", { cert: tlsFixture("server.crt"), key: tlsFixture("server.key") }],
] as const) {
  describe(`a request that does not arrive in time, over ${over}`, () => {
    let server: TestServer;
    before(async () => {
      server = await startServer({}, "", { requestTimeoutMs: 200, ...(tls && { tls }) });
    });
    after(() => server.close());

    for (const [what, text] of Object.entries({
      nothing: "",
      "half a header": "GET /health/live HTTP/1.1\r\nHo",
      "half a body":
        "POST /api/user HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{",
    })) {
      test(`A connection that sends ${what} gets 400 and is closed, over ${over}`, async () => {
        const trusting = tls && { rejectUnauthorized: false };
        const { socket, closed, received } = await openConnection(server.url, trusting);
        socket.write(text);
        const slowly = setInterval(() => text !== "" && socket.write("x"), 20);
        await closed;
        clearInterval(slowly);
        assert.match(received(), /^HTTP\/1\.1 400 [\s\S]*"detail":"The request did not arrive in time\."/);
      });
    }
  });
}

test("A connection whose answers nobody reads is closed", async (t) => {
  const server = await startServer({}, "", { silenceTimeoutMs: 300 });
  t.after(() => server.close());
  const open = countConnections(server);
  const { socket, get } = await openConnection(server.url);
  socket.pause();
  get(...numbers(16).map(() => "/docs/static/swagger-ui-bundle.js"));
  await until(() => open() === 1);
  await until(() => open() === 0);
  socket.destroy();
});

describe("requests beyond those that are answered soon", () => {
  test("A further request is refused with 503 and Retry-After, and nothing of it is begun", async (t) => {
    const { server, seen, release } = await startGated({ requestsAtMost: 2 });
    t.after(() => server.close());
    const underWay = [send(server.url, "GET", path), send(server.url, "GET", path)];
    await until(() => seen.asked === 2);
    const refused = await send(server.url, "GET", path);
    isProblem(refused, "overloaded");
    assert.equal(refused.headers.get("retry-after"), "1");
    for (const probe of ["/health/live", "/health/ready", "/metrics"]) {
      assert.equal((await send(server.url, "GET", probe)).status, 200, probe);
    }
    release();
    for (const answer of underWay) assert.equal((await answer).status, 200);
    assert.equal((await send(server.url, "GET", path)).status, 200);
    assert.equal(seen.asked, 3);
    assert.equal(server.log().match(/more requests than can be answered soon/g)?.length, 1);
  });

  test("A request whose body has not arrived takes no place from others", async (t) => {
    const server = await startServer({}, "", { requestsAtMost: 1 });
    t.after(() => server.close());
    const slow = await openConnection(server.url);
    slow.socket.write(
      "POST /api/user HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
    );
    await pause(20);
    assert.equal((await send(server.url, "GET", "/api/rates")).status, 200);
    slow.socket.destroy();
  });

  test("A connection that breaks gives back the places of its requests", async (t) => {
    const { server, seen, release } = await startGated({ requestsAtMost: 1 });
    t.after(() => server.close());
    const connection = await openConnection(server.url);
    connection.get(path);
    await until(() => seen.asked === 1);
    connection.reset();
    await until(() => server.log().includes('"status":499'));
    release();
    assert.equal((await send(server.url, "GET", path)).status, 200);
  });
});

test("connections above the limit are closed as they come, and the log says so once", async (t) => {
  const server = await startServer({}, "", { maxConnections: 2 });
  t.after(() => server.close());
  const open = countConnections(server);
  const [first, second] = [await openConnection(server.url), await openConnection(server.url)];
  for (const _ of numbers(3)) await (await openConnection(server.url)).closed;
  for (const connection of [first, second]) {
    connection.get("/health/live");
    await connection.until(/live/);
  }
  first.socket.destroy();
  await until(() => open() === 1);
  assert.equal((await send(server.url, "GET", "/health/live")).status, 200);
  assert.equal(server.log().match(/--max-connections are open/g)?.length, 1);
  second.socket.destroy();
});

describe("a request's headers", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.close());

  /** An opening with this many headers, of which the last is its key. */
  async function openWith(count: number, person: number): Promise<string> {
    const { socket, until: seen, received } = await openConnection(server.url);
    const body = JSON.stringify({ name: "Jan", surname: "Kowalski", pesel: adult(person), pln: 1 });
    const needed = ["Host: localhost", "Content-Type: application/json", `Content-Length: ${body.length}`];
    const filling = numbers(count - needed.length - 1).map(() => "a:");
    const head = [...needed, ...filling, `Idempotency-Key: k-${person}`].join("\r\n");
    socket.write(`POST /api/user HTTP/1.1\r\n${head}\r\n\r\n${body}`);
    await seen(/\r\n\r\n/);
    socket.destroy();
    return received();
  }

  test("An idempotency key behind 3,000 other headers counts", async () => {
    assert.match(await openWith(3000, 3), /^HTTP\/1\.1 204 /);
    assert.match(await openWith(3000, 3), /^HTTP\/1\.1 204 [\s\S]*idempotency-replayed: true/);
  });

  test("A request must name the host in HTTP/1.1, and need not in HTTP/1.0", async () => {
    const { socket, closed, received } = await openConnection(server.url);
    socket.write("GET /api/users HTTP/1.1\r\n\r\n");
    await closed;
    assert.match(
      received(),
      /^HTTP\/1\.1 400 [\s\S]*application\/problem\+json[\s\S]*"detail":"The request has no Host header\."/,
    );
    const old = await openConnection(server.url);
    old.socket.write("GET /health/live HTTP/1.0\r\n\r\n");
    await old.closed;
    assert.deepEqual(old.statuses(), [200]);
  });
});

test("HEAD of an audit, a checkpoint, the position, an export and the metrics computes nothing", async (t) => {
  const never = (): never => {
    throw new FxError("internal", "It was computed.");
  };
  const server = await startServer({ audit: never, position: never, till: never, export: never });
  t.after(() => server.close());
  server.rates.status = never;
  const paths = [
    ...[
      "/api/audit",
      "/api/audit/checkpoint",
      "/api/position",
      "/api/till",
      "/api/export?format=csv",
      "/metrics",
    ],
  ];
  for (const path of paths) {
    const { status, headers, text } = await send(server.url, "HEAD", path);
    assert.deepEqual([path, status, text, headers.get("content-length")], [path, 200, "", null]);
    assert.ok(headers.has("content-type"));
    assert.equal((await send(server.url, "GET", path)).status, 500);
  }
});

/** Counts the connections that are open from now on. */
function countConnections({ app }: TestServer): () => number {
  let count = 0;
  app.server.on("connection", (socket) => {
    count += 1;
    socket.once("close", () => {
      count -= 1;
    });
  });
  return () => count;
}
