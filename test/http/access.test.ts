import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { ExchangeService } from "../../src/core/service.ts";
import type { Operation } from "../../src/wire/operation.ts";
import { type OperationId, operations } from "../../src/wire/operations.ts";
import { type Caller, includes, type Role, roles } from "../../src/wire/role.ts";
import { BulkClient, linesType } from "../support/bulk.ts";
import { conforms } from "../support/document.ts";
import { adult, now } from "../support/fixture.ts";
import { openGate } from "../support/gate.ts";
import { type HttpAnswer, isProblem, send } from "../support/http.ts";
import { answerTo, headOf, openConnection } from "../support/raw-connection.ts";
import { pathOf, typeOf } from "../support/requests.ts";
import { routesOf } from "../support/routes.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const pesel = adult(1);
const opening = { name: "Jan", surname: "Kowalski", pesel, pln: 1000 };

const callerOf = (name: string, role: Role, expires?: Date): [string, Caller] => [
  name,
  { name, role, expires },
];
const known = () =>
  new Map([
    ...roles.map((role) => callerOf(role, role)),
    callerOf("late", "operator", new Date(now.getTime() + 3_600_000)),
    callerOf("past", "operator", now),
  ]);

/** A server whose tokens are the names of roles, "late" and "past". */
async function guarded(
  t?: TestContext,
  replace: Partial<ExchangeService> = {},
  options: Parameters<typeof startServer>[2] = {},
) {
  const callers = known();
  const server = await startServer(replace, "", {
    ...options,
    tokens: { callerOf: (header) => callers.get(header.replace(/^Bearer /, "")) },
  });
  t?.after(() => server.close());
  return { ...server, callers };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

let server: TestServer;
before(async () => {
  server = await guarded();
  assert.equal((await ask("POST /api/user", "teller", opening)).status, 204);
});
after(() => server.close());

function ask(line: string, token?: string, body?: object): Promise<HttpAnswer> {
  const [method = "", path = ""] = line.split(" ");
  const headers = {
    ...(token !== undefined && bearer(token)),
    ...(body !== undefined && { "content-type": "application/json" }),
  };
  return send(server.url, method, path, { headers, ...(body && { body }) });
}

async function* endless(): AsyncGenerator<string> {
  for (;;) {
    yield "line\n";
    await pause(10);
  }
}

const isAdmitted = ({ status }: HttpAnswer) => status !== 401 && status !== 403;

/** A request to the operation which is not valid if it is a POST, so that it does nothing. */
function requestTo(operation: Operation, token?: string) {
  const { method, path } = operation;
  const type = method === "POST" && { "content-type": typeOf(operation) };
  const query = path === "/api/users" ? "?name=kow" : "";
  const headers = { ...(token && bearer(token)), ...type };
  return send(server.url, method, pathOf(operation) + query, { headers, ...(type && { body: "[]" }) });
}

describe("where tokens are in force", () => {
  for (const [id, operation] of Object.entries<Operation>(operations)) {
    const { role } = operation;
    test(`${id} takes ${role === "anyone" ? "no token" : `a token of a ${role} or more`}`, async () => {
      for (const given of [undefined, ...roles]) {
        const answer = await requestTo(operation, given);
        const isAllowed = role === "anyone" || (given !== undefined && includes(given, role));
        assert.equal(isAdmitted(answer), isAllowed, `${given}: ${answer.status} ${answer.text}`);
        if (isAllowed) continue;
        isProblem(answer, given === undefined ? "unauthorized" : "forbidden");
        conforms(id as OperationId, answer);
      }
    });
  }
});

test("docs/ACCESS.md lists every route that there is, with its role, and no other", () => {
  const page = readFileSync(new URL("../../docs/ACCESS.md", import.meta.url), "utf8");
  const rows = page.matchAll(/^\| (viewer|teller|operator|anyone) \| (.*) \|$/gm);
  const listed = [...rows].flatMap(([, role, routes = ""]) =>
    [...routes.matchAll(/`(\S+ \S+)`/g)].map(([, route]) => `${route} ${role}`),
  );
  const roleOf = new Map(
    Object.values<Operation>(operations).map(({ method, path, role }) => [`${method} ${path}`, role]),
  );
  const served = routesOf(server.app).map((route) => {
    const shown = route.startsWith("GET /docs/") ? "GET /docs/*" : route;
    return `${shown} ${roleOf.get(route) ?? "anyone"}`;
  });
  assert.deepEqual(listed.sort(), [...new Set(served)].sort());
});

test("GET /api/token has the office of the server", async (t) => {
  const office = { name: "Kantor Wawel", address: "ul. Grodzka 1, Kraków", taxNumber: "676-000-00-00" };
  const open = await startServer({}, "", { office });
  t.after(() => open.close());
  const { json } = await send(open.url, "GET", "/api/token");
  assert.deepEqual(json, { name: null, role: "operator", expires: null, office });
});

describe("the log", () => {
  const linesOf = ({ log }: TestServer) =>
    log()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg === "token refused");

  test("The log has each refused token's fault and the client's address, and the name of one that expired", async (t) => {
    const own = await guarded(t);
    for (const token of ["nobody-knows-it", "past", "two words"]) {
      await send(own.url, "GET", "/api/rates", { headers: bearer(token) });
    }
    assert.deepEqual(
      linesOf(own).map(({ level, address, fault, by }) => [level, address, fault, by]),
      [
        [40, "127.0.0.1", "unknown", undefined],
        [40, "127.0.0.1", "expired", "past"],
        [40, "127.0.0.1", "unknown", undefined],
      ],
    );
    assert.doesNotMatch(own.log(), /nobody-knows-it|two words/);
  });

  test("The log has no line about the token for a request without a token", async (t) => {
    const own = await guarded(t);
    await send(own.url, "GET", "/api/rates");
    assert.deepEqual(linesOf(own), []);
    await own.logged(/"status":401,.*"code":"unauthorized"/);
  });
});

