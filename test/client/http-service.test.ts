import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FxError } from "../../src/core/errors.ts";
import type { ExchangeService } from "../../src/core/service.ts";
import { encodeProblem } from "../../src/wire/problem.ts";
import { exported } from "../support/bookkeeping.ts";
import { clientOf } from "../support/client.ts";
import { adult, opening, terms } from "../support/fixture.ts";
import { openInstance, startServer } from "../support/server.ts";
import { answersTo, codesOf } from "../support/service.ts";
import { type Answer, openHttpStandIn, unusedUrl } from "../support/stand-in.ts";
import { tls } from "../support/tls.ts";

const pesel = adult(1);
const order = { pesel, ...terms("sell 10 PLN for USD") };
const account = { name: "Jan", surname: "Kowalski", pesel, currencies: [{ symbol: "PLN", amount: 990 }] };

const json =
  (body: unknown, status = 200, headers = {}): Answer =>
  (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  };
const html =
  (status: number): Answer =>
  (response) => {
    response.writeHead(status, { "content-type": "text/html" }).end("<html>Bad Gateway</html>");
  };
const drop: Answer = (response) => response.destroy();
const settled = json(account, 200, { "fx-receipt": "/api/receipts/r1" });

test("All that is held about a person with 20,000 entries is read over HTTP", async (t) => {
  const { service } = await openInstance();
  const { receiptId } = await service.createAccount(opening({ index: 1 }));
  const receipt = await service.receipt(receiptId);
  const data = { ...(await service.personalData(pesel)), entries: Array(20_000).fill(receipt) };
  const server = await startServer({ personalData: async () => data });
  t.after(() => server.close());
  const { entries } = await clientOf(t, server.url).personalData(pesel);
  assert.equal(entries.length, 20_000);
});

describe("where nobody listens", () => {
  test("A question and an order where nobody listens say that nothing answers, and where", async (t) => {
    const url = await unusedUrl();
    const service = clientOf(t, url);
    const expected = {
      code: "unreachable",
      message: `Nothing answers at ${url} (connection refused).`,
    };
    await assert.rejects(service.account(pesel), expected);
    await assert.rejects(service.exchange(order), expected);
    await assert.rejects(service.exchange({ ...order, key: "k" }), expected);
    await assert.rejects(service.createAccount(opening()), { code: "unreachable" });
  });

  for (const kind of ["http", "https"] as const) {
    const other = kind === "http" ? "https" : "http";
    test(`A server of ${kind} that is asked by ${other} is reported, with what to do`, async (t) => {
      const server = await startServer({}, "", kind === "https" ? { tls } : {});
      t.after(() => server.close());
      const { port } = new URL(server.url);
      const url = `${other}://127.0.0.1:${port}`;
      const service = clientOf(t, url);
      const hint = new RegExp(` use ${kind}://127\\.0\\.0\\.1:${port}\\.$`, "i");
      const isTold = (error: unknown) => {
        assert.ok(error instanceof FxError);
        assert.equal(error.code, "unreachable", error.message);
        assert.match(` ${error.hint}`, hint);
        return true;
      };
      await assert.rejects(service.account(pesel), isTold);
      // A connection that breaks after an order was sent does not tell whether it was done.
      const code = kind === "http" ? "unreachable" : "outcome-unknown";
      await assert.rejects(service.exchange({ ...order, key: "k" }), { code });
      assert.deepEqual(codesOf(await answersTo(service, [{ kind: "exchange", ...order }])), [code]);
      await assert.rejects(service.audit({ onHeads: async () => {} }), isTold);
      await assert.rejects(exported(service, { format: "csv" }), isTold);
    });
  }

  test("Credentials in the URL are in no message", async (t) => {
    const url = (await unusedUrl()).replace("http://", "http://user:secret@");
    await assert.rejects(clientOf(t, url).rates(), (error: Error) => !/secret/.test(error.message));
  });
});

describe("a reused connection", () => {
  test("An order's outcome is unknown when a reused connection breaks", async (t) => {
    const { url, requests, sockets } = await openHttpStandIn(t, json(account), drop);
    const service = clientOf(t, url);
    await service.account(pesel);
    await assert.rejects(service.exchange(order), { code: "outcome-unknown" });
    assert.deepEqual([requests.length, sockets.size], [2, 1]);
  });
});

describe("a question whose answer is lost", () => {
  test("A question whose answer is lost is asked again", async (t) => {
    const { url, requests } = await openHttpStandIn(t, drop, html(503), json(account));
    assert.equal((await clientOf(t, url).account(pesel)).name, "Jan");
    assert.equal(requests.length, 3);
  });

  test("A question whose answer is lost every time fails with no answer", async (t) => {
    const { url } = await openHttpStandIn(t, drop);
    await assert.rejects(clientOf(t, url).account(pesel), {
      code: "unreachable",
      message: `No answer came from ${url} (connection lost).`,
    });
  });
});

