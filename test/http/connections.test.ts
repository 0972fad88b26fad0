import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { FxError } from "../../src/core/errors.ts";
import { bulkType } from "../../src/wire/bulk.ts";
import { adult } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { answerTo, getRequest, headOf, openConnection } from "../support/raw-connection.ts";
import { longAnswers, startGated, startServer, type TestServer, useServer } from "../support/server.ts";
import { protocols } from "../support/tls.ts";
import { until } from "../support/until.ts";

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const path = `/api/user/${adult(1)}`;
/** The head of a request to open an account. */
const openingHead = (...fields: string[]) =>
  headOf("POST /api/user", "Content-Type: application/json", ...fields);

const bulkHead = (field: string) => headOf("POST /api/bulk", `Content-Type: ${bulkType}`, field);

describe("pipelined requests", () => {
  for (const [what, behind] of Object.entries({
    "bytes that are not HTTP": "no HTTP\r\n\r\n",
    "a malformed chunked body": `${openingHead("Transfer-Encoding: chunked")}no chunk\r\n`,
    "a body that does not arrive in time": `${openingHead("Content-Length: 9")}{`,
    "a malformed chunked batch": `${bulkHead("Transfer-Encoding: chunked")}no chunk\r\n`,
  })) {
    test(`A request followed by ${what} is answered, and the connection is closed`, async (t) => {
      const { server, asked, release } = await startGated({ requestTimeoutMs: 200 });
      t.after(() => server.close());
      const connection = await openConnection(server.url);
      connection.socket.write(getRequest(path) + behind);
      await until(() => asked() === 1);
      // Until after the time limit of the body.
      if (what.includes("in time")) await pause(1500);
      assert.deepEqual(connection.statuses(), []);
      release();
      await connection.closed;
      assert.match(connection.received(), /^HTTP\/1\.1 200 OK\r\n[^{]*connection: close\r\n/i);
      assert.deepEqual(connection.statuses(), [200]);
      assert.equal(asked(), 1);
    });
  }

  test("Pipelined requests are begun one after another, and answered in their order", async (t) => {
    const { server, asked, release } = await startGated();
    t.after(() => server.close());
    const { socket, get, statuses, received } = await openConnection(server.url);
    socket.write(`${getRequest(path)}${openingHead("Content-Length: 2")}{}${getRequest(path)}`);
    get("/api/nothing", ...numbers(12).map(() => path));
    await until(() => asked() === 1);
    await pause(50);
    assert.equal(asked(), 1);
    release();
    await until(() => statuses().length === 16);
    assert.deepEqual(statuses(), [200, 400, 200, 404, ...numbers(12).map(() => 200)]);
    assert.doesNotMatch(received(), /connection: close/i);
    socket.destroy();
  });

  for (const count of [17, 1000]) {
    test(`A connection with ${count} pipelined requests is closed, and at most one is begun`, async (t) => {
      const { server, asked, release } = await startGated();
      t.after(() => server.close());
      const connection = await openConnection(server.url);
      connection.get(...numbers(count).map(() => path));
      await connection.closed;
      release();
      assert.ok(asked() <= 1, String(asked()));
      assert.equal((await send(server.url, "GET", path)).status, 200);
    });
  }

  for (const stream of ["/api/audit/comparison", "/api/bulk", "/api/bulk?dryRun=true"]) {
    test(`A request pipelined after ${stream}, whose body was not read to its end, is answered or the connection is closed`, async (t) => {
      const server = await startServer();
      t.after(() => server.close());
      const connection = await openConnection(server.url);
      const body = `${"x".repeat(1000)}\n`.repeat(10);
      const head = bulkHead(`Content-Length: ${body.length}`).replace("/api/bulk", stream);
      connection.socket.write(head + body + getRequest("/api/rates"));
      await until(() => connection.statuses().length === 2 || connection.socket.closed);
      assert.ok(connection.statuses().length >= 1, connection.received());
      connection.socket.destroy();
    });
  }

  for (const { over, serving, trusting } of protocols) {
    test(`After an answer with Connection: close, no pipelined request runs, over ${over}`, async (t) => {
      const { server, asked, release } = await startGated(serving);
      t.after(() => server.close());
      release();
      const connection = await openConnection(server.url, trusting);
      const refused = `${openingHead("Content-Encoding: gzip", "Content-Length: 2")}{}`;
      connection.socket.write(refused + getRequest(path));
      await connection.closed;
      assert.deepEqual(connection.statuses(), [400]);
      assert.equal(asked(), 0);
    });
  }

  test("No pipelined request runs once the client has half-closed", async (t) => {
    const { server, asked, release } = await startGated();
    t.after(() => server.close());
    release();
    const connection = await openConnection(server.url);
    connection.socket.end(getRequest("/api/nothing") + getRequest(path));
    await connection.closed;
    assert.deepEqual([connection.statuses(), asked()], [[404], 0]);
  });

  test("A client that half-closes after its batch was ended gets no second answer and is not logged as malformed", async (t) => {
    const server = await startServer({}, "", { bulkIdleTimeoutMs: 100 });
    t.after(() => server.close());
    const { socket, until, closed, received } = await openConnection(server.url);
    socket.write(bulkHead("Content-Length: 9"));
    await until(/"line":null.*\r\n0\r\n\r\n$/s);
    socket.end();
    await closed;
    assert.deepEqual(received().match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 200"]);
    assert.doesNotMatch(server.log(), /malformed/);
  });

  test("A batch is answered whole before bytes that are not HTTP close its connection", async (t) => {
    const { server } = await startGated();
    t.after(() => server.close());
    const connection = await openConnection(server.url);
    connection.socket.write(`${bulkHead("Content-Length: 6")}{}\n{}\nno HTTP\r\n\r\n`);
    await connection.closed;
    assert.deepEqual(connection.statuses(), [200]);
    assert.match(connection.received(), /"line":2,.*\r\n0\r\n\r\n$/s);
  });
});

for (const { over, serving, trusting } of protocols) {
  describe(`a request that does not arrive in time, over ${over}`, () => {
    const server = useServer({}, "", { requestTimeoutMs: 200, ...serving });

    for (const [what, text] of Object.entries({
      nothing: "",
      "half a header": "GET /health/live HTTP/1.1\r\nHo",
      "half a body": `${openingHead("Content-Length: 9999")}{`,
    })) {
      test(`A connection that sends ${what} gets 503 and is closed, over ${over}`, async () => {
        const { socket, closed, received } = await openConnection(server.url, trusting);
        socket.write(text);
        const slowly = setInterval(() => text !== "" && socket.write("x"), 20);
        await closed;
        clearInterval(slowly);
        assert.match(received(), /^HTTP\/1\.1 503 [\s\S]*"detail":"The request did not arrive in time\. /);
      });
    }

    test(`A request cut off in its body gets 503 and is closed, over ${over}`, async () => {
      const { socket, closed, received } = await openConnection(server.url, trusting);
      socket.end(`${openingHead("Content-Length: 9999")}{`);
      await closed;
      assert.match(received(), /^HTTP\/1\.1 503 [\s\S]*"detail":"The request did not arrive whole\. /);
    });
  });
}

test("A connection whose answers nobody reads is closed", async (t) => {
  const server = await startServer(longAnswers, "", { silenceTimeoutMs: 300 });
  t.after(() => server.close());
  const open = countConnections(server);
  const { socket, get } = await openConnection(server.url);
  socket.pause();
  get("/api/users");
  await until(() => open() === 1);
  await until(() => open() === 0);
  socket.destroy();
});

describe("requests beyond the limit", () => {
  test("A further request is refused with 503 and Retry-After, and nothing of it is begun", async (t) => {
    const { server, asked, release } = await startGated({ requestsAtMost: 2 });
    t.after(() => server.close());
    const underWay = [send(server.url, "GET", path), send(server.url, "GET", path)];
    await until(() => asked() === 2);
    const refused = await send(server.url, "GET", path);
    isProblem(refused, "overloaded");
    assert.equal(refused.headers.get("retry-after"), "1");
    for (const probe of ["/health/live", "/health/ready", "/metrics"]) {
      assert.equal((await send(server.url, "GET", probe)).status, 200, probe);
    }
    release();
    for (const answer of underWay) assert.equal((await answer).status, 200);
    assert.equal((await send(server.url, "GET", path)).status, 200);
    assert.equal(asked(), 3);
  });

  test("A request whose body has not arrived does not count towards the limit", async (t) => {
    const server = await startServer({}, "", { requestsAtMost: 1 });
    t.after(() => server.close());
    const slow = await openConnection(server.url);
    slow.socket.write(`${openingHead("Content-Length: 9")}{`);
    await pause(20);
    assert.equal((await send(server.url, "GET", "/api/rates")).status, 200);
    slow.socket.destroy();
  });

  test("A broken connection frees the slots of its requests", async (t) => {
    const { server, asked, release } = await startGated({ requestsAtMost: 1 });
    t.after(() => server.close());
    const connection = await openConnection(server.url);
    connection.get(path);
    await until(() => asked() === 1);
    connection.reset();
    await until(() => server.log().includes('"status":499'));
    release();
    assert.equal((await send(server.url, "GET", path)).status, 200);
  });
});

test("Connections above --max-connections are closed, and logged once", async (t) => {
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
  const server = useServer();

  /** An opening with this many headers, of which the last is its key. */
  function openWith(count: number, person: number): Promise<string> {
    const body = JSON.stringify({ name: "Jan", surname: "Kowalski", pesel: adult(person), pln: 1 });
    const filling = numbers(count - 4).map(() => "a:");
    const key = `Idempotency-Key: k-${person}`;
    return answerTo(server.url, openingHead(`Content-Length: ${body.length}`, ...filling, key), body);
  }

  test("An Idempotency-Key after 3,000 other headers is read", async () => {
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
  const server = await startServer({ audit: never, position: never, export: never });
  t.after(() => server.close());
  server.rates.status = never;
  const paths = [
    "/api/audit",
    "/api/audit/checkpoint",
    "/api/position",
    "/api/export?format=csv",
    "/metrics",
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