describe("a stream under way", () => {
  const lines = (token: string) => ({ headers: { ...linesType, ...bearer(token) } });

  test("A batch is ended when its token is revoked; the lines before that are done and answered", async (t) => {
    const { url, callers } = await guarded(t);
    const bulk = new BulkClient(url, lines("teller"));
    t.after(() => bulk.cut());
    bulk.write(opening);
    assert.equal((await bulk.next())?.status, 204);
    callers.delete("teller");
    const last = await bulk.next();
    assert.deepEqual([last?.line, last?.status, last?.problem?.code], [null, 401, "unauthorized"]);
  });

  test("A batch whose client reads nothing is logged once when its token is revoked", async (t) => {
    const { passed: gate, release } = openGate();
    const own = await guarded(t, {
      bulk: async function* () {
        await gate;
        yield [];
      },
    });
    const bulk = new BulkClient(own.url, lines("teller"));
    t.after(() => bulk.cut());
    bulk.write(opening);
    await bulk.response();
    own.callers.delete("teller");
    await own.logged(/"msg":"token refused"/);
    // The tokens of batches under way are looked up every 250 ms: a second line would come with the next look.
    await pause(600);
    release();
    assert.equal(own.log().match(/"msg":"token refused"/g)?.length, 1);
  });

  const never = () => new Promise<never>(() => {});
  for (const [path, replace] of [
    ["/api/audit", { audit: never }],
    ["/api/position", { position: never }],
    ["/api/audit/checkpoint", { audit: never }],
    ["/api/export?format=csv", { export: endless }],
  ] as const) {
    test(`The answer to GET ${path} breaks off when its token is revoked`, async (t) => {
      const options = { slowAnswers: { firstMs: 10, nextMs: 10 } };
      const { url, callers, log } = await guarded(t, replace, options);
      const answer = await fetch(`${url}${path}`, { headers: bearer("operator") });
      callers.delete("operator");
      await assert.rejects(answer.text());
      await until(() => log().includes('"ended":"unauthorized"'));
    });
  }

  test("An answer over HTTP/1.0, which has no end mark, breaks off with a reset", async (t) => {
    // A reset that comes together with text is an end to Node's client.
    async function* oneLine() {
      yield "line\n";
      await never();
    }
    const { url, callers } = await guarded(t, { export: oneLine });
    const connection = await openConnection(url);
    const ended = new Promise((resolve) => {
      connection.socket.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code));
      connection.socket.once("end", () => resolve("end"));
    });
    const head = headOf("GET /api/export?format=csv", `Authorization: ${bearer("operator").authorization}`);
    connection.socket.write(head.replace("HTTP/1.1", "HTTP/1.0"));
    await connection.until(/line/);
    callers.delete("operator");
    assert.equal(await ended, "ECONNRESET");
  });

  for (const path of ["/api/audit", "/api/audit/checkpoint"]) {
    test(`GET ${path} is refused with 401 if its token is revoked while it waits`, async (t) => {
      const { url, callers } = await guarded(t, { audit: never });
      const asked = send(url, "GET", path, { headers: bearer("operator") });
      await pause(50);
      callers.delete("operator");
      isProblem(await asked, "unauthorized");
    });
  }

  /** A server whose list of accounts, and with it every read that waits for its turn, is not answered until `release`. */
  async function heldUp(t: TestContext) {
    const { passed, release } = openGate();
    const accounts = () => passed.then(() => ({ items: [], next: undefined }));
    const server = await guarded(t, { accounts });
    let arrived = 0;
    server.app.server.on("request", () => (arrived += 1));
    return { ...server, release, arrived: () => arrived };
  }

  test("Reads that go on or wait for their turn are refused with 401 if their token is revoked meanwhile", async (t) => {
    const { url, callers, release, arrived } = await heldUp(t);
    const user = `/api/user/${pesel}`;
    const paths = ["/api/users", `${user}/history?limit=200`, `${user}?at=${now.toISOString()}`, "/api/till"];
    const asked = paths.map((path) => send(url, "GET", path, { headers: bearer("operator") }));
    await until(() => arrived() === paths.length);
    callers.delete("operator");
    release();
    for (const answer of asked) isProblem(await answer, "unauthorized");
  });

  test("A read that waits for its turn has the role that its token has then", async (t) => {
    const { url, callers, release, arrived } = await heldUp(t);
    const ask = (path: string) => send(url, "GET", path, { headers: bearer("operator") });
    const first = ask("/api/users");
    await until(() => arrived() === 1);
    const second = ask("/api/till?by=teller");
    await until(() => arrived() === 2);
    callers.set(...callerOf("operator", "teller"));
    release();
    assert.equal((await first).status, 200);
    isProblem(await second, "forbidden");
  });

  test("A batch is ended when its token expires", async (t) => {
    const { url, clock } = await guarded(t);
    const bulk = new BulkClient(url, lines("late"));
    t.after(() => bulk.cut());
    bulk.write(opening);
    assert.equal((await bulk.next())?.status, 204);
    clock.now = new Date(now.getTime() + 3_600_000);
    assert.equal((await bulk.next())?.problem?.code, "unauthorized");
  });
});

describe("two Authorization headers", () => {
  for (const [first, second] of [
    ["operator", "viewer"],
    ["viewer", "operator"],
    ["operator", "operator"],
    ["operator", "unknown"],
    ["unknown", "operator"],
  ]) {
    test(`Two Authorization headers, of ${first} and of ${second}, are refused with 401`, async () => {
      const lines = [`Authorization: Bearer ${first}`, `authorization: Bearer ${second}`];
      const answer = await answerTo(server.url, headOf("GET /api/users", ...lines));
      assert.match(answer, /^HTTP\/1\.1 401 .*more than one Authorization header/s);
    });
  }
});
