import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { after, before, describe, test } from "node:test";
import { FxError } from "../../src/core/errors.ts";
import { adult } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
before(async () => {
  server = await startServer();
  const body = { name: "Jan", surname: "Kowalski", pesel: adult(1), pln: 1000 };
  assert.equal((await send(server.url, "POST", "/api/user", { body })).status, 204);
});
after(() => server.close());

const get = (query: string) => send(server.url, "GET", `/api/export?${query}`);

/** An answer whose body is not read yet. */
async function ask(url: string): Promise<IncomingMessage> {
  const asked = request(`${url}/api/export?format=csv`).end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  return response;
}

/** A server whose exports are these parts. */
function serving(parts: () => AsyncGenerator<string>): Promise<TestServer> {
  return startServer({ export: parts });
}

describe("an export", () => {
  for (const [format, type, name] of [
    ["hledger", "text/plain", "fx-2026-06-08.journal"],
    ["beancount", "text/plain", "fx-2026-06-08.beancount"],
    ["csv", "text/csv", "fx-2026-06-08.csv"],
    ["ndjson", "application/x-ndjson", "fx-2026-06-08.ndjson"],
  ] as const) {
    test(`as ${format} is ${type}, with a name for a file, and is not stored on its way`, async () => {
      const { status, headers, text } = await get(`format=${format}`);
      assert.deepEqual(
        [status, headers.get("content-type"), headers.get("cache-control")],
        [200, `${type}; charset=utf-8`, "no-store"],
      );
      assert.equal(headers.get("content-disposition"), `attachment; filename="${name}"`);
      assert.match(text, /opening/);
      assert.ok(!text.includes("Kowalski"));
    });
  }

  test("with full=true names the customers", async () => {
    assert.match((await get("format=csv&full=true")).text, /Kowalski/);
    assert.doesNotMatch((await get("format=csv&full=false")).text, /Kowalski/);
  });

  for (const [query, pointer] of [
    ["", "/format"],
    ["format=xlsx", "/format"],
    ["format=csv&from=2026-02-30", "/from"],
    ["format=csv&to=yesterday", "/to"],
    ["format=csv&at=2026-06-08", "/at"],
    ["format=csv&at=2026-06-08T12:00:00Z", "/at"],
    ["format=csv&full=yes", "/full"],
    ["format=csv&from=2026-06-02&to=2026-06-01", "/from"],
  ]) {
    test(`of ?${query} is refused, naming ${pointer}`, async () => {
      const problem = isProblem(await get(query ?? ""), "invalid-request");
      assert.equal(problem.errors?.[0]?.pointer, pointer);
    });
  }

  test("of ?format=csv&limit=1 is refused", async () => {
    const { errors } = isProblem(await get("format=csv&limit=1"), "invalid-request");
    assert.deepEqual(errors, [
      {
        pointer: "",
        detail: "has an unknown parameter, whose name is withheld; known are format, from, to, at, full",
      },
    ]);
  });

  test("answers HEAD without a body", async () => {
    const { status, text } = await send(server.url, "HEAD", "/api/export?format=csv");
    assert.deepEqual([status, text], [200, ""]);
  });

  test("that cannot begin is answered with the problem", async (t) => {
    const refusing = await serving(async function* () {
      if (Date.now() > 0) throw new FxError("overloaded", "Too many.", { retryAfterSeconds: 5 });
      yield "";
    });
    t.after(() => refusing.close());
    const answer = await send(refusing.url, "GET", "/api/export?format=csv");
    isProblem(answer, "overloaded");
    assert.equal(answer.headers.get("retry-after"), "5");
  });

  test("that fails later breaks off, and the log says why", async (t) => {
    const failing = await serving(async function* () {
      yield "id\n";
      throw new FxError("storage-unavailable", "The disk is gone.");
    });
    t.after(() => failing.close());
    await assert.rejects(send(failing.url, "GET", "/api/export?format=csv"));
    assert.match(failing.log(), /"code":"storage-unavailable".*The disk is gone/);
  });

  test("is made as fast as it is read, and no more of it once the reader is gone", async (t) => {
    let made = 0;
    let ended = () => {};
    const over = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const endless = await serving(async function* () {
      try {
        for (;;) {
          made += 1;
          yield "x".repeat(65_536);
        }
      } finally {
        ended();
      }
    });
    t.after(() => endless.close());
    const response = await ask(endless.url);
    let before = -1;
    while (before !== made) {
      before = made;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    assert.ok(made < 1000, `${made} parts`);
    response.resume();
    while (made < 2 * before) await once(response, "data");
    response.destroy();
    await over;
  });

  test("is broken off by a stop", async () => {
    const endless = await serving(async function* () {
      for (;;) yield "x".repeat(65_536);
    });
    const response = await ask(endless.url);
    const cut = once(response, "error");
    await endless.close();
    response.resume();
    assert.equal((await cut)[0].code, "ECONNRESET");
  });
});
