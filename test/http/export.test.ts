import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { after, describe, test } from "node:test";
import { FxError } from "../../src/core/errors.ts";
import { adult } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { startServer, type TestServer } from "../support/server.ts";

const server = await startServer();
after(() => server.close());
const body = { name: "Jan", surname: "Kowalski", pesel: adult(1), pln: 1000 };
assert.equal((await send(server.url, "POST", "/api/user", { body })).status, 204);

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
  test("An export that cannot begin is answered with the problem", async (t) => {
    const refusing = await serving(async function* () {
      if (Date.now() > 0) throw new FxError("overloaded", "Too many.", { retryAfterSeconds: 5 });
      yield "";
    });
    t.after(() => refusing.close());
    const answer = await send(refusing.url, "GET", "/api/export?format=csv");
    isProblem(answer, "overloaded");
    assert.equal(answer.headers.get("retry-after"), "5");
  });

  test("An export that fails later breaks off, and the log says why", async (t) => {
    const failing = await serving(async function* () {
      yield "id\n";
      throw new FxError("storage-unavailable", "The disk is gone.");
    });
    t.after(() => failing.close());
    await assert.rejects(send(failing.url, "GET", "/api/export?format=csv"));
    await failing.logged(/"code":"storage-unavailable".*The disk is gone/);
  });

  test("An export is made as fast as it is read, and ends when the reader disconnects", async (t) => {
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

  test("An export is broken off by a stop", async () => {
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
