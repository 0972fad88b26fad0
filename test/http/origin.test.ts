import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Operation } from "../../src/wire/operation.ts";
import { type OperationId, operations } from "../../src/wire/operations.ts";
import { conforms } from "../support/document.ts";
import { adult } from "../support/fixture.ts";
import { isProblem, sendWithHeaders } from "../support/http.ts";
import { pathOf, typeOf } from "../support/requests.ts";
import { startServer, type TestServer, useServer } from "../support/server.ts";

const pesel = adult(1);
const opening = { name: "Jan", surname: "Kowalski", pesel, pln: 1000 };
const order = { pesel, from: "PLN", to: "USD", toBuy: 1 };

function send({ url }: TestServer, line: string, headers: Record<string, string>, body?: object) {
  return sendWithHeaders(url, line, headers, body);
}

/** A request to the operation, as valid as it can be made. */
function requestTo(operation: Operation): [line: string, headers: Record<string, string>] {
  const { method } = operation;
  return [`${method} ${pathOf(operation)}`, method === "POST" ? { "content-type": typeOf(operation) } : {}];
}

const all = Object.entries<Operation>(operations);
const withRole = all.filter(([, { role }]) => role !== "anyone");

/** Headers that browsers send with requests from pages of other sites, by script and by form. */
const elsewhere: readonly Record<string, string>[] = [
  { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
  { origin: "http://localhost:3000", "sec-fetch-site": "same-site" },
  { "sec-fetch-site": "cross-site" },
  { origin: "null", "sec-fetch-site": "cross-site" },
  { origin: "null" },
  { origin: "http://evil.example" },
  { origin: "http://localhost:1" },
];

describe("a server without tokens", () => {
  const server = useServer({}, "", { allowedHosts: ["fx.bank.example", "[2001:db8::1]"] });
  let own = "";
  before(async () => {
    own = new URL(server.url).host;
    assert.equal((await send(server, "POST /api/user", {}, opening)).status, 204);
  });

  const balance = async () => (await send(server, `GET /api/user/${pesel}`, {})).text;

  for (const host of [
    ...["rebound.example", "127.0.0.1.rebound.example", "localhost.rebound.example", "rebound.example:8080"],
    ...["0.0.0.0", "10.1.2.3", "[::]", "localhost:80:80", "bank.example", "localhost..", "rebound.example."],
  ]) {
    test(`A server without tokens answers nothing to a page whose name leads to it: Host ${host}`, async () => {
      // The browser takes fx for the page's own server.
      const headers = { host, origin: `http://${host}`, "sec-fetch-site": "same-origin" };
      for (const [, operation] of all) {
        const [line, type] = requestTo(operation);
        isProblem(await send(server, line, { ...headers, ...type }), "forbidden");
      }
      for (const path of ["/", "/docs", "/docs/static/index.html", "/nothing", "/api/user"]) {
        isProblem(await send(server, `GET ${path}`, headers), "forbidden");
      }
      const before = await balance();
      isProblem(await send(server, `POST /api/exchange/${pesel}`, headers, order), "forbidden");
      assert.equal(await balance(), before);
    });
  }

  test("A server without tokens answers to every name of this machine, to its own address, and to those that are allowed", async () => {
    for (const host of [
      ...["localhost", "LOCALHOST:8080", "127.0.0.1", "127.1.2.3:1", "[::1]", "[::1]:8080"],
      ...["fx.bank.example", "FX.bank.example:8443", "[2001:db8::1]:80"],
      // A final dot says that a name is absolute.
      ...["localhost.", "fx.bank.example.", "FX.bank.example.:8443"],
    ]) {
      assert.equal((await send(server, "GET /api/rates", { host })).status, 200, host);
    }
  });

  for (const headers of elsewhere) {
    test(`A server without tokens lets a page with ${JSON.stringify(headers)} do nothing`, async () => {
      for (const [id, operation] of withRole) {
        const [line, type] = requestTo(operation);
        const answer = await send(server, line, { ...headers, ...type });
        isProblem(answer, "forbidden");
        conforms(id as OperationId, answer);
      }
      const before = await balance();
      isProblem(await send(server, `POST /api/exchange/${pesel}`, headers, order), "forbidden");
      assert.equal(await balance(), before);
    });
  }

  test("A server without tokens shows its public pages to a reader who follows a link from elsewhere", async () => {
    const headers = { "sec-fetch-site": "cross-site" };
    for (const path of ["/docs", "/openapi.json", "/health/live"]) {
      assert.equal((await send(server, `GET ${path}`, headers)).status, 200, path);
    }
  });

  test("A server without tokens answers its own pages, typed addresses and other programs than browsers", async () => {
    for (const headers of [
      { origin: `http://${own}`, "sec-fetch-site": "same-origin" },
      { origin: `http://${own}` },
      // A proxy that speaks https, and hands the Host on.
      { origin: "https://fx.bank.example", host: "fx.bank.example" },
      { "sec-fetch-site": "none" },
      {},
    ]) {
      const answer = await send(server, `POST /api/exchange/${pesel}`, headers, order);
      assert.equal(answer.status, 200, JSON.stringify(headers));
    }
  });

  test("A server without tokens sends no CORS headers to pages from elsewhere", async () => {
    const headers = { origin: "https://evil.example", "access-control-request-method": "POST" };
    const preflight = await send(server, "OPTIONS /api/user", headers);
    isProblem(preflight, "method-not-allowed");
    for (const answer of [preflight, await send(server, "GET /api/rates", headers)]) {
      assert.deepEqual(
        [...answer.headers.keys()].filter((name) => name.startsWith("access-control-")),
        [],
      );
    }
  });
});

test("where tokens are in force, the Host may be any, and a page from elsewhere may do nothing all the same", async (t) => {
  const caller = { name: "ann", role: "operator", expires: undefined } as const;
  const server = await startServer({}, "", { tokens: { callerOf: () => caller } });
  t.after(() => server.close());
  const headers = { host: "fx.internal", authorization: "Bearer x" };
  assert.equal((await send(server, "POST /api/user", headers, opening)).status, 204);
  for (const other of elsewhere) {
    const answer = await send(server, `POST /api/exchange/${pesel}`, { ...headers, ...other }, order);
    isProblem(answer, "forbidden");
  }
});

describe("pages of an origin that --cors names", () => {
  const origin = "https://counter.bank.example";
  const headers = { origin, "sec-fetch-site": "cross-site" };
  const server = useServer({}, "", { cors: [origin] });

  test("Pages of an origin that --cors names may do everything, and read the answers and their headers", async () => {
    for (const [line, body, status] of [
      ["POST /api/user", opening, 204],
      [`POST /api/exchange/${pesel}`, order, 200],
      [`POST /api/exchange/${pesel}`, { ...order, toBuy: 1e9 }, 400],
      ["GET /api/audit", undefined, 200],
      ["GET /api/audit/checkpoint", undefined, 200],
      ["GET /api/export?format=csv", undefined, 200],
      ["GET /docs", undefined, 200],
      ["GET /nothing", undefined, 404],
    ] as const) {
      const answer = await send(server, line, headers, body);
      assert.equal(answer.status, status, line);
      assert.equal(answer.headers.get("access-control-allow-origin"), origin, line);
      assert.equal(answer.headers.get("vary"), "Origin", line);
      assert.match(answer.headers.get("access-control-expose-headers") ?? "", /Fx-Receipt/, line);
    }
  });

  test("Pages of an origin that --cors names may send preflights, with the headers that fx reads", async () => {
    const answer = await send(server, `OPTIONS /api/exchange/${pesel}`, {
      ...headers,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,idempotency-key",
    });
    assert.equal(answer.status, 204);
    assert.equal(answer.headers.get("access-control-allow-origin"), origin);
    assert.match(answer.headers.get("access-control-allow-methods") ?? "", /\bPOST\b/);
    assert.match(answer.headers.get("access-control-allow-headers") ?? "", /Authorization.*Idempotency-Key/);
    assert.equal(answer.headers.get("access-control-allow-credentials"), null);
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
  });

  test("Pages of another origin than those that --cors names may do nothing", async () => {
    for (const other of [
      "https://counter.bank.example.evil.example",
      "http://counter.bank.example",
      "null",
    ]) {
      const answer = await send(server, "GET /api/rates", { origin: other, "sec-fetch-site": "cross-site" });
      isProblem(answer, "forbidden");
      assert.equal(answer.headers.get("access-control-allow-origin"), null);
      const preflight = await send(server, "OPTIONS /api/user", {
        origin: other,
        "access-control-request-method": "POST",
      });
      assert.equal(preflight.headers.get("access-control-allow-origin"), null);
    }
  });
});
