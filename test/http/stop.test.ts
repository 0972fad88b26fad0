import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { connect } from "node:tls";
import { adult } from "../support/fixture.ts";
import { headOf, openConnection } from "../support/raw-connection.ts";
import { longAnswers, startGated, startServer } from "../support/server.ts";
import { protocols, tls } from "../support/tls.ts";

test("a stop answers what is under way, closes its connection, and then closes the service", async () => {
  const { server, release, events } = await startGated();
  const busy = await openConnection(server.url);
  busy.get(`/api/user/${adult(1)}`);
  while (events.length === 0) await new Promise(setImmediate);
  const stopped = server.close().then(() => events.push("stopped"));
  release();
  await Promise.all([stopped, busy.closed]);
  assert.match(busy.received(), /^HTTP\/1\.1 200 OK[\s\S]*"name":"Jan"/);
  assert.deepEqual(events, ["asked", "answered", "service closed", "stopped"]);
});

test("a stop sends an answer to its end whose client reads slowly, and takes no connections meanwhile", async () => {
  const server = await startServer(longAnswers);
  const slow = await openConnection(server.url);
  slow.get("/api/users");
  await slow.until(/^HTTP/);
  slow.socket.pause();
  const stopped = server.close();
  await untilStill(() => server.log().length);
  const late = await openConnection(server.url);
  late.get(`/api/user/${adult(1)}`);
  await late.closed;
  assert.equal(late.received(), "");
  slow.socket.resume();
  await Promise.all([stopped, slow.closed]);
  const [head = "", body = ""] = slow.received().split("\r\n\r\n");
  assert.equal(body.length, Number(/content-length: (\d+)/i.exec(head)?.[1]));
});

test("a stop does not wait for idle connections", async () => {
  const { server } = await startGated();
  const idle = await openConnection(server.url);
  idle.get("/health/live");
  await idle.until(/live/);
  await Promise.all([server.close(), idle.closed]);
});

for (const { over, serving, trusting } of protocols) {
  test(`a stop does not wait for connections over which no request came, over ${over}`, async () => {
    const { server } = await startGated(serving);
    const silent = await openConnection(server.url, trusting);
    await Promise.all([server.close(), silent.closed]);
    assert.doesNotMatch(server.log(), /time limit of the stop/);
  });
}

test("a stop does not wait for clients that refused the server's certificate", async () => {
  const { server } = await startGated({ tls });
  const client = connect(Number(new URL(server.url).port), "127.0.0.1", { servername: "localhost" });
  await assert.rejects(once(client, "secureConnect"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  await server.close();
  assert.doesNotMatch(server.log(), /time limit of the stop/);
});

/** Resolves when a number has been stable for more turns of the event loop than any work under way needs. */
async function untilStill(value: () => number): Promise<void> {
  for (let [turns, last] = [0, value()]; turns < 500; turns += 1) {
    await new Promise(setImmediate);
    if (value() === last) continue;
    last = value();
    turns = 0;
  }
}

for (const path of ["/api/bulk", "/api/bulk?dryRun=true", "/api/audit/comparison"]) {
  test(`A stop does not wait for the rest of a body that is sent to ${path}`, async () => {
    const server = await startServer();
    const connection = await openConnection(server.url);
    const head = headOf(`POST ${path}`, "Content-Type: application/x-ndjson", "Content-Length: 9000");
    connection.socket.write(`${head}{`);
    await untilStill(() => server.log().length);
    await Promise.all([server.close(), connection.closed]);
    assert.match(connection.received(), /"status":503/);
    assert.doesNotMatch(server.log(), /time limit of the stop/);
  });
}

const stuck: Readonly<Record<string, (connection: Awaited<ReturnType<typeof openConnection>>) => void>> = {
  "sent half a header": ({ socket }) => socket.write("GET /health/live HTTP/1.1\r\nHost:"),
  "sent half a body": ({ socket }) =>
    socket.write(`${headOf("POST /api/user", "Content-Type: application/json", "Content-Length: 9")}{`),
  "waits for an answer that does not come": ({ get }) => get(`/api/user/${adult(1)}`),
  "does not read its answer": ({ socket, get }) => {
    get("/api/users");
    socket.pause();
  },
};

for (const [what, act] of Object.entries(stuck)) {
  test(`A stop closes at its time limit a connection that ${what}, and the log says so`, async () => {
    const { server, events } = await startGated({ stopTimeoutMs: 100 });
    const connection = await openConnection(server.url);
    act(connection);
    await untilStill(() => server.log().length + events.length);
    await server.close();
    assert.equal(events.at(-1), "service closed");
    assert.match(server.log(), /"connections":1,"msg":"connections closed at the time limit of the stop"/);
    connection.socket.destroy();
  });
}

test("while stopping, the server is not ready, and takes no new connections", async () => {
  const { server, release, events } = await startGated();
  const [busy, probe] = [await openConnection(server.url), await openConnection(server.url)];
  busy.get(`/api/user/${adult(1)}`);
  // A request that has begun to arrive keeps the probe's connection from counting as idle.
  probe.socket.write("GET /health/ready HTTP/1.1\r\n");
  while (events.length < 1) await new Promise(setImmediate);
  const stopped = server.close();
  await new Promise(setImmediate);
  probe.socket.write("Host: localhost\r\n\r\n");
  await assert.rejects(fetch(`${server.url}/health/live`), ({ cause }) => cause.code === "ECONNREFUSED");
  await probe.closed;
  release();
  await stopped;
  assert.match(
    probe.received(),
    /503 Service Unavailable[\s\S]*Connection: close[\s\S]*"status":"draining"/i,
  );
});
