import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { type TestContext, test } from "node:test";
import { FxError } from "../../src/core/errors.ts";
import type { ExchangeService } from "../../src/core/service.ts";
import { opening } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { openInstance, startServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const { service } = await openInstance();
await service.createAccount(opening());
const { items } = await service.entries({ limit: 1 });
const [part, chunk] = ["x".repeat(65_536), Array(100).fill(items[0])];

/** The streams of a server, each with the service that makes it of as many parts as `parts` gives. */
const streams: readonly {
  readonly what: string;
  readonly path: string;
  readonly accept: string;
  readonly serving: (parts: () => AsyncGenerator<void>) => Partial<ExchangeService>;
}[] = [
  {
    ...{ what: "An export", path: "/api/export?format=csv", accept: "*/*" },
    serving: (parts) => ({
      async *export() {
        for await (const _ of parts()) yield part;
      },
    }),
  },
  {
    ...{ what: "A stream of entries", path: "/api/entries", accept: "text/event-stream" },
    serving: (parts) => ({
      async *follow() {
        for await (const _ of parts()) yield chunk;
      },
    }),
  },
];

for (const { what, path, accept, serving } of streams) {
  const open = async (t: TestContext, parts: () => AsyncGenerator<void>) => {
    const server = await startServer(serving(parts));
    t.after(() => server.close());
    const asked = request(`${server.url}${path}`, { headers: { accept } }).end();
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    const cut = new Promise<string | undefined>((resolve) => {
      response.on("error", ({ code }: NodeJS.ErrnoException) => resolve(code));
    });
    return { server, response, cut };
  };

  test(`${what} that fails after its first part breaks off, and the log says why`, async (t) => {
    const { server, response, cut } = await open(t, async function* () {
      yield;
      throw new FxError("storage-unavailable", "The disk is gone.");
    });
    response.resume();
    assert.equal(await cut, "ECONNRESET");
    await server.logged(/"code":"storage-unavailable".*The disk is gone/);
  });

  test(`${what} is made as fast as it is read, and ends when its reader disconnects`, async (t) => {
    let [made, isOver] = [0, false];
    const { response } = await open(t, async function* () {
      try {
        for (;;) {
          made += 1;
          yield;
        }
      } finally {
        isOver = true;
      }
    });
    for (let before = -1; before !== made; await new Promise((resolve) => setTimeout(resolve, 200)))
      before = made;
    const held = made;
    assert.ok(held < 1000, `${held} parts`);
    response.resume();
    await until(() => made > 2 * held);
    response.destroy();
    await until(() => isOver);
  });

  test(`${what} is broken off by a stop`, async (t) => {
    const { server, response, cut } = await open(t, async function* () {
      for (;;) yield;
    });
    await server.close();
    response.resume();
    assert.equal(await cut, "ECONNRESET");
  });
}

test("An export that cannot begin is answered with the problem", async (t) => {
  const failing = async function* () {
    if (items.length > 0) throw new FxError("overloaded", "Too many.", { retryAfterSeconds: 5 });
    yield "";
  };
  const server = await startServer({ export: failing });
  t.after(() => server.close());
  const answer = await send(server.url, "GET", "/api/export?format=csv");
  isProblem(answer, "overloaded");
  assert.equal(answer.headers.get("retry-after"), "5");
});
