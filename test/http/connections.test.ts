import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { FxError } from "../../src/core/errors.ts";
import type { ExchangeService } from "../../src/core/service.ts";
import { bulkType } from "../../src/wire/bulk.ts";
import { Chance } from "../support/chance.ts";
import { adult } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { getRequest, openConnection, type RawConnection } from "../support/raw-connection.ts";
import { until } from "../support/run-fx.ts";
import { startServer, type TestServer } from "../support/server.ts";

const tlsFixture = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url));
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
/** Pauses for as many turns of the event loop as anything that could happen needs. */
const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
};

/** A server whose accounts are read only once `release` was called; `asked` counts those asked for. */
async function startGated(options: Parameters<typeof startServer>[2] = {}) {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const seen = { asked: 0, atOnce: 0, most: 0, requests: 0 };
  const account: ExchangeService["account"] = async (pesel) => {
    seen.asked += 1;
    seen.atOnce += 1;
    seen.most = Math.max(seen.most, seen.atOnce);
    await gate;
    seen.atOnce -= 1;
    return { pesel, name: "Jan", surname: "Kowalski", balances: [], closed: false };
  };
  const server = await startServer({ account }, "", options);
  server.app.server.on("request", () => {
    seen.requests += 1;
  });
  return { server, seen, release, open: countConnections(server) };
}

