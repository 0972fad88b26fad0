import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request as forward, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { openHttpService } from "../../src/client/http-service.ts";
import { pln } from "../../src/core/currency.ts";
import { FxError } from "../../src/core/errors.ts";
import type { BulkAnswer, BulkLine } from "../../src/core/service.ts";
import { encodeProblem } from "../../src/wire/problem.ts";
import { adult, decimal, opening, terms } from "../support/fixture.ts";
import { startServer } from "../support/server.ts";

/** A server with two accounts of 1000 PLN. */
async function instance(t: TestContext) {
  const server = await startServer();
  t.after(() => server.close());
  for (const index of [0, 1]) await server.service.createAccount(opening({ index, pln: "1000" }));
  return {
    ...server,
    /** How many exchanges the accounts have. */
    exchanges: async () => {
      const pages = [0, 1].map((index) => server.service.statement(adult(index), { limit: 1000 }));
      return (await Promise.all(pages)).flatMap(({ items }) => items).length - 2;
    },
  };
}

const opened = { kind: "opening" as const, ...opening({ index: 5, pln: "5" }) };
const deposit = {
  kind: "deposit",
  pesel: adult(5),
  amount: decimal("1.5"),
  currency: pln,
  note: "a",
} as const;

const order = (index: number, key?: string, text = "buy 0.01 USD for PLN") => ({
  kind: "exchange" as const,
  pesel: adult(index % 2),
  ...terms(text),
  key,
});

/** The answers of one bulk, whose lines come a few at a time. */
async function bulk(t: TestContext, url: string, lines: readonly BulkLine[]): Promise<BulkAnswer[]> {
  const service = openHttpService(url, { pauseMs: 1 });
  t.after(() => service.close());
  const answers: BulkAnswer[] = [];
  async function* chunks() {
    for (let start = 0; start < lines.length; start += 7) yield lines.slice(start, start + 7);
  }
  for await (const some of service.bulk(chunks())) answers.push(...some);
  return answers;
}

const outcome = (answer: BulkAnswer) =>
  "code" in answer ? answer.code : answer.replayed ? "replayed" : "done";

async function listening(
  t: TestContext,
  server: Server | ReturnType<typeof createTcpServer>,
): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Passes everything on, and breaks each connection once it has passed so many bytes of answers. */
function cutter(t: TestContext, url: string, bytesOf: (connection: number) => number): Promise<string> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createTcpServer((client) => {
    connections += 1;
    let left = bytesOf(connections);
    const upstream = connect(Number(new URL(url).port), "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    upstream.on("data", (chunk: Buffer) => {
      client.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) client.end(() => upstream.destroy());
    });
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  return listening(t, server);
}

describe("a bulk at a server", () => {
  test("is answered line by line, in order, with what was sold and bought", async (t) => {
    const { url } = await instance(t);
    const unreadable = new FxError("invalid-request", "It cannot be read.");
    const answers = await bulk(t, url, [
      order(0, "a"),
      unreadable,
      order(0, "b", "buy 9999 USD for PLN"),
      opened,
      order(0, "a"),
      { ...deposit, key: "d" },
    ]);
    assert.deepEqual(answers.map(outcome), [
      "done",
      "invalid-request",
      "insufficient-funds",
      "done",
      "replayed",
      "done",
    ]);
    assert.equal(answers[1], unreadable);
    const [first] = answers;
    assert.ok(first !== undefined && "account" in first);
    assert.deepEqual([first.bought?.minor, first.account.balances.at(-1)?.minor], [1n, 1n]);
    const last = answers.at(-1);
    assert.ok(last !== undefined && "account" in last);
    assert.deepEqual([last.bought, last.account.balances.at(-1)?.minor], [undefined, 650n]);
  });

  test("answers a line that cannot be read before more come", async (t) => {
    const { url } = await instance(t);
    const service = openHttpService(url);
    t.after(() => service.close());
    let isAnswered = () => {};
    const answered = new Promise<void>((resolve) => {
      isAnswered = resolve;
    });
    async function* lines() {
      yield [new FxError("invalid-request", "It cannot be read.")];
      await answered;
      yield [order(0, "a")];
    }
    const answers: BulkAnswer[] = [];
    for await (const some of service.bulk(lines())) {
      answers.push(...some);
      isAnswered();
    }
    assert.deepEqual(answers.map(outcome), ["invalid-request", "done"]);
  });

  test("is told of every line that nothing answers, where nobody listens", async (t) => {
    const closed = createServer();
    const url = await listening(t, closed);
    closed.close();
    const answers = await bulk(t, url, [order(0, "a"), order(1), order(0, "b")]);
    assert.deepEqual(answers.map(outcome), ["unreachable", "unreachable", "unreachable"]);
  });
});

describe("a bulk whose connection breaks", () => {
  test("at any place is finished over others, and does nothing twice", async (t) => {
    for (let place = 1; place < 6000; place += 517) {
      await t.test(`after ${place} bytes`, async (t) => {
        const { url, exchanges } = await instance(t);
        const proxy = await cutter(t, url, (connection) => place + 600 * connection);
        const lines = Array.from({ length: 60 }, (_, index) => order(index, `k${index}`));
        const answers = await bulk(t, proxy, lines);
        assert.deepEqual(new Set(answers.map(outcome)), new Set(["done"]));
        assert.deepEqual([answers.length, await exchanges()], [60, 60]);
      });
    }
  });

  test("says of lines without keys that their outcome is not known, and sends them once", async (t) => {
    const { url, exchanges } = await instance(t);
    const proxy = await cutter(t, url, () => 1000);
    const answers = await bulk(
      t,
      proxy,
      Array.from({ length: 60 }, (_, index) => order(index)),
    );
    const outcomes = answers.map(outcome);
    const done = outcomes.lastIndexOf("done") + 1;
    assert.ok(done > 0 && done < 60, `${done} were answered`);
    assert.deepEqual(
      outcomes.slice(done).filter((one) => one !== "outcome-unknown" && one !== "unreachable"),
      [],
    );
    assert.ok((await exchanges()) <= 60);
  });

  test("for good says of its lines that their outcome is not known", async (t) => {
    const { url } = await instance(t);
    const proxy = await cutter(t, url, () => 1);
    const answers = await bulk(t, proxy, [order(0, "a"), order(1, "b")]);
    assert.deepEqual(answers.map(outcome), ["outcome-unknown", "outcome-unknown"]);
  });

  test("because the server is stopping is finished at the next, keys or not", async (t) => {
    const { url, exchanges } = await instance(t);
    let stopped = 0;
    const server = createServer((request, response) => {
      if (stopped < 2) {
        stopped += 1;
        const problem = encodeProblem(new FxError("overloaded", "The server is stopping."), "1");
        response.writeHead(200, { "content-type": "application/x-ndjson" });
        response.end(`${JSON.stringify({ line: null, status: 503, problem })}\n`);
        return;
      }
      const { method, headers } = request;
      const passed = forward(`${url}${request.url}`, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      request.pipe(passed);
    });
    const answers = await bulk(t, await listening(t, server), [order(0), order(1)]);
    assert.deepEqual([answers.map(outcome), await exchanges()], [["done", "done"], 2]);
  });
});
