import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { answerCodes } from "../../src/core/errors.ts";
import { schemaVersion } from "../../src/ledger/store.ts";
import type { Operation } from "../../src/wire/operation.ts";
import { operations } from "../../src/wire/operations.ts";
import type { RatesJson } from "../../src/wire/schemas.ts";
import { adult, table } from "../support/fixture.ts";
import { type HttpRequest, isProblem, send } from "../support/http.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
const pesel = adult(1);
let receipt = "";

before(async () => {
  server = await startServer();
  await post("/api/user", { name: "Jan", surname: "Kowalski", pesel, pln: 1000 });
  receipt =
    (await post(`/api/exchange/${pesel}`, { pesel, from: "PLN", to: "USD", toBuy: 10 })).headers.get(
      "fx-receipt",
    ) ?? "";
  await post("/api/user", { name: "Anna", surname: "Nowak", pesel: adult(2), pln: 1 });
});
after(() => server.close());

const get = (path: string, headers?: Record<string, string>) =>
  send(server.url, "GET", path, headers === undefined ? {} : { headers });
const post = (path: string, body: object) => send(server.url, "POST", path, { body });

describe("every answer has the shape that the document gives it", () => {
  const paths: Record<string, string> = {
    account: `/api/user/${pesel}`,
    quote: "/api/quote?from=PLN&to=usd&toBuy=10.50",
    rates: "/api/rates",
    rateHistory: "/api/rates/usd/history?days=30",
    statement: `/api/user/${pesel}/history`,
    accounts: "/api/users",
    position: "/api/position",
    audit: "/api/audit",
    token: "/api/token",
    live: "/health/live",
    ready: "/health/ready",
  };
  for (const [id, path] of Object.entries({ ...paths, receipt: "" })) {
    test(id, async () => {
      const { schema } = (operations as Record<string, Operation>)[id]?.success ?? {};
      const answer = await get(path || receipt);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
      assert.equal(answer.headers.get("cache-control"), "no-store");
      // What the schema reads is all there is: nothing is answered that the document does not tell.
      assert.deepEqual(schema?.parse(answer.json), answer.json);
    });
  }

  test("and no operation was left out", () => {
    const all = Object.entries<Operation>(operations)
      .filter(([, { method, success, lines }]) => method === "GET" && success.schema && lines === undefined)
      .map(([id]) => id);
    assert.deepEqual(Object.keys(paths).concat("receipt").sort(), all.sort());
  });
});

describe("pages", () => {
  test("accounts come as many as asked for, then the rest", async () => {
    const first = (await get("/api/users?limit=1")).json as { users: { name: string }[]; next: string };
    const second = (await get(`/api/users?limit=1&cursor=${first.next}`)).json as typeof first;
    assert.deepEqual(
      [...first.users, ...second.users].map(({ name }) => name),
      ["Jan", "Anna"],
    );
    assert.equal(second.next, null);
  });

  for (const query of [
    "limit=0",
    "limit=1001",
    "limit=x",
    "limit=1.5",
    "limit=",
    "limit=1&limit=2",
    "cursor=",
    "name=",
    "name=%20-",
    "name=a&name=b",
  ]) {
    test(`?${query} is refused`, async () => {
      const problem = isProblem(await get(`/api/users?${query}`), "invalid-request");
      assert.equal(problem.errors?.[0]?.pointer, `/${query.split("=")[0]}`);
    });
  }

  test("?page=2 is refused", async () => {
    const { errors } = isProblem(await get("/api/users?page=2"), "invalid-request");
    assert.deepEqual(errors, [
      {
        pointer: "",
        detail: "has an unknown parameter, whose name is withheld; known are limit, cursor, name, at",
      },
    ]);
  });

  test("accounts of a name come as many as asked for, and the cursor goes on among them", async () => {
    const names = async (query: string) => {
      const { users, next } = (await get(`/api/users?${query}`)).json as {
        users: { name: string }[];
        next: string | null;
      };
      return [users.map(({ name }) => name), next];
    };
    assert.deepEqual(await names("name=JAN"), [["Jan"], null]);
    assert.deepEqual(await names("name=nobody"), [[], null]);
    const { entries } = (await get(`/api/user/${pesel}/history?limit=1`)).json as {
      entries: { id: string }[];
    };
    assert.deepEqual(await names(`name=jan&cursor=${entries[0]?.id}`), [[], null]);
  });

  test("the history of an account takes a limit and a cursor", async () => {
    const first = (await get(`/api/user/${pesel}/history?limit=1`)).json as {
      entries: { kind: string }[];
      next: string;
    };
    assert.deepEqual(
      first.entries.map(({ kind }) => kind),
      ["exchange"],
    );
    isProblem(await get(`/api/user/${pesel}/history?cursor=x`), "invalid-request");
    isProblem(await get(`/api/user/${pesel}/history?key=`), "invalid-request");
    isProblem(await get(`/api/user/${pesel}/history?key=%C5%82`), "invalid-request");
    isProblem(await get("/api/user/1/history"), "invalid-pesel");
    isProblem(await get(`/api/user/${adult(9)}/history`), "account-not-found");
  });
});

