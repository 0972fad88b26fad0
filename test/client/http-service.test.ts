import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { openHttpService } from "../../src/client/http-service.ts";
import type { TransportOptions } from "../../src/client/transport.ts";
import { FxError } from "../../src/core/errors.ts";
import { adult, opening, terms } from "../support/fixture.ts";
import { startServer } from "../support/server.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const pesel = adult(1);
const order = { pesel, ...terms("sell 10 PLN for USD") };
const account = { name: "Jan", surname: "Kowalski", pesel, currencies: [{ symbol: "PLN", amount: 990 }] };

/** Something on loopback that gives these answers in turn, the last one for good, and what it was asked. */
async function standIn(t: TestContext, ...answers: Answer[]) {
  const requests: IncomingMessage[] = [];
  const sockets = new Set<unknown>();
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      requests.push(request);
      sockets.add(request.socket);
      answers[Math.min(requests.length, answers.length) - 1]?.(request, response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  t.after(stop);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, sockets, stop };
}

function client(t: TestContext, url: string, options: TransportOptions = {}) {
  const service = openHttpService(url, { pauseMs: 5, ...options });
  t.after(() => service.close());
  return service;
}

const json =
  (body: unknown, status = 200, headers = {}): Answer =>
  (_request, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  };
const html =
  (status: number): Answer =>
  (_request, response) => {
    response.writeHead(status, { "content-type": "text/html" }).end("<html>Bad Gateway</html>");
  };
const drop: Answer = (request) => request.socket.destroy();
const hang: Answer = () => {};
const settled = json(account, 200, { "fx-receipt": "/api/receipts/r1" });

async function unusedUrl(t: TestContext): Promise<string> {
  const { url, stop } = await standIn(t, hang);
  stop();
  return url;
}

describe("where nobody listens", () => {
  test("a question and an order are told that nothing answers, and where", async (t) => {
    const url = await unusedUrl(t);
    const service = client(t, url);
    const expected = {
      code: "unreachable",
      message: `Nothing answers at ${url} (connection refused).`,
    };
    await assert.rejects(service.account(pesel), expected);
    await assert.rejects(service.exchange(order), expected);
    await assert.rejects(service.exchange({ ...order, key: "k" }), expected);
    await assert.rejects(service.createAccount(opening()), { code: "unreachable" });
  });

  test("as https, a server of http is told as that", async (t) => {
    const url = (await standIn(t, hang)).url.replace("http:", "https:");
    await assert.rejects(client(t, url).exchange(order), {
      code: "unreachable",
      message: `Nothing answers at ${url} (what listens there is not https; http:// may be meant).`,
    });
  });

  test("credentials in the URL are not told", async (t) => {
    const url = (await unusedUrl(t)).replace("http://", "http://user:secret@");
    await assert.rejects(client(t, url).rates(), (error: Error) => !/secret/.test(error.message));
  });
});

describe("an order whose answer is lost", () => {
  test("is sent again with the same key, until it is answered", async (t) => {
    const { url, requests } = await standIn(t, drop, drop, settled);
    const settlement = await client(t, url).exchange({ ...order, key: "k1" });
    assert.equal(settlement.receiptId, "r1");
    assert.deepEqual(
      requests.map(({ headers }) => headers["idempotency-key"]),
      ['"k1"', '"k1"', '"k1"'],
    );
  });

  test("without a key is not sent again, and its outcome is unknown", async (t) => {
    const { url, requests } = await standIn(t, drop, settled);
    await assert.rejects(client(t, url).exchange(order), { code: "outcome-unknown" });
    assert.equal(requests.length, 1);
  });

  test("every time is unknown after four attempts", async (t) => {
    const { url, requests } = await standIn(t, drop);
    await assert.rejects(client(t, url).exchange({ ...order, key: "k" }), {
      code: "outcome-unknown",
      message: `The request was sent to ${url}, and no answer came (connection lost).`,
    });
    assert.equal(requests.length, 4);
  });

  test("is unknown, not unreachable, when the server is gone afterwards", async (t) => {
    const { url, stop } = await standIn(t, (request) => {
      request.socket.destroy();
      stop();
    });
    await assert.rejects(client(t, url).exchange({ ...order, key: "k" }), { code: "outcome-unknown" });
  });

  test("by a time-out is unknown", async (t) => {
    const { url } = await standIn(t, hang);
    const service = client(t, url, { answerTimeoutMs: 50 });
    await assert.rejects(service.exchange(order), { code: "outcome-unknown", message: /timed out/ });
    await assert.rejects(service.createAccount(opening({ key: "k" })), { code: "outcome-unknown" });
  });

  test("on a connection that was used before is unknown", async (t) => {
    const { url, requests, sockets } = await standIn(t, json(account), drop);
    const service = client(t, url);
    await service.account(pesel);
    await assert.rejects(service.exchange(order), { code: "outcome-unknown" });
    assert.deepEqual([requests.length, sockets.size], [2, 1]);
  });

  test("has one effect on a real server", async (t) => {
    const server = await startServer();
    t.after(() => server.close());
    await server.service.createAccount(opening({ index: 1 }));
    const lossy = await startLossyProxy(t, new URL(server.url).port);
    const settlement = await client(t, lossy.url).exchange({ ...order, key: "once" });
    assert.deepEqual([settlement.replayed, lossy.lost()], [true, 1]);
    assert.equal((await server.service.statement(pesel, { limit: 10 })).items.length, 2);
  });
});

