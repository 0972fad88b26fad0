import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { parseHouseCash } from "../../src/core/change.ts";
import type { HousePlace } from "../../src/core/house.ts";
import type { ExchangeService } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { adult, decimal } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
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
    const inUuid = `00000000-0000-4000-8000-0${pesel}`;
    for (const id of ["a b", "x".repeat(129), `order-${pesel}`, "800101-12340", inUuid, "<script>"]) {
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

test("The house's drawer and bank are read together: money on its way from one to the other is not in both", async (t) => {
  const { url, service, close } = await startServer({
    async account(this: ExchangeService, pesel, at) {
      const read = await LedgerService.prototype.account.call(this, pesel, at);
      moving ??= toTheBank();
      await moving;
      return read;
    },
  });
  t.after(close);
  const move = (kind: "deposit" | "withdrawal", account: HousePlace) =>
    service.change(parseHouseCash({ kind, account, amount: decimal("300"), currency: "PLN" }));
  const toTheBank = async () => {
    await move("withdrawal", "cash");
    await move("deposit", "bank");
  };
  let moving: Promise<void> | undefined;
  await move("deposit", "cash");
  const { json } = await send(url, "GET", "/api/house");
  assert.deepEqual(json, { cash: [{ symbol: "PLN", amount: 300 }], bank: [] });
});