describe("quotes and rates", () => {
  test("a quote with a bad query names the parameter", async () => {
    const problem = isProblem(await get("/api/quote?from=PLN&to=USD&toBuy=ten"), "invalid-request");
    assert.deepEqual(problem.errors, [
      { pointer: "/toBuy", detail: "must be a decimal number, such as 12.30" },
    ]);
  });

  for (const [query, code] of [
    ["from=PLN&to=USD", "invalid-request"],
    ["from=PLN&to=USD&toBuy=1&toSell=1", "invalid-request"],
    ["from=PLN&to=pln&toBuy=1", "same-currency"],
    ["from=PLN&to=XAU&toBuy=1", "unsupported-currency"],
    ["from=PLN&to=USD&toBuy=0", "invalid-amount"],
    ["from=PLN&to=EUR&toSell=0.01", "amount-too-small"],
    ["from=PLN&to=EUR&toSell=999999999999999999", "balance-limit"],
    ["from=PLN&to=EUR&toBuy=1e308", "balance-limit"],
  ] as const) {
    test(`a quote of ${query} is refused as ${code}`, async () => {
      isProblem(await get(`/api/quote?${query}`), code);
    });
  }

  test("a history over no days, too many or an unknown currency is refused", async () => {
    isProblem(await get("/api/rates/USD/history?days=0"), "invalid-request");
    isProblem(await get("/api/rates/USD/history?days=3661"), "invalid-request");
    isProblem(await get("/api/rates/PLN/history"), "unsupported-currency");
    isProblem(await get("/api/rates/%00/history"), "unsupported-currency");
  });

  test("an unknown receipt is answered with 404", async () => {
    isProblem(await get("/api/receipts/nothing"), "not-found");
    isProblem(await get("/api/receipts/%00"), "not-found");
  });
});

describe("request ids", () => {
  test("one that is brought is echoed", async () => {
    const answer = await get("/health/live", { "x-request-id": "abc-1:2.3_4" });
    assert.equal(answer.headers.get("x-request-id"), "abc-1:2.3_4");
  });

  test("one that cannot be logged is replaced", async () => {
    for (const id of ["a b", "x".repeat(129), `order-${pesel}`, "800101-12340", "<script>"]) {
      const answer = await get("/nothing", { "x-request-id": id });
      assert.notEqual(answer.headers.get("x-request-id"), id);
      isProblem(answer, "not-found");
    }
  });

  test("each request without one gets its own", async () => {
    const ids = await Promise.all(
      [1, 2, 3].map(async () => (await get("/health/live")).headers.get("x-request-id")),
    );
    assert.equal(new Set(ids).size, 3);
  });
});

describe("probes and metrics", () => {
  test("without rates the server is ready, and says that there are none", async () => {
    server.rates.use(undefined);
    try {
      const answer = await get("/health/ready");
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.json, {
        status: "ready",
        version: "1.2.3",
        store: "memory",
        schemaVersion,
        rates: {
          source: "fixed",
          recorded: true,
          table: null,
          effectiveDate: null,
          tradable: false,
          reason: "There is no rate table yet.",
          problem: null,
          clock: null,
        },
      });
      assert.doesNotMatch((await get("/metrics")).text, /^fx_rates_table_age_seconds /m);
    } finally {
      server.rates.use(table);
    }
  });

  test("with a store that fails the server is not ready", async (t) => {
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
    const lines = server.log().slice(before).trim().split("\n");
    assert.equal(lines.length, 1);
    const { id, method, route, status, ms } = JSON.parse(lines[0] ?? "");
    assert.deepEqual([id, method, route, status], ["my-request", "GET", "/api/user/{pesel}", 200]);
    assert.equal(typeof ms, "number");
  });

  /** The lines that requests to `path` add to the log. */
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

  test("rates say that they are recorded, and whether and why orders are not settled at them", async () => {
    const said = async () => {
      const { json } = await get("/api/rates");
      const { table: number, recorded, tradable, reason } = json as RatesJson;
      return { number, recorded, tradable, reason };
    };
    const { number } = table;
    assert.deepEqual(await said(), { number, recorded: true, tradable: true, reason: null });
    server.rates.halt("It is too old.");
    try {
      assert.deepEqual(await said(), { number, recorded: true, tradable: false, reason: "It is too old." });
    } finally {
      server.rates.halt(undefined);
    }
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

  test("metrics count requests by route and status, orders by result, and the age of the table", async () => {
    const { text, headers } = await get("/metrics");
    assert.match(headers.get("content-type") ?? "", /^text\/plain/);
    assert.match(text, /_count\{method="GET",route="\/api\/user\/\{pesel\}",status="200"\} \d+/);
    assert.match(text, /fx_orders_total\{result="settled"\} 2\n/);
    assert.match(text, /fx_rates_table_age_seconds 50400\n/);
    assert.match(text, /process_cpu_user_seconds_total/);
  });
});

describe("an error that nobody expected", () => {
  test("is answered as internal, told to nobody, and logged without PESELs", async () => {
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
  test("/ leads to it", async () => {
    const answer = await get("/");
    assert.deepEqual([answer.status, answer.headers.get("location")], [302, "/docs"]);
  });

  test("its page loads everything from this server", async () => {
    const page = await get("/docs");
    assert.equal(page.status, 200);
    const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link ?? "");
    assert.ok(links.length > 3);
    for (const link of links) assert.equal((await get(link)).status, 200, link);
    assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/);
    assert.doesNotMatch(page.headers.get("content-security-policy") ?? "", /unsafe|upgrade|https?:/);
  });

  test("it shows the document that is served", async () => {
    const [shown, served] = await Promise.all([get("/docs/json"), get("/openapi.json")]);
    assert.deepEqual(shown.json, served.json);
    assert.equal((served.json as { info: { version: string } }).info.version, "1.2.3");
  });
});

test("HEAD answers as GET does, without a body", async () => {
  const answer = await send(server.url, "HEAD", `/api/user/${pesel}`);
  assert.deepEqual([answer.status, answer.text], [200, ""]);
  assert.equal(Number(answer.headers.get("content-length")) > 50, true);
});
