import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { adult } from "../support/fixture.ts";
import { startServer } from "../support/server.ts";

/** A connection that requests are written to by hand. */
async function open(url: string) {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  await once(socket, "connect");
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk;
  });
  return {
    send: (path: string) => socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`),
    received: () => received,
    until: async (pattern: RegExp) => {
      while (!pattern.test(received)) await once(socket, "data");
    },
    closed: socket.closed ? Promise.resolve() : once(socket, "close"),
  };
}

/** A server whose accounts take until `release` to be read, and which tells when it is closed. */
async function startSlow() {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const events: string[] = [];
  const server = await startServer({
    account: async () => {
      events.push("asked");
      await gate;
      events.push("answered");
      return { pesel: adult(1), name: "Jan", surname: "Kowalski", balances: [], closed: false };
    },
    close: async () => {
      events.push("service closed");
    },
  });
  return { server, release, events };
}

test("a stop answers what is under way, closes its connection, and then closes the service", async () => {
  const { server, release, events } = await startSlow();
  const busy = await open(server.url);
  busy.send(`/api/user/${adult(1)}`);
  while (events.length === 0) await new Promise(setImmediate);
  const stopped = server.close().then(() => events.push("stopped"));
  release();
  await Promise.all([stopped, busy.closed]);
  assert.match(busy.received(), /^HTTP\/1\.1 200 OK[\s\S]*"name":"Jan"/);
  assert.deepEqual(events, ["asked", "answered", "service closed", "stopped"]);
});

test("a stop does not wait for idle connections", async () => {
  const { server } = await startSlow();
  const idle = await open(server.url);
  idle.send("/health/live");
  await idle.until(/live/);
  await Promise.all([server.close(), idle.closed]);
});

test("while stopping, the server is not ready, and takes no new connections", async () => {
  const { server, release, events } = await startSlow();
  const [busy, probe] = [await open(server.url), await open(server.url)];
  busy.send(`/api/user/${adult(1)}`);
  // A request that has begun keeps the probe's connection from counting as idle.
  probe.send(`/api/user/${adult(1)}`);
  while (events.length < 2) await new Promise(setImmediate);
  const stopped = server.close();
  await new Promise(setImmediate);
  probe.send("/health/ready");
  await assert.rejects(fetch(`${server.url}/health/live`), ({ cause }) => cause.code === "ECONNREFUSED");
  release();
  await stopped;
  await probe.closed;
  assert.match(probe.received(), /200 OK/);
  assert.match(
    probe.received(),
    /503 Service Unavailable[\s\S]*Connection: close[\s\S]*"status":"draining"/i,
  );
});
