import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { before, describe, test } from "node:test";
import { adult } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { startServer, type TestServer, useServer } from "../support/server.ts";
import { until } from "../support/until.ts";

const stream = { accept: "text/event-stream" };

/** A stream of entries, and what has come of it. */
async function follow({ url }: Pick<TestServer, "url">, query = "", headers: Record<string, string> = {}) {
  const asked = request(`${url}/api/entries${query}`, { headers: { ...stream, ...headers } }).end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  let text = "";
  response.setEncoding("utf8").on("data", (part) => {
    text += part;
  });
  const ended = new Promise((resolve) => response.once("close", resolve));
  response.on("error", () => {});
  return {
    response,
    ended,
    text: () => text,
    ids: () => [...text.matchAll(/^id: (\S+)\ndata: (.*)\n\n/gm)].map(([, id]) => id),
    close: () => void asked.destroy(),
  };
}

async function page({ url }: TestServer): Promise<{ entries: { id: string }[]; next: string }> {
  return JSON.parse((await send(url, "GET", "/api/entries")).text);
}

async function open(server: TestServer, index: number): Promise<void> {
  const body = { name: "Jan", surname: "Kowalski", pesel: adult(index), pln: 1000 };
  assert.equal((await send(server.url, "POST", "/api/user", { body })).status, 204);
}

describe("a stream of entries", () => {
  const server = useServer({}, "", { slowAnswers: { firstMs: 1000, nextMs: 100 } });
  let ids: string[];
  before(async () => {
    for (const index of [1, 2, 3]) await open(server, index);
    ids = (await page(server)).entries.map(({ id }) => id);
  });

  test("A stream of entries has the entries so far and each new one, as on a page, and is not stored on its way", async () => {
    const { response, close, ...followed } = await follow(server);
    const { "content-type": type, "cache-control": cache, "x-accel-buffering": buffering } = response.headers;
    assert.deepEqual([type, cache, buffering], ["text/event-stream; charset=utf-8", "no-store", "no"]);
    await until(() => followed.ids().length === 3);
    await open(server, 4);
    await until(() => followed.ids().length === 4);
    const { entries } = await page(server);
    const data = [...followed.text().matchAll(/^data: (.*)$/gm)].map(([, json = ""]) => JSON.parse(json));
    assert.deepEqual(data, entries);
    close();
  });

  test("Last-Event-ID resumes a stream, and counts before after", async () => {
    const byQuery = await follow(server, `?after=${ids[0]}`);
    const byHeader = await follow(server, `?after=${ids[0]}`, { "last-event-id": ids[1] ?? "" });
    await until(() => byHeader.ids()[0] === ids[2] && byQuery.ids()[0] === ids[1]);
    byQuery.close();
    byHeader.close();
  });

  test("A stream on which nothing happens begins at once and gets comments", async () => {
    const { close, text } = await follow(server, `?after=${(await page(server)).next}`);
    await until(() => text().length > 9);
    assert.match(text(), /^(:\n\n)+$/);
    close();
  });

  test("A stream of entries is no batch in the metrics, and is logged when it ends", async () => {
    const { close, ids } = await follow(server);
    await until(() => ids().length > 0);
    const { text } = await send(server.url, "GET", "/metrics");
    assert.doesNotMatch(text, /^fx_bulks?_\w+(\{[^}]*\})? [1-9]/m);
    close();
    await server.logged(/"route":"\/api\/entries","status":200/);
  });

  test("HEAD of a stream answers its type, and opens none", async () => {
    const { status, headers } = await send(server.url, "HEAD", "/api/entries", { headers: stream });
    assert.deepEqual([status, headers.get("content-type")], [200, "text/event-stream"]);
  });

  test("A stream beyond the limit of streams is refused as overloaded, until another one ends", async () => {
    const open = await Promise.all(Array.from({ length: 32 }, () => follow(server)));
    isProblem(await send(server.url, "GET", "/api/entries", { headers: stream }), "overloaded");
    for (const { close } of open) close();
    await until(async () => {
      const again = await follow(server);
      again.close();
      return again.response.statusCode === 200;
    });
  });
});

test("A stream of entries ends when the server stops, and when its token is revoked", async (t) => {
  let isRevoked = false;
  const caller = { name: "follower", role: "operator", expires: undefined } as const;
  const server = await startServer({}, "", { tokens: { callerOf: () => (isRevoked ? undefined : caller) } });
  t.after(() => server.close());
  const headers = { authorization: "Bearer x" };
  const revoked = await follow(server, "", headers);
  isRevoked = true;
  await revoked.ended;
  await server.logged(/"ended":"unauthorized"/);
  isRevoked = false;
  const stopped = await follow(server, "", headers);
  await Promise.all([stopped.ended, server.close()]);
  await server.logged(/"ended":"overloaded"/);
});
