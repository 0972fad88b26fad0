import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { type AnswerCode, answerCodes } from "../../src/core/errors.ts";
import type { ExchangeService } from "../../src/core/service.ts";
import { statusOf } from "../../src/wire/problem.ts";
import { clientOf } from "../support/client.ts";
import { adult, opening, terms } from "../support/fixture.ts";
import { startServer } from "../support/server.ts";
import { openStandIn, problemAnswer, rawAnswer, receiptFrom } from "../support/stand-in.ts";
import { openTcpProxy } from "../support/tcp-proxy.ts";

const pesel = adult(1);
const order = { pesel, ...terms("sell 10 PLN for USD"), key: "k" };
const account = JSON.stringify({ name: "Jan", surname: "K", pesel, currencies: [] });
const done = rawAnswer(200, account, "Content-Type: application/json\r\nFx-Receipt: /api/receipts/r1");
const created = "HTTP/1.1 204 No Content\r\nFx-Receipt: /fx/api/receipts/r2\r\nConnection: close\r\n\r\n";
const problem = (code: AnswerCode, headers?: string) => problemAnswer(statusOf[code], code, headers);

/** A client of a server that gives these answers. It waits for them, unless one of them never comes. */
async function askedOf(t: TestContext, ...answers: string[]) {
  const { url, requests } = await openStandIn(...answers);
  const options = answers.includes("hang") ? { answerTimeoutMs: 500 } : {};
  return { service: clientOf(t, url, options), url, requests };
}

/** After these an order may be done. */
const undecided: Readonly<Record<string, string>> = {
  "no answer": "die",
  "a time-out": "hang",
  "half an answer": done.slice(0, -20),
  "a gateway's 502": rawAnswer(502),
  "a gateway's 503": rawAnswer(503),
  "a gateway's 503 in JSON": rawAnswer(503, '{"message":"no upstream"}', "Content-Type: application/json"),
  "a gateway's 504": rawAnswer(504),
  "500 internal": problem("internal"),
  "500 storage-unavailable": problem("storage-unavailable"),
  "200 that is not of fx": rawAnswer(200),
  "an account without a receipt": rawAnswer(200, account, "Content-Type: application/json"),
  "a proxy's 400": rawAnswer(400),
  "a proxy's 404": rawAnswer(404),
  "a problem under another status": problemAnswer(400, "overloaded"),
  "a gateway's problem with a code of fx": problemAnswer(400, "invalid-request", "", "about:blank"),
  "a problem of a later fx": problemAnswer(400, "new-code"),
};

/** Answered to the only attempt, these say that nothing was begun. They say nothing about an earlier attempt. */
const unbegun: Readonly<Record<string, string>> = {
  "no listener": "gone",
  "401 unauthorized": problem("unauthorized"),
  "403 forbidden": problem("forbidden"),
  "404 not-found": problem("not-found"),
  "405 method-not-allowed": problem("method-not-allowed"),
  "429 rate-limited": problem("rate-limited"),
  "500 rates-unavailable": problem("rates-unavailable"),
  "503 overloaded": problem("overloaded"),
};

const foreign: Readonly<Record<string, string>> = {
  "a proxy's 302": rawAnswer(302),
  "a proxy's 401": rawAnswer(401),
  "a proxy's 403": rawAnswer(403),
  "a proxy's 405": rawAnswer(405),
  "a proxy's 409": rawAnswer(409),
  "a proxy's 422": rawAnswer(422),
  "a proxy's 429": rawAnswer(429),
};

const refusals = answerCodes.filter(
  (code) => [400, 404, 409, 422].includes(statusOf[code]) && code !== "not-found",
);

test("every code is among those that settle a request, or among those that do not", () => {
  const listed = [
    ...refusals,
    ...Object.keys({ ...undecided, ...unbegun }).map((name) => name.split(" ")[1]),
  ];
  assert.deepEqual(
    answerCodes.filter((code) => !listed.includes(code)),
    [],
  );
});