describe("a question whose answer is lost", () => {
  test("is asked again", async (t) => {
    const { url, requests } = await standIn(t, drop, html(503), json(account));
    assert.equal((await client(t, url).account(pesel)).name, "Jan");
    assert.equal(requests.length, 3);
  });

  test("every time is told as no answer", async (t) => {
    const { url } = await standIn(t, drop);
    await assert.rejects(client(t, url).account(pesel), {
      code: "unreachable",
      message: `No answer came from ${url} (connection lost).`,
    });
  });
});

describe("where something answers that is not fx", () => {
  test("a question is told what answered", async (t) => {
    for (const answer of [html(200), html(404), html(500), html(302)]) {
      const { url } = await standIn(t, answer);
      await assert.rejects(client(t, url).account(pesel), (error) => {
        assert.ok(error instanceof FxError && error.code === "internal");
        assert.match(error.message, /^What answers at http:\S+ is not fx \(status \d+, text\/html\)\.$/);
        return true;
      });
    }
  });

  for (const status of [502, 503, 504]) {
    test(`a question is told that the server behind a gateway's ${status} does not answer`, async (t) => {
      const { url, requests } = await standIn(t, html(status));
      await assert.rejects(client(t, url).account(pesel), {
        code: "unreachable",
        message: `The gateway at ${url} got no answer from the server (status ${status}).`,
      });
      assert.ok(requests.length > 1);
    });
  }

  test("an order that may have been passed on has an unknown outcome", async (t) => {
    const answers = [
      html(200),
      html(302),
      html(404),
      html(500),
      html(502),
      json({}),
      json(account),
      json({ ...account, name: 1 }),
    ];
    for (const answer of answers) {
      const { url, requests } = await standIn(t, answer);
      await assert.rejects(client(t, url).exchange(order), { code: "outcome-unknown" });
      assert.equal(requests.length, 1);
    }
  });

  test("an order is sent again through a gateway that has lost its server", async (t) => {
    const { url, requests } = await standIn(t, html(502), html(504), settled);
    assert.equal((await client(t, url).exchange({ ...order, key: "k" })).receiptId, "r1");
    assert.equal(requests.length, 3);
  });

  test("an opening that is answered with anything but 204 has an unknown outcome", async (t) => {
    const { url } = await standIn(t, json({}));
    await assert.rejects(client(t, url).createAccount(opening()), { code: "outcome-unknown" });
  });

  test("a problem with a code that this version does not know is not guessed at", async (t) => {
    const body = { type: "x", title: "x", status: 400, detail: "x", instance: "x", code: "new-code" };
    const { url } = await standIn(t, json(body, 400));
    await assert.rejects(client(t, url).exchange(order), {
      code: "outcome-unknown",
      message: `The request was sent to ${url}, and what answered is not fx (status 400).`,
    });
  });
});

describe("what is sent", () => {
  test("goes under the path of the base URL, with its credentials", async (t) => {
    const { url, requests } = await standIn(t, json({ users: [], next: null }));
    const base = `${url.replace("http://", "http://user:secret@")}/banking/fx/`;
    await client(t, base).accounts({ limit: 5, cursor: "a&b" });
    assert.equal(requests[0]?.url, "/banking/fx/api/users?limit=5&cursor=a%26b");
    assert.equal(requests[0]?.headers.authorization, `Basic ${btoa("user:secret")}`);
  });

  test("shares one connection", async (t) => {
    const { url, sockets, requests } = await standIn(t, json(account));
    const service = client(t, url);
    for (let i = 0; i < 3; i += 1) await service.account(pesel);
    assert.deepEqual([requests.length, sockets.size], [3, 1]);
  });

  test("names the table that an order is for", async (t) => {
    const { url, requests } = await standIn(t, settled);
    await client(t, url).exchange({ ...order, table: "1/C/NBP/2026" });
    assert.equal(requests[0]?.headers["fx-table"], "1/C/NBP/2026");
  });

  test("is nothing where a key, a table or an amount cannot be sent", async (t) => {
    const { url, requests } = await standIn(t, settled);
    const service = client(t, url);
    const amount = { coefficient: 9_007_199_254_740_993n, scale: 0 };
    await assert.rejects(service.exchange({ ...order, key: "a\r\nb" }), { code: "invalid-request" });
    await assert.rejects(service.exchange({ ...order, table: "a\r\nb" }), { code: "invalid-request" });
    await assert.rejects(service.exchange({ ...order, amount }), { code: "invalid-request" });
    assert.equal(requests.length, 0);
  });
});

/** Passes bytes on to fx, but closes the first connection instead of passing on its answer. */
async function startLossyProxy(t: TestContext, port: string) {
  let lost = 0;
  const proxy = createTcpServer((near) => {
    const far = connect(Number(port), "127.0.0.1");
    near.on("error", () => {});
    near.pipe(far);
    far.on("data", (chunk) => {
      if (lost > 0) near.write(chunk);
      else {
        lost += 1;
        near.destroy();
      }
    });
    near.on("close", () => far.destroy());
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  t.after(() => proxy.close());
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, lost: () => lost };
}