describe("where something answers that is not fx", () => {
  const exportOf = (service: ExchangeService) => exported(service, { format: "csv" });

  test("A question or an export that something else than fx answers says what answered", async (t) => {
    const message = /^What answers at http:\S+ is not fx \(status \d+, text\/html\)\.$/;
    for (const answer of [html(200), html(404), html(500), html(302)]) {
      const { url } = await openHttpStandIn(t, answer);
      for (const ask of [(service: ExchangeService) => service.account(pesel), exportOf]) {
        await assert.rejects(ask(clientOf(t, url)), { code: "unreachable", message });
      }
    }
  });

  test("An export that is refused or gets no answer fails as a question does", async (t) => {
    const refused = json(encodeProblem(new FxError("overloaded", "Too many."), "1"), 503);
    for (const [answer, code] of [
      [refused, "overloaded"],
      [drop, "unreachable"],
    ] as const) {
      const { url } = await openHttpStandIn(t, answer);
      await assert.rejects(exportOf(clientOf(t, url)), { code });
    }
  });

  for (const status of [502, 503, 504]) {
    test(`a question is told that the server behind a gateway's ${status} does not answer`, async (t) => {
      const { url, requests } = await openHttpStandIn(t, html(status));
      await assert.rejects(clientOf(t, url).account(pesel), {
        code: "unreachable",
        message: `The gateway at ${url} got no answer from the server (status ${status}).`,
      });
      assert.ok(requests.length > 1);
    });
  }

  test("An audit is asked for once through a gateway, because the server behind it may still be reading", async (t) => {
    const { url, requests } = await openHttpStandIn(t, html(504));
    await assert.rejects(clientOf(t, url).audit(), { code: "unreachable" });
    await assert.rejects(clientOf(t, url).position(), { code: "unreachable" });
    assert.equal(requests.length, 2);
  });
});

describe("what is sent", () => {
  test("A request goes under the path of the base URL, with its credentials", async (t) => {
    const { url, requests } = await openHttpStandIn(t, json({ users: [], next: null }));
    const base = `${url.replace("http://", "http://user:secret@")}/banking/fx/`;
    await clientOf(t, base).accounts({ limit: 5, cursor: "a&b" });
    assert.equal(requests[0]?.url, "/banking/fx/api/users?limit=5&cursor=a%26b");
    assert.equal(requests[0]?.headers.authorization, `Basic ${btoa("user:secret")}`);
  });

  test("No id, currency or PESEL leads to another path than its own", async (t) => {
    const strange = "../user/44051401359/block?#";
    const { url, requests } = await openHttpStandIn(t, (response) => response.writeHead(404).end());
    const service = clientOf(t, url);
    const reversal = { kind: "reversal", pesel, reverses: strange, reason: "wrong" } as const;
    const block = { kind: "block", pesel: strange as typeof pesel, reason: "wrong" } as const;
    const calls = [
      service.change(reversal),
      service.change(block),
      service.exchange({ ...order, pesel: block.pesel }),
      service.account(block.pesel),
      service.receipt(strange),
      service.rateHistory(strange as typeof order.from, 1),
    ];
    assert.ok((await Promise.allSettled(calls)).every(({ status }) => status === "rejected"));
    const paths = requests.map((request) => request.url ?? "");
    assert.equal(paths.length, calls.length);
    for (const path of paths) assert.match(path, /\/\.\.%2Fuser%2F44051401359%2Fblock%3F%23/);
  });

  test("Requests share one connection", async (t) => {
    const { url, sockets, requests } = await openHttpStandIn(t, json(account));
    const service = clientOf(t, url);
    for (let i = 0; i < 3; i += 1) await service.account(pesel);
    assert.deepEqual([requests.length, sockets.size], [3, 1]);
  });

  test("Nothing is sent where a key, a table or an amount cannot be", async (t) => {
    const { url, requests } = await openHttpStandIn(t, settled);
    const service = clientOf(t, url);
    const amount = { coefficient: 9_007_199_254_740_993n, scale: 0 };
    await assert.rejects(service.exchange({ ...order, key: "a\r\nb" }), { code: "invalid-request" });
    await assert.rejects(service.exchange({ ...order, table: "a\r\nb" }), { code: "invalid-request" });
    await assert.rejects(service.exchange({ ...order, amount }), { code: "invalid-request" });
    assert.equal(requests.length, 0);
  });
});

test("A read whose query no server takes is refused as invalid-request, without being sent", async (t) => {
  const { url, requests } = await openHttpStandIn(t, json({}));
  const read = clientOf(t, url).statement(pesel, { limit: 10, key: "a key" });
  await assert.rejects(read, { name: "FxError", code: "invalid-request" });
  assert.equal(requests.length, 0);
});