describe("after an attempt that may have arrived", { concurrency: 16 }, () => {
  for (const [first, opened] of Object.entries(undecided)) {
    // The client keeps of the first attempt only that its outcome is unknown.
    const all = { ...undecided, ...unbegun, ...foreign };
    const thens = first === "no answer" ? Object.keys(all) : ["no answer", "503 overloaded"];
    for (const then of thens.filter((name) => name !== first)) {
      const answer = all[then] as string;
      test(`After ${first}, ${then} leaves an order's outcome unknown`, async (t) => {
        const { service, requests } = await askedOf(t, opened, answer);
        await assert.rejects(service.exchange(order), { code: "outcome-unknown" });
        assert.equal(requests.length, answer === "gone" ? 1 : 4, "it is tried until the end");
      });
    }

    test(`After ${first}, an order answered with 200 is done`, async (t) => {
      const { service, requests } = await askedOf(t, opened, problem("overloaded"), done);
      assert.equal((await service.exchange(order)).receiptId, "r1");
      assert.ok(requests.every((request) => request.includes('idempotency-key: "k"')));
    });

    test(`After ${first}, an order that fx refuses is refused, and not told as refused before`, async (t) => {
      const refused = refusals.map(async (code) => {
        const { service } = await askedOf(t, opened, problem(code, "Idempotency-Replayed: true"));
        await assert.rejects(service.exchange(order), { name: "FxError", code, replayed: false });
      });
      await Promise.all(refused);
    });
  }

  test("An opening whose answer was lost is settled by 204 only", async (t) => {
    const { service } = await askedOf(t, "die", done, created);
    const recorded = await service.createAccount(opening({ key: "k" }));
    assert.deepEqual(recorded, { receiptId: "r2", replayed: false });
  });

  for (const [when, secondsAgo, replayed] of [
    ["before the first attempt", 60, true],
    ["after the first attempt", 0, false],
  ] as const) {
    test(`An order that is sent again, and whose receipt was made ${when}, is told as ${replayed ? "done before" : "done"}`, async (t) => {
      const date = new Date().toUTCString();
      const headers = `Date: ${date}\r\nIdempotency-Replayed: true\r\nFx-Receipt: /api/receipts/${receiptFrom(secondsAgo)}`;
      const answer = rawAnswer(200, account, `Content-Type: application/json\r\n${headers}`);
      const { service } = await askedOf(t, "die", answer);
      assert.equal((await service.exchange(order)).replayed, replayed);
    });
  }

  test("An order whose answer was lost, and that then arrives in part, is sent again and done once", async (t) => {
    const server = await startServer({}, "", { requestTimeoutMs: 200 });
    t.after(() => server.close());
    await server.service.createAccount(opening({ index: 1, pln: "1000" }));
    const proxy = await openTcpProxy(
      () => Number(new URL(server.url).port),
      ({ client, server: upstream }, nth) => ({
        ...(nth === 0 && { toClient: () => void client.destroy() }),
        ...(nth === 1 && { toServer: (bytes) => void upstream.write(bytes.subarray(0, -10)) }),
      }),
    );
    t.after(() => proxy.close());
    assert.equal((await clientOf(t, proxy.url).exchange(order)).replayed, false);
    assert.equal((await server.service.statement(pesel, { limit: 10 })).items.length, 2);
  });

  test("The failure of an order tells what became of the first attempt and of the last", async (t) => {
    const { service, url } = await askedOf(t, "die", problem("overloaded"));
    await assert.rejects(service.exchange(order), {
      message: `The request was sent to ${url}, and no answer came (connection lost). Sent again: For the test.`,
    });
  });

  test("An order is sent again no sooner than Retry-After says", async (t) => {
    const { service, requests } = await askedOf(t, "die", problem("overloaded", "Retry-After: 1"), done);
    const start = performance.now();
    await service.exchange(order);
    assert.equal(requests.length, 3);
    assert.ok(performance.now() - start > 990);
  });
});

describe("the only attempt", { concurrency: 16 }, () => {
  const keyless: Readonly<Record<string, (service: ExchangeService) => Promise<unknown>>> = {
    "An order without a key": (service) => service.exchange({ ...order, key: undefined }),
    // A colleague may have suspended or resumed trading since.
    "A suspension of trading": (service) => service.changeTrading({ reason: "why", by: undefined }),
    "A resumption of trading": (service) => service.changeTrading({ reason: undefined, by: undefined }),
  };
  for (const [what, send] of Object.entries(keyless)) {
    for (const [name, answer] of Object.entries(undecided)) {
      test(`${what} is not sent again after ${name}`, async (t) => {
        const { service, requests } = await askedOf(t, answer);
        const told = /^500 (.*)/.exec(name)?.[1];
        const expected = told === undefined ? { code: "outcome-unknown" } : { name: "FxError", code: told };
        await assert.rejects(send(service), expected);
        assert.equal(requests.length, 1);
      });
    }
  }

  const repeated = ["internal", "storage-unavailable", "rate-limited", "overloaded"];
  for (const code of answerCodes.filter((one) => !repeated.includes(one))) {
    test(`An order answered with ${code} fails with it, and is not sent again`, async (t) => {
      const { service, requests } = await askedOf(t, problem(code));
      await assert.rejects(service.exchange(order), { name: "FxError", code });
      assert.equal(requests.length, 1);
    });
  }

  for (const code of ["internal", "storage-unavailable"] as const) {
    test(`An order answered with ${code} is sent again, and fails with it if nothing else is answered`, async (t) => {
      const { service, requests } = await askedOf(t, problem(code));
      await assert.rejects(service.exchange(order), { name: "FxError", code });
      assert.equal(requests.length, 4);
    });
  }

  for (const code of ["rate-limited", "overloaded"] as const) {
    for (const key of ["k", undefined]) {
      const keyed = key === undefined ? "without a key" : "with a key";
      test(`An order ${keyed} answered with ${code} was not begun, and is sent again until there is room`, async (t) => {
        const { service, requests } = await askedOf(t, problem(code), problem(code), problem(code), done);
        assert.equal((await service.exchange({ ...order, key })).receiptId, "r1");
        assert.equal(requests.length, 4);
      });
    }

    test(`A request that only reads is sent again after ${code}, as soon as Retry-After says`, async (t) => {
      const read = rawAnswer(200, account, "Content-Type: application/json");
      const { service, requests } = await askedOf(t, problem(code, "Retry-After: 1"), read);
      const start = performance.now();
      assert.equal((await service.account(pesel)).name, "Jan");
      assert.ok(requests.length === 2 && performance.now() - start > 990);
    });

    test(`An order answered with ${code} for good fails with it, after no more than 20 attempts or a minute`, async (t) => {
      for (const [headers, attempts] of [
        ["", 20],
        ["Retry-After: 61", 1],
      ] as const) {
        const { service, requests } = await askedOf(t, problem(code, headers));
        await assert.rejects(service.exchange(order), { name: "FxError", code });
        assert.equal(requests.length, attempts);
      }
    });
  }
});
