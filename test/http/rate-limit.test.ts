import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { FastifyRequest } from "fastify";
import { clientAddress } from "../../src/http/client-address.ts";
import type { ServerOptions } from "../../src/http/server.ts";
import type { Caller } from "../../src/wire/role.ts";
import { BulkClient } from "../support/bulk.ts";
import { conforms } from "../support/document.ts";
import { adult } from "../support/fixture.ts";
import { isProblem, send, sendWithHeaders } from "../support/http.ts";
import { startServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/** More requests than the limit allows in the seconds that sending them may take. */
const many = 100;
const limit = 5;

async function limited(t: TestContext, options: Partial<ServerOptions> = {}) {
  const server = await startServer({}, "", { rateLimit: limit, ...options });
  t.after(() => server.close());
  const ask = (headers: Record<string, string> = {}, path = "/api/rates") =>
    send(server.url, "GET", path, { headers });
  const askOften = (headers?: Record<string, string>, path?: string) =>
    Promise.all(Array.from({ length: many }, () => ask(headers, path)));
  return { ...server, ask, askOften };
}

const statuses = (answers: readonly { status: number }[]) => new Set(answers.map(({ status }) => status));
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const tokens = {
  callerOf: (authorization: string): Caller | undefined =>
    authorization === "Bearer unknown"
      ? undefined
      : { name: authorization, role: "operator", expires: undefined },
};

describe("a server with a limit of 5 requests a second", () => {
  test("A server with a rate limit answers the first requests, and refuses those beyond with 429 and when to try again", async (t) => {
    const { askOften } = await limited(t);
    const answers = await askOften();
    assert.ok(answers.filter(({ status }) => status === 200).length >= limit);
    const refused = answers.filter(({ status }) => status !== 200);
    assert.ok(refused.length > 0);
    for (const answer of refused) {
      isProblem(answer, "rate-limited");
      conforms("rates", answer);
      assert.equal(answer.headers.get("retry-after"), "1");
    }
  });

  test("The rate limit counts each token by itself", async (t) => {
    const { ask, askOften } = await limited(t, { tokens });
    assert.deepEqual(statuses(await askOften(bearer("ann"))), new Set([200, 429]));
    assert.equal((await ask(bearer("jan"))).status, 200);
  });

  test("The rate limit counts refused tokens against the address, so that nobody can try many", async (t) => {
    const { askOften } = await limited(t, { tokens });
    assert.deepEqual(statuses(await askOften(bearer("unknown"))), new Set([401, 429]));
  });

  test("The rate limit counts unknown paths and the pages of the documentation", async (t) => {
    const { askOften } = await limited(t);
    assert.ok(statuses(await askOften({}, "/nothing")).has(429));
    const other = await limited(t);
    assert.ok(statuses(await other.askOften({}, "/docs")).has(429));
  });

  test("The rate limit never refuses a probe", async (t) => {
    const { askOften } = await limited(t);
    assert.deepEqual(statuses(await askOften({}, "/health/live")), new Set([200]));
    assert.deepEqual(statuses(await askOften({}, "/health/ready")), new Set([200]));
  });

  test("The rate limit takes a client's address from a proxy that it trusts, and from nobody else", async (t) => {
    const from = (address: string) => ({ "x-forwarded-for": address });
    const behind = await limited(t, { trustProxy: ["loopback"] });
    assert.ok(statuses(await behind.askOften(from("203.0.113.7"))).has(429));
    assert.equal((await behind.ask(from("203.0.113.8"))).status, 200);
    // The proxy appends the client's address to what the client itself wrote.
    assert.ok(statuses(await behind.askOften(from("198.51.100.1, 203.0.113.9"))).has(429));
    const open = await limited(t);
    const answers = await Promise.all(
      Array.from({ length: many }, (_, index) => open.ask(from(`203.0.113.${index}`))),
    );
    assert.ok(statuses(answers).has(429));
  });

  const proxy = "127.0.0.1";
  const noAddresses =
    "client-1 unknown _hidden1 203.0.113.1.1 fe80::1%1 [2001:db8::1%1] ::1:: 1 203.0.113.1:port1 " +
    "[203.0.113.1 2001:db8::1]:1 0x1 203.0.113.011 <1>";
  for (const [text, address] of [
    ["203.0.113.7:1000", "203.0.113.7"],
    ["[2001:db8::1]:1000", "2001:db8::1"],
    ["[2001:0DB8:0:0::0001]", "2001:db8::1"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ...noAddresses.split(" ").map((text) => [text, proxy] as const),
  ] as const) {
    test(`A request with X-Forwarded-For: ${text} comes from ${address === proxy ? "the proxy" : address}`, () => {
      const request = { ip: text, raw: { socket: { remoteAddress: proxy } } };
      assert.equal(clientAddress(request as FastifyRequest), address);
    });
  }

  test("The rate limit counts an IPv6 network once, since a client has a whole one, however its addresses are written", async (t) => {
    for (const written of ["1::2:1:2:3:4", "1:0:0:2:0:0:0:9", "1:0:0:2:ffff::", "[1::2:a:b:c:d]:9"]) {
      const { ask } = await limited(t, { trustProxy: ["loopback"] });
      const from = (address: string) => ask({ "x-forwarded-for": address });
      // The second may end between the two.
      await until(async () => {
        await Promise.all(Array.from({ length: 4 * limit }, () => from("1:0:0:2::5")));
        return (await from(written)).status === 429;
      });
      assert.equal((await from("1:0:0:3::1")).status, 200);
    }
  });

  test("The rate limit counts the refused lines of a batch, and answers them all", async (t) => {
    const { url, ask } = await limited(t);
    const bulk = new BulkClient(url);
    const order = { pesel: adult(9), from: "PLN", to: "USD", toBuy: 1 };
    bulk.end(...Array.from({ length: 4 * limit }, () => order));
    let isDone = false;
    const answers = bulk.rest().finally(() => {
      isDone = true;
    });
    const seen = new Set<number>();
    // So few that only the batch can use the limit up.
    for (; !isDone && !seen.has(429); await pause(300)) seen.add((await ask()).status);
    assert.ok(seen.has(429));
    assert.deepEqual(
      (await answers).map(({ status }) => status),
      Array.from({ length: 4 * limit }, () => 404),
    );
  });
});

test("a server without a limit refuses nobody", async (t) => {
  const { askOften } = await limited(t, { rateLimit: 0 });
  assert.deepEqual(statuses(await askOften()), new Set([200]));
});

test("Forwarded headers about host, scheme and prefix change nothing", async (t) => {
  const { url, ask } = await limited(t, { rateLimit: 0, trustProxy: ["loopback"] });
  const forwarded = {
    "x-forwarded-host": "evil.example",
    "x-forwarded-proto": "javascript",
    "x-forwarded-port": "1",
    "x-forwarded-prefix": "/evil",
    forwarded: "for=203.0.113.1;host=evil.example;proto=https",
  };
  const answer = await ask(forwarded);
  assert.equal(answer.status, 200);
  assert.ok(![answer.text, ...answer.headers.values()].join().includes("evil"));
  const foreign = await sendWithHeaders(url, "GET /api/rates", {
    host: "evil.example",
    "x-forwarded-host": "localhost",
  });
  isProblem(foreign, "forbidden");
});