describe("requests that are sent without waiting for answers", () => {
  const path = `/api/user/${adult(1)}`;

  test("are handled one after another", async (t) => {
    const { server, seen, release } = await startGated();
    t.after(() => server.close());
    const connection = await openConnection(server.url);
    connection.get(...numbers(20).map(() => path));
    await until(() => seen.asked === 1);
    await turns(10);
    assert.equal(seen.asked, 1);
    release();
    await until(() => connection.statuses().length === 20);
    assert.deepEqual([seen.asked, seen.most], [20, 1]);
    connection.socket.destroy();
  });

  test("are all answered, in the order in which they were sent", async (t) => {
    const { server } = await startGated();
    t.after(() => server.close());
    const { socket, received } = await openConnection(server.url);
    const text = (id: number) =>
      `GET /health/live HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: ${id}\r\n\r\n`;
    socket.write(numbers(5000).map(text).join(""));
    const ids = () => [...received().matchAll(/^x-request-id: (\d+)/gm)].map(([, id]) => Number(id));
    await until(() => received().includes("x-request-id: 5000\r\n"));
    assert.deepEqual(ids(), numbers(5000));
    socket.destroy();
  });

  test("are taken from what has arrived two at a time", async (t) => {
    const { server, seen, release } = await startGated();
    t.after(() => server.close());
    const connection = await openConnection(server.url);
    connection.get(...numbers(20).map(() => path));
    await until(() => seen.asked === 1);
    await turns(50);
    assert.equal(seen.requests, 2);
    release();
    await until(() => connection.statuses().length === 20);
    connection.socket.destroy();
  });

  test("wait at the client where there are more than can be read at once", async (t) => {
    const { server, seen, release } = await startGated();
    t.after(() => server.close());
    const { socket } = await openConnection(server.url);
    socket.write(getRequest(path).repeat(200_000));
    await until(() => seen.asked === 1);
    await turns(200);
    assert.equal(seen.requests, 2);
    // Loopback holds a few MB; what is more waits here.
    assert.ok(socket.writableLength > 1024 * 1024, `${socket.writableLength} bytes were not sent`);
    socket.destroy();
    release();
  });

  test("are not done any more when their client has gone", async (t) => {
    const { server, seen, release, open } = await startGated();
    t.after(() => server.close());
    const { socket, get } = await openConnection(server.url);
    get(...numbers(20).map(() => path));
    await until(() => seen.asked === 1);
    socket.destroy();
    await until(() => open() === 0);
    release();
    await turns(50);
    assert.equal(seen.asked, 1);
  });

  test("are answered before what is no HTTP behind them", async (t) => {
    const { server, seen, release } = await startGated();
    t.after(() => server.close());
    const connection = await openConnection(server.url);
    connection.socket.write(`${getRequest(path)}${getRequest(path)}no HTTP\r\n\r\n`);
    await until(() => seen.asked === 1);
    await turns(20);
    assert.deepEqual(connection.statuses(), []);
    release();
    await connection.closed;
    assert.deepEqual(connection.statuses(), [200, 200, 400]);
  });

  test("of a bulk are answered to the end before what is no HTTP behind them", async (t) => {
    const { server } = await startGated();
    t.after(() => server.close());
    const connection = await openConnection(server.url);
    const head = `POST /api/bulk HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${bulkType}\r\nContent-Length: 6\r\n\r\n`;
    connection.socket.write(`${head}{}\n{}\nno HTTP\r\n\r\n`);
    await connection.closed;
    assert.deepEqual(connection.statuses(), [200, 400]);
    assert.match(connection.received(), /"line":2,.*\r\n0\r\n\r\nHTTP\/1.1 400/s);
  });

  test("have bodies that may come late", async (t) => {
    const { server } = await startGated();
    t.after(() => server.close());
    const connection = await openConnection(server.url);
    const body = JSON.stringify({ name: "Jan", surname: "Kowalski", pesel: adult(2), pln: 1 });
    const head = `POST /api/user HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    connection.socket.write(`${getRequest("/health/live").repeat(3)}${head}${body.slice(0, 5)}`);
    await until(() => connection.statuses().length === 3);
    connection.socket.write(body.slice(5) + getRequest("/health/live"));
    await until(() => connection.statuses().length === 5);
    assert.deepEqual(connection.statuses(), [200, 200, 200, 204, 200]);
    connection.socket.destroy();
  });

  test("are whole without a body, and leave their connection open", async (t) => {
    const { server } = await startGated({ requestTimeoutMs: 200 });
    t.after(() => server.close());
    const connection = await openConnection(server.url);
    connection.get("/health/live", "/health/live");
    await until(() => connection.statuses().length === 2);
    // Node looks each second for requests that are not whole.
    await setTimeout(2500);
    connection.get("/health/live");
    await until(() => connection.statuses().length === 3);
    assert.deepEqual(connection.statuses(), [200, 200, 200]);
    connection.socket.destroy();
  });
});

/** An opening of an account, its body whole, in chunks or empty, or a probe; and the status of its answer. */
function randomRequest(chance: Chance, id: number): { text: string; status: number } {
  const head = (line: string) => `${line} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: ${id}\r\n`;
  if (chance.percent(40)) return { text: `${head("GET /health/live")}\r\n`, status: 200 };
  const body = JSON.stringify({ name: "Jan", surname: "Kowalski", pesel: adult(id), pln: 1 });
  const post = `${head("POST /api/user")}Content-Type: application/json\r\n`;
  if (chance.percent(20)) return { text: `${post}Content-Length: 0\r\n\r\n`, status: 400 };
  if (chance.percent(50))
    return { text: `${post}Content-Length: ${body.length}\r\n\r\n${body}`, status: 204 };
  const cut = 1 + chance.below(body.length - 1);
  const chunks = [body.slice(0, cut), body.slice(cut), ""];
  const chunked = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("");
  return { text: `${post}Transfer-Encoding: chunked\r\n\r\n${chunked}`, status: 204 };
}

const overBoth = [
  ["TCP", undefined],
  ["TLS", { cert: tlsFixture("server.crt"), key: tlsFixture("server.key") }],
] as const;

for (const [over, tls] of overBoth) {
  test(`requests with and without bodies, cut anywhere, are answered in their order over ${over}`, async (t) => {
    const server = await startServer({}, "", tls && { tls });
    t.after(() => server.close());
    for (let seed = 1, id = 0; seed <= 20; seed += 1) {
      const chance = new Chance(seed);
      const requests = numbers(1 + chance.below(100)).map(() => ({ id: ++id, ...randomRequest(chance, id) }));
      const connection = await openConnection(server.url, tls && { ca: tlsFixture("server.crt") });
      let rest = requests.map(({ text }) => text).join("");
      while (rest.length > 0) {
        const cut = 1 + chance.below(chance.percent(50) ? 40 : 8000);
        connection.socket.write(rest.slice(0, cut));
        rest = rest.slice(cut);
        await turns(chance.below(4));
      }
      await until(() => connection.statuses().length >= requests.length);
      connection.socket.destroy();
      const ids = [...connection.received().matchAll(/^x-request-id: (\d+)/gm)].map(([, each]) =>
        Number(each),
      );
      assert.deepEqual(
        [connection.statuses(), ids],
        [requests.map(({ status }) => status), requests.map((request) => request.id)],
        `seed ${seed}`,
      );
    }
  });
}

describe("a request that is not whole in time", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({}, "", { requestTimeoutMs: 200 });
  });
  after(() => server.close());

  const parts = {
    nothing: "",
    "half a header": "GET /health/live HTTP/1.1\r\nHo",
    "half a body":
      "POST /api/user HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{",
  };
  for (const [what, text] of Object.entries(parts)) {
    test(`is cut off after ${what}`, async () => {
      const { socket, closed, received } = await openConnection(server.url);
      socket.write(text);
      const slowly = setInterval(() => text !== "" && socket.write("x"), 20);
      await closed;
      clearInterval(slowly);
      assert.match(received(), /^HTTP\/1\.1 400 [\s\S]*"detail":"The request did not arrive in time\."/);
    });
  }

  for (const [why, text, leave] of [
    ["whose time is over", "", () => {}],
    [
      "whose client leaves in the middle of a request",
      parts["half a header"],
      ({ socket }) => socket.destroy(),
    ],
    ["whose client leaves in the middle of a body", parts["half a body"], ({ socket }) => socket.destroy()],
    ["whose client resets it", parts["half a body"], (each) => each.reset()],
  ] satisfies [string, string, (connection: RawConnection) => void][]) {
    for (const [over, tls] of overBoth) {
      test(`is cut off in turn with few others ${why}, over ${over}`, async (t) => {
        const server = await startServer({}, "", { requestTimeoutMs: 200, ...(tls && { tls }) });
        t.after(() => server.close());
        const open = countConnections(server);
        const connections = await Promise.all(
          numbers(100).map(() => openConnection(server.url, tls && { ca: tls.cert })),
        );
        let [most, before] = [0, open()];
        const watch = () => {
          const now = open();
          most = Math.max(most, before - now);
          before = now;
          if (now > 0) setImmediate(watch);
        };
        watch();
        for (const { socket } of connections) socket.write(text);
        await setTimeout(50);
        for (const each of connections) leave(each);
        await until(() => before === 0);
        assert.ok(most <= 20, `${most} in one turn`);
      });
    }
  }
});

test("connections that wait for their end do not become more while others come", async (t) => {
  const server = await startServer();
  t.after(() => server.close());
  const open = countConnections(server);
  let most = 0;
  server.app.server.on("connection", () => {
    most = Math.max(most, open());
  });
  for (let times = 0; times < 10; times += 1) {
    const connections = await Promise.all(numbers(100).map(() => openConnection(server.url)));
    for (const { socket } of connections) socket.write("POST /api/user HTTP/1.1\r\nHost: localhost\r\n");
    await until(() => open() >= 100);
    for (const each of connections) each.reset();
  }
  await until(() => open() === 0);
  // Some come before the server hears that others have left.
  assert.ok(most <= 400, `${most} are open`);
});

for (const [what, sent, expected] of [
  ["is carried out if it is whole", 1, [200, 204]],
  ["is cut off if it is not", 0.5, [200, 400]],
] as const) {
  test(`a request that waits has its time from when the one before is answered, and ${what}`, async (t) => {
    const { server, seen, release } = await startGated({ requestTimeoutMs: 200 });
    t.after(() => server.close());
    const connection = await openConnection(server.url);
    const body = JSON.stringify({ name: "Jan", surname: "Kowalski", pesel: adult(2), pln: 1 });
    connection.get(`/api/user/${adult(1)}`);
    connection.socket.write(
      `POST /api/user HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    connection.socket.write(body.slice(0, body.length * sent));
    await until(() => seen.asked === 1);
    // Node looks each second.
    await setTimeout(2500);
    release();
    await until(() => connection.statuses().length === 2);
    assert.deepEqual(connection.statuses(), expected);
    connection.socket.destroy();
  });
}

test("a connection whose answers nobody reads is cut off, and one whose answer takes long is not", async (t) => {
  const { server, seen, release, open } = await startGated({ unreadTimeoutMs: 300 });
  t.after(() => server.close());
  const patient = await openConnection(server.url);
  patient.get(`/api/user/${adult(1)}`);
  await until(() => seen.asked === 1);
  const { socket, get } = await openConnection(server.url);
  socket.pause();
  get(...numbers(2000).map(() => "/openapi.json"));
  await until(() => open() === 2);
  await until(() => open() === 1);
  release();
  await patient.until(/Kowalski/);
  for (const each of [socket, patient.socket]) each.destroy();
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
  assert.equal(server.log().match(/as many as --max-connections/g)?.length, 1);
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

  test("may be 2,000, all of which count", async () => {
    assert.match(await openWith(2000, 3), /^HTTP\/1\.1 204 /);
    assert.match(await openWith(2000, 3), /^HTTP\/1\.1 204 [\s\S]*idempotency-replayed: true/);
  });

  test("are refused as a whole if there are more", async () => {
    const answer = await openWith(2001, 4);
    assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*The request has more than 2000 headers\./);
    isProblem(await send(server.url, "GET", `/api/user/${adult(4)}`), "account-not-found");
  });

  test("must name the host in HTTP/1.1, and need not in HTTP/1.0", async () => {
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
    ...["/api/audit", "/api/audit/checkpoint", "/api/position", "/api/export?format=csv", "/metrics"],
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
