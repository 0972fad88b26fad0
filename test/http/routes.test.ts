import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { answerCodes } from "../../src/core/errors.ts";
import { adult, table } from "../support/fixture.ts";
import { type HttpRequest, isProblem, send } from "../support/http.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
after(() => server.close());
const pesel = adult(1);

const get = (path: string, headers?: Record<string, string>) =>
  send(server.url, "GET", path, headers === undefined ? {} : { headers });
const post = (path: string, body: object) => send(server.url, "POST", path, { body });

await post("/api/user", { name: "Jan", surname: "Kowalski", pesel, pln: 1000 });
await post(`/api/exchange/${pesel}`, { pesel, from: "PLN", to: "USD", toBuy: 10 });

describe("request ids", () => {
  test("A request's id is echoed", async () => {
    const answer = await get("/health/live", { "x-request-id": "abc-1:2.3_4" });
    assert.equal(answer.headers.get("x-request-id"), "abc-1:2.3_4");
  });

  test("A request's id that must not be logged is replaced", async () => {
    for (const id of ["a b", "x".repeat(129), `order-${pesel}`, "800101-12340", "<script>"]) {
      const answer = await get("/nothing", { "x-request-id": id });
      assert.notEqual(answer.headers.get("x-request-id"), id);
      isProblem(answer, "not-found");
    }
  });

  test("Each request without an id gets its own", async () => {
    const ids = await Promise.all(
      [1, 2, 3].map(async () => (await get("/health/live")).headers.get("x-request-id")),
    );
    assert.equal(new Set(ids).size, 3);
  });
});

describe("probes and metrics", () => {
  test("A server whose store fails is not ready", async (t) => {
    const { store } = server;
    t.mock.method(store, "ping", async () => {
      throw new Error("the disk is gone");
    });
    const answer = await get("/health/ready");
    assert.equal(answer.status, 503);
    assert.match(answer.text, /^\{"status":"store-unavailable"/);
  });

  test("probes are not logged", async () => {
    await get("/health/ready");
    assert.doesNotMatch(server.log(), /health/);
  });

  test("each other request is one line in the log, with the pattern of its route", async () => {
    const before = server.log().length;
    await get(`/api/user/${pesel}`, { "x-request-id": "my-request" });
    const { id, method, route, status, ms } = JSON.parse(server.log().slice(before));
    assert.deepEqual([id, method, route, status], ["my-request", "GET", "/api/user/{pesel}", 200]);
    assert.equal(typeof ms, "number");
  });

  /** The answer to a request, and the line that it adds to the log. */
  async function logged(method: string, path: string, request: HttpRequest = {}) {
    const before = server.log().length;
    const answer = await send(server.url, method, path, request);
    const lines = server.log().slice(before).trim().split("\n");
    return { answer, line: JSON.parse(lines.at(-1) ?? "") };
  }

  test("the line of a refused request has its code", async () => {
    assert.equal((await logged("GET", `/api/user/${adult(9000)}`)).line.code, "account-not-found");
    assert.equal((await logged("GET", "/nothing")).line.code, "not-found");
    assert.equal((await logged("POST", "/api/user", { body: "{" })).line.code, "invalid-request");
    assert.equal((await logged("GET", `/api/user/${pesel}`)).line.code, undefined);
  });

  test("the line of an exchange has the id of its receipt", async () => {
    const body = { pesel, from: "PLN", to: "USD", toSell: 1 };
    const { answer, line } = await logged("POST", `/api/exchange/${pesel}`, { body });
    assert.equal(`/api/receipts/${line.receipt}`, answer.headers.get("fx-receipt"));
  });

  test("metrics count every result of an order from 0", async () => {
    const fresh = await startServer();
    const { text } = await send(fresh.url, "GET", "/metrics");
    await fresh.close();
    const zeros = [...text.matchAll(/^fx_orders_total\{result="([a-z-]+)"\} 0$/gm)].map(
      ([, result]) => result,
    );
    assert.deepEqual(zeros, ["settled", "replayed", ...answerCodes]);
  });

  test("metrics have no age of a table where there is none", async () => {
    server.rates.use(undefined);
    const { text } = await get("/metrics");
    server.rates.use(table);
    assert.doesNotMatch(text, /^fx_rates_table_age_seconds /m);
  });

  test("metrics name the version, the kind of store and the source of the rates", async () => {
    const { text } = await get("/metrics");
    assert.match(text, /^fx_info\{version="1\.2\.3",store="memory",rates="fixed"\} 1$/m);
  });

  test("only a counter of the metrics is called a total", async () => {
    const { text } = await get("/metrics");
    for (const [, name, type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      assert.equal(name?.endsWith("_total"), type === "counter", name);
    }
  });
});

describe("an error that nobody expected", () => {
  test("An unexpected error is answered as internal without its message, and logged without PESELs", async () => {
    const broken = await startServer({
      account: async () => {
        throw new TypeError(`secret: no row for ${pesel}`, { cause: new Error("a deeper reason") });
      },
    });
    try {
      const answer = await send(broken.url, "GET", `/api/user/${pesel}`);
      const { detail } = isProblem(answer, "internal");
      assert.doesNotMatch(detail, /secret/);
      const log = broken.log();
      assert.match(log, /secret: no row for 7\d{5}\*\*\*\*\*/);
      assert.match(log, /a deeper reason/);
      assert.equal(log.includes(pesel), false);
    } finally {
      await broken.close();
    }
  });
});

describe("the documentation", () => {
  test("The page of the documentation loads everything from this server", async () => {
    const links = [...(await get("/docs")).text.matchAll(/(?:src|href)="([^"]+)"/g)];
    assert.ok(links.length > 3);
    for (const [, link = ""] of links) assert.equal((await get(link)).status, 200, link);
  });

  test("The documentation shows the document that is served", async () => {
    const [shown, served] = await Promise.all([get("/docs/json"), get("/openapi.json")]);
    assert.deepEqual(shown.json, served.json);
    assert.equal((served.json as { info: { version: string } }).info.version, "1.2.3");
  });
});
