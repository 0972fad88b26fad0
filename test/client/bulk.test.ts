import assert from "node:assert/strict";
import { createServer, request as forward } from "node:http";
import { connect, createServer as createTcpServer } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { type AnswerCode, answerCodes, FxError, isOfRequest } from "../../src/core/errors.ts";
import type { BulkAnswer, BulkLine } from "../../src/core/service.ts";
import { bulkType } from "../../src/wire/bulk.ts";
import { encodeProblem, statusOf } from "../../src/wire/problem.ts";
import { clientOf } from "../support/client.ts";
import { adult, opening, terms } from "../support/fixture.ts";
import { openGate } from "../support/gate.ts";
import { startServer } from "../support/server.ts";
import { answersTo, cash, joined } from "../support/service.ts";
import {
  listen,
  openHttpStandIn,
  openStandIn,
  problemAnswer,
  rawAnswer,
  receiptFrom,
  unusedUrl,
} from "../support/stand-in.ts";
import { openTcpProxy } from "../support/tcp-proxy.ts";

/** A server with two accounts of 1000 PLN. */
async function instance(t: TestContext, options: Parameters<typeof startServer>[2] = {}) {
  const server = await startServer({}, "", options);
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
const order = (index: number, key?: string, text = "buy 0.01 USD for PLN") => ({
  kind: "exchange" as const,
  pesel: adult(index % 2),
  ...terms(text),
  key,
});

/** The answers of one batch, whose lines come a few at a time. */
async function bulk(t: TestContext, url: string, lines: readonly BulkLine[]): Promise<BulkAnswer[]> {
  const starts = lines.flatMap((_, start) => (start % 7 === 0 ? start : []));
  return answersTo(clientOf(t, url), ...starts.map((start) => lines.slice(start, start + 7)));
}

/** The answer of a stand-in to the first line, which is done. */
const done = '{"line":1,"status":204,"receipt":"r","replayed":false}\n';

/** The answer of a stand-in that refuses a line, or that ends the batch where the line is null. */
function refusal(line: number | null, code: AnswerCode): string {
  const problem = encodeProblem(new FxError(code, "For the test."), "r");
  return `${JSON.stringify({ line, status: problem.status, problem })}\n`;
}

const outcome = (answer: BulkAnswer) =>
  "code" in answer ? answer.code : answer.replayed ? "replayed" : "done";

/** A proxy that resets its first connection while the client still writes; the server gets what was sent before. */
async function resetting(t: TestContext, url: string, afterBytes: number): Promise<string> {
  let connections = 0;
  const server = createTcpServer((client) => {
    connections += 1;
    const isFirst = connections === 1;
    const upstream = connect(Number(new URL(url).port), "127.0.0.1");
    for (const socket of [client, upstream]) socket.on("error", () => {});
    let bytes = 0;
    client.on("data", (chunk: Buffer) => {
      upstream.write(chunk);
      bytes += chunk.length;
      if (!isFirst || bytes <= afterBytes) return;
      client.resetAndDestroy();
      setTimeout(() => upstream.destroy(), 500);
    });
    upstream.on("data", (chunk: Buffer) => client.write(chunk));
    upstream.on("close", () => client.destroy());
    client.on("close", () => {
      if (!isFirst) upstream.destroy();
    });
  });
  return listen(server, t);
}

/** A proxy that breaks each connection after a given number of bytes of answers. */
async function cutter(t: TestContext, url: string, bytesOf: (connection: number) => number): Promise<string> {
  const proxy = await openTcpProxy(
    () => Number(new URL(url).port),
    ({ client }, nth) => {
      let left = bytesOf(nth + 1);
      return {
        toClient: (bytes) => {
          client.write(bytes.subarray(0, left));
          left -= bytes.length;
          if (left <= 0) client.end(() => client.destroy());
        },
      };
    },
  );
  t.after(() => proxy.close());
  return proxy.url;
}

test("Lines without a key that were sent when the connection was reset have an unknown outcome, and the others are not done", async (t) => {
  const server = await instance(t);
  const url = await resetting(t, server.url, 130_000);
  const lines = Array.from({ length: 500 }, () => cash("deposit", adult(0), "1 PLN") as BulkLine);
  async function* chunks() {
    for (let times = 0; times < 16; times += 1) {
      yield lines;
      await pause(5);
    }
  }
  const outcomes = (await joined(clientOf(t, url).bulk(chunks()))).map(outcome);
  await pause(600);
  const { balances } = await server.service.account(adult(0));
  const done = Number((balances[0]?.minor ?? 0n) - 100_000n) / 100;
  const mayBeDone = outcomes.filter((one) => one === "done" || one === "outcome-unknown").length;
  assert.ok(done > 0 && done <= mayBeDone, `${done} done, and ${mayBeDone} told as perhaps done`);
});

describe("a batch at a server", () => {
  test("A batch at a server answers a line that cannot be read before more come", async (t) => {
    const { url } = await instance(t);
    const { passed: answered, release: answer } = openGate();
    async function* lines() {
      yield [new FxError("invalid-request", "It cannot be read.")];
      await answered;
      yield [order(0, "a")];
    }
    const outcomes: string[] = [];
    for await (const some of clientOf(t, url).bulk(lines())) {
      outcomes.push(...some.map(outcome));
      answer();
    }
    assert.deepEqual(outcomes, ["invalid-request", "done"]);
  });

  for (const way of ["bulk", "dryRun"] as const) {
    test(`A reader of answers may take longer over some than the client waits for a server, by ${way}`, async (t) => {
      const { url } = await instance(t);
      async function* lines() {
        yield Array.from({ length: 2000 }, () => order(0));
      }
      const outcomes: string[] = [];
      for await (const some of clientOf(t, url, { answerTimeoutMs: 1000 })[way](lines())) {
        if (outcomes.length === 0) await pause(2000);
        outcomes.push(...some.map(outcome));
      }
      assert.deepEqual([...new Set(outcomes), outcomes.length], ["done", 2000]);
    });
  }

  test("A dry run is one request, however slowly its lines come", async (t) => {
    const { url } = await instance(t, { bulkIdleTimeoutMs: 300 });
    async function* lines() {
      for (const key of ["a", "b"]) {
        yield [order(0, key, "sell 900 PLN for USD")];
        await pause(500);
      }
    }
    const answers = await joined(clientOf(t, url).dryRun(lines()));
    assert.deepEqual(answers.map(outcome), ["done", "insufficient-funds"]);
  });

  test("Lines that do not reach the server before it ends the batch are sent again, and done once", async (t) => {
    const { url, exchanges } = await instance(t, { bulkIdleTimeoutMs: 500 });
    const proxy = await openTcpProxy(
      () => Number(new URL(url).port),
      ({ server }, nth) => {
        let left = nth === 0 ? 2000 : Infinity;
        return {
          toServer: (bytes) => {
            server.write(bytes.subarray(0, left));
            left = Math.max(0, left - bytes.length);
          },
        };
      },
    );
    t.after(() => proxy.close());
    const lines = Array.from({ length: 60 }, (_, index) => order(index, `k${index}`));
    const answers = await bulk(t, proxy.url, lines);
    assert.deepEqual(new Set(answers.map(outcome)), new Set(["done"]));
    assert.deepEqual([answers.length, await exchanges()], [60, 60]);
  });

  for (const code of answerCodes.filter(isOfRequest)) {
    test(`A batch that is refused as a whole with ${code}, before or after an answer, refuses none of its lines`, async (t) => {
      const ended = refusal(null, code);
      const lines = [opened, opened].map((line, index) => ({ ...line, key: `k${index}` }));
      const { url: refusing } = await openStandIn(problemAnswer(statusOf[code], code));
      assert.deepEqual((await bulk(t, refusing, lines)).map(outcome), ["unreachable", "unreachable"]);
      const ending = await openHttpStandIn(
        t,
        (response) => response.end(done + ended),
        (response) => response.end(ended),
      );
      assert.deepEqual((await bulk(t, ending.url, lines)).map(outcome), ["done", "unreachable"]);
    });
  }

  for (const code of ["insufficient-funds", "overloaded"] as const) {
    test(`Lines that were sent have an unknown outcome where only a gateway answers, with ${code}`, async (t) => {
      const { url } = await openStandIn(problemAnswer(statusOf[code], code, "", "about:blank"));
      assert.deepEqual((await bulk(t, url, [order(0, "a")])).map(outcome), ["outcome-unknown"]);
    });
  }

  test("Every line of a batch is answered as unreachable where nobody listens", async (t) => {
    const answers = await bulk(t, await unusedUrl(), [order(0, "a"), order(1), order(0, "b")]);
    assert.deepEqual(answers.map(outcome), ["unreachable", "unreachable", "unreachable"]);
  });
});

describe("a batch whose connection breaks", () => {
  test("A batch whose connection breaks at any place is finished over others, and does nothing twice", async (t) => {
    for (let place = 1; place < 6000; place += 517) {
      await t.test(`A batch cut after ${place} bytes is finished`, async (t) => {
        const { url, exchanges } = await instance(t);
        const proxy = await cutter(t, url, (connection) => place + 600 * connection);
        const lines = Array.from({ length: 60 }, (_, index) => order(index, `k${index}`));
        const answers = await bulk(t, proxy, lines);
        assert.deepEqual(new Set(answers.map(outcome)), new Set(["done"]));
        assert.deepEqual([answers.length, await exchanges()], [60, 60]);
      });
    }
  });

  test("Lines without keys have an unknown outcome when the connection of their batch breaks, and are sent once", async (t) => {
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

  test("Lines have an unknown outcome when the connection of their batch breaks for good", async (t) => {
    const { url } = await instance(t);
    const proxy = await cutter(t, url, () => 1);
    const answers = await bulk(t, proxy, [order(0, "a"), order(1, "b")]);
    assert.deepEqual(answers.map(outcome), ["outcome-unknown", "outcome-unknown"]);
  });

  test("A batch whose answers nobody reads any more is not sent again", async (t) => {
    const { url, exchanges } = await instance(t);
    let connections = 0;
    const proxy = await cutter(t, url, () => {
      connections += 1;
      return 1e6;
    });
    async function* lines() {
      for (let nth = 0; nth < 100; nth += 1) {
        yield [order(nth, `k${nth}`)];
        await pause(5);
      }
    }
    for await (const _ of clientOf(t, proxy).bulk(lines())) break;
    await pause(1000);
    assert.equal(connections, 1);
    assert.ok((await exchanges()) < 100);
  });

  for (const code of answerCodes) {
    const told = isOfRequest(code) ? code : "outcome-unknown";
    test(`A line that may have been done, and is answered with ${code} when it is sent again, ends as ${told}`, async (t) => {
      const { url } = await openStandIn("die", rawAnswer(200, refusal(1, code), `Content-Type: ${bulkType}`));
      assert.deepEqual((await bulk(t, url, [order(0, "a")])).map(outcome), [told]);
    });
  }

  test("An answer without a receipt does not say that a line is done", async (t) => {
    const answer = JSON.stringify({ line: 1, status: 204, replayed: false });
    const { url } = await openStandIn(rawAnswer(200, `${answer}\n`, `Content-Type: ${bulkType}`));
    assert.deepEqual((await bulk(t, url, [{ ...opened, key: "k" }])).map(outcome), ["outcome-unknown"]);
  });

  for (const [what, code] of [
    ["the notice of a stop", "overloaded"],
    ["a failure of the server", "internal"],
  ] as const) {
    test(`A batch whose last answer comes together with ${what} has its answers, and ends`, async (t) => {
      const { url } = await openHttpStandIn(t, (response) => response.end(done + refusal(null, code)));
      assert.deepEqual((await bulk(t, url, [opened])).map(outcome), ["done"]);
    });
  }

  test("A line that is sent again after a broken connection is done before only if it was before the batch began", async (t) => {
    const replayed = (line: number, secondsAgo: number) =>
      `${JSON.stringify({ line, status: 204, replayed: true, receipt: receiptFrom(secondsAgo) })}\n`;
    const { url } = await openHttpStandIn(
      t,
      (response) => response.destroy(),
      (response) => response.end(replayed(1, 0) + replayed(2, 60)),
    );
    const lines = ["a", "b"].map((key) => ({ ...opened, key }));
    const answers = await bulk(t, url, lines);
    assert.deepEqual(answers.map(outcome), ["done", "replayed"]);
  });

  test("A line that is refused over a broken connection, and sent again, is not told as refused before", async (t) => {
    const { url } = await instance(t);
    const proxy = await cutter(t, url, (connection) => (connection === 1 ? 1 : Infinity));
    const lines = [order(0, "a", "sell 9999 PLN for USD")];
    const answers = [await bulk(t, proxy, lines), await bulk(t, proxy, lines)].flat();
    const told = answers.map((answer) => [outcome(answer), answer.replayed]);
    assert.deepEqual(told, [
      ["insufficient-funds", false],
      ["insufficient-funds", true],
    ]);
  });

  for (const lost of ["its answer", "the answers to both"]) {
    test(`The second of two lines with equal keys is done before when ${lost} got lost`, async (t) => {
      const receipt = receiptFrom(0);
      const answer = (line: number, replayed: boolean) =>
        `${JSON.stringify({ line, status: 204, replayed, receipt })}\n`;
      const { url } = await openHttpStandIn(
        t,
        (response) => {
          if (lost === "the answers to both") response.destroy();
          else response.write(answer(1, false), () => setTimeout(() => response.destroy(), 100));
        },
        (response) =>
          response.end(lost === "the answers to both" ? answer(1, true) + answer(2, true) : answer(1, true)),
      );
      const lines = [opened, opened].map((line) => ({ ...line, key: "k" }));
      assert.deepEqual((await bulk(t, url, lines)).map(outcome), ["done", "replayed"]);
    });
  }

  test("A batch that a stopping server ends is finished at the next, keys or not", async (t) => {
    const { url, exchanges } = await instance(t);
    let stopped = 0;
    const server = createServer((request, response) => {
      if (stopped < 2) {
        stopped += 1;
        response.writeHead(200, { "content-type": bulkType }).end(refusal(null, "overloaded"));
        return;
      }
      const { method, headers } = request;
      const passed = forward(`${url}${request.url}`, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      request.pipe(passed);
    });
    const answers = await bulk(t, await listen(server, t), [order(0), order(1)]);
    assert.deepEqual([answers.map(outcome), await exchanges()], [["done", "done"], 2]);
  });
});
