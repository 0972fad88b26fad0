import assert from "node:assert/strict";
import { connect, Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { FastifyRequest } from "fastify";
import { requireDecimal } from "../../src/core/decimal.ts";
import { FxError } from "../../src/core/errors.ts";
import type { ExchangeService } from "../../src/core/service.ts";
import { Admission, ExpensiveReads } from "../../src/http/admission.ts";
import { adult, now, opening, terms } from "../support/fixture.ts";
import { isProblem, send } from "../support/http.ts";
import { startServer } from "../support/server.ts";

/** A server whose service is asked what `replace` says, and the number of requests that it takes on at once. */
async function start(t: TestContext, replace: Partial<ExchangeService>, atOnce?: number) {
  const admission = atOnce === undefined ? undefined : new Admission({ least: atOnce, first: atOnce });
  const server = await startServer(replace, "", admission === undefined ? {} : { admission });
  t.after(() => server.close());
  return server;
}

/** Something that is waited for until `open`. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const empty = { items: [], next: undefined };

describe("requests", () => {
  test("beyond what is answered soon are refused, and nothing of them is begun", async (t) => {
    const { open, opened } = gate();
    let asked = 0;
    const account = async () => {
      asked += 1;
      await opened;
      return { pesel: adult(), name: "Jan", surname: "Kowalski", balances: [], closed: false };
    };
    const { url } = await start(t, { account }, 3);
    const path = `/api/user/${adult()}`;
    const taken = Array.from({ length: 3 }, () => send(url, "GET", path));
    while (asked < 3) await pause(5);
    const body = { pesel: adult(), from: "PLN", to: "USD", toBuy: 1 };
    const refused = await Promise.all([
      send(url, "POST", `/api/exchange/${adult()}`, { body }),
      send(url, "GET", path),
      send(url, "GET", "/api/rates"),
    ]);
    for (const answer of refused) {
      isProblem(answer, "overloaded");
      assert.equal(answer.headers.get("retry-after"), "1");
    }
    assert.equal(asked, 3);
    open();
    assert.deepEqual(
      (await Promise.all(taken)).map(({ status }) => status),
      [200, 200, 200],
    );
    assert.equal((await send(url, "GET", path)).status, 200);
  });

  test("whose bodies have not arrived take no place from others", async (t) => {
    const { url } = await start(t, {}, 2);
    const { hostname, port } = new URL(url);
    const halves = Array.from({ length: 5 }, () => {
      const socket = connect({ host: hostname, port: Number(port) });
      socket.write(
        "POST /api/user HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
      );
      return socket;
    });
    await pause(100);
    const { status } = await send(url, "GET", "/api/rates");
    for (const socket of halves) socket.destroy();
    assert.equal(status, 200);
  });

  test("for probes and metrics are always answered", async (t) => {
    const { url } = await start(t, {}, 0);
    isProblem(await send(url, "GET", `/api/user/${adult()}`), "overloaded");
    for (const path of ["/health/live", "/health/ready", "/metrics", "/openapi.json"]) {
      assert.equal((await send(url, "GET", path)).status, 200, path);
    }
  });
});

describe("the number of requests that are taken on at once", () => {
  /** At most 1000 until it is known better, at least 10. */
  function openAdmission() {
    const clock = { ms: 0 };
    const admission = new Admission({ least: 10, first: 1000 }, () => clock.ms);
    let waiting = 0;
    const answer = (count: number) => {
      for (let times = 0; times < count; times += 1) admission.answered();
      waiting -= count;
    };
    /** Takes on all that it can, and gives how many wait then. */
    const fill = () => {
      while (admission.take()) waiting += 1;
      return waiting;
    };
    /** So many are answered in each of 200 ms, while as many wait as are taken on. */
    const work = (perMs: number) => {
      for (let times = 0; times < 200; times += 1) {
        fill();
        clock.ms += 1;
        answer(Math.min(perMs, waiting));
      }
    };
    const atOnce = () => {
      answer(waiting);
      return fill();
    };
    return { clock, answer, work, atOnce, fill };
  }

  test("is as many as are answered in 400 ms, where many wait", () => {
    const { work, atOnce } = openAdmission();
    work(1);
    assert.equal(atOnce(), 400);
    work(2);
    assert.equal(atOnce(), 800);
  });

  test("is never less than the least", () => {
    const { clock, answer, fill, atOnce } = openAdmission();
    for (let times = 0; times < 3; times += 1) {
      fill();
      clock.ms += 10_000;
      answer(1);
    }
    assert.equal(atOnce(), 10);
  });

  test("stays where few wait", () => {
    const { clock, answer, work, atOnce, fill } = openAdmission();
    work(1);
    answer(fill() - 1);
    for (let times = 0; times < 10; times += 1) {
      clock.ms += 100;
      answer(1);
      fill();
      answer(399);
    }
    assert.equal(atOnce(), 400);
  });
});

describe("reads that take long", () => {
  /** A server whose lists are given one after the other, as `next` says. */
  async function startLists(t: TestContext) {
    const asked: (string | undefined)[] = [];
    const waiting: (() => void)[] = [];
    let most = 0;
    const accounts: ExchangeService["accounts"] = async ({ cursor }) => {
      asked.push(cursor);
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        most = Math.max(most, waiting.length);
      });
      return empty;
    };
    const { url } = await start(t, { accounts });
    const list = (cursor: string) => send(url, "GET", `/api/users?limit=1000&cursor=${cursor}`);
    const isAsked = async (count: number) => {
      while (asked.length < count) await pause(5);
    };
    return { url, list, asked, isAsked, next: () => waiting.shift()?.(), most: () => most };
  }

  test("are done one at a time, and once for all who ask for the same", async (t) => {
    const { list, asked, isAsked, next, most } = await startLists(t);
    const answers = [list("1")];
    await isAsked(1);
    for (const cursor of ["2", "2", "3", "2"]) answers.push(list(cursor));
    await pause(50);
    for (const count of [1, 2, 3]) {
      await isAsked(count);
      next();
    }
    assert.deepEqual(
      (await Promise.all(answers)).map(({ status }) => status),
      [200, 200, 200, 200, 200],
    );
    assert.deepEqual(asked.toSorted(), ["1", "2", "3"]);
    assert.equal(most(), 1);
  });

  test("for many at once are answered a few in each turn of the event loop", async (t) => {
    const reads = new ExpensiveReads();
    const request = () => ({ raw: { socket: new Socket() } }) as FastifyRequest;
    let turn = 0;
    const counting = setInterval(() => {
      turn += 1;
    }, 0);
    t.after(() => clearInterval(counting));
    let done = 0;
    const work = async () => {
      done += 1;
      return "all";
    };
    const answeredIn = await Promise.all(
      Array.from({ length: 12 }, async () => {
        assert.equal(await reads.read(request(), "the same", work), "all");
        return turn;
      }),
    );
    assert.equal(done, 1);
    for (const one of answeredIn) assert.ok(answeredIn.filter((other) => other === one).length <= 4);
  });

  test("of long pages give what short pages give, one after the other", async (t) => {
    const { url, service, clock } = await start(t, {});
    for (let index = 0; index < 240; index += 1) await service.createAccount(opening({ index }));
    const pesel = adult(7);
    for (let nth = 0; nth < 130; nth += 1) {
      await service.exchange({ ...terms("buy 1 USD for PLN"), pesel });
    }
    clock.now = new Date(now.getTime() + 60_000);
    interface Page {
      readonly next: string | null;
      readonly [member: string]: unknown;
    }
    const read = async (path: string) => (await send(url, "GET", path)).json as Page;
    const period = "from=2026-06-08&to=2026-06-08";
    for (const [list, path] of [
      ["users", "/api/users?"],
      ["users", `/api/users?at=${now.toISOString()}`],
      ["entries", `/api/user/${pesel}/history?`],
      ["entries", `/api/user/${pesel}/history?${period}`],
    ] as const) {
      const short = [await read(`${path}&limit=70`)];
      for (let next = short[0]?.next; next; next = short.at(-1)?.next) {
        short.push(await read(`${path}&limit=70&cursor=${next}`));
      }
      const items = short.flatMap((page) => page[list]);
      for (const limit of [101, 230, 1000]) {
        const page = await read(`${path}&limit=${limit}`);
        assert.deepEqual(page, { ...short[0], [list]: items.slice(0, limit), next: page.next });
        const after = page.next && (await read(`${path}&limit=1&cursor=${page.next}`))[list];
        assert.deepEqual(after, limit < items.length ? [items[limit]] : null);
      }
    }
  });

  test("leave others as much time between the short pages of a long one as a page takes", async (t) => {
    let parts = 0;
    const accounts: ExchangeService["accounts"] = async () => {
      parts += 1;
      for (const end = performance.now() + 80; performance.now() < end; );
      return { items: [], next: `${parts}` };
    };
    const { url } = await start(t, { accounts });
    const list = send(url, "GET", "/api/users?limit=300");
    while (parts === 0) await pause(1);
    for (const end = performance.now() + 60; performance.now() < end; ) await nextTurn();
    assert.equal(parts, 1);
    assert.equal(((await list).json as { next: string }).next, "3");
  });

  test("leave others as much time between their parts as a part takes", async (t) => {
    let parts = 0;
    const part = () => {
      parts += 1;
      for (const end = performance.now() + 80; performance.now() < end; );
    };
    const { url } = await start(t, {
      rateHistory: async () => {
        part();
        const rate = {
          effectiveDate: "2026-06-08",
          bid: requireDecimal("3.6"),
          ask: requireDecimal("3.7"),
        };
        // To make text of it is the other part.
        return [Object.defineProperty({ ...rate, number: "" }, "number", { get: part })];
      },
    });
    const answer = send(url, "GET", "/api/rates/USD/history?days=10");
    while (parts === 0) await pause(1);
    for (const end = performance.now() + 60; performance.now() < end; ) await nextTurn();
    assert.equal(parts, 1);
    assert.equal((await answer).status, 200);
    assert.ok(parts > 1);
  });

  test("are not done for those who have gone", async (t) => {
    const { url, list, asked, isAsked, next } = await startLists(t);
    const first = list("1");
    await isAsked(1);
    const gone = new AbortController();
    const abandoned = fetch(`${url}/api/users?limit=1000&cursor=2`, { signal: gone.signal });
    await pause(50);
    gone.abort();
    await assert.rejects(abandoned);
    const last = list("3");
    await pause(50);
    next();
    await first;
    await isAsked(2);
    next();
    await last;
    assert.deepEqual(asked, ["1", "3"]);
  });

  test("are refused while 64 others wait; short ones are not", async (t) => {
    const { url, list, isAsked, next } = await startLists(t);
    const first = list("first");
    await isAsked(1);
    const others = Array.from({ length: 65 }, (_, index) => list(`${index}`));
    isProblem(await Promise.race(others), "overloaded");
    const short = send(url, "GET", "/api/users?limit=10");
    await isAsked(2);
    const letGo = setInterval(next, 5);
    t.after(() => clearInterval(letGo));
    assert.equal((await short).status, 200);
    assert.equal((await first).status, 200);
    assert.equal((await Promise.all(others)).filter(({ status }) => status === 200).length, 64);
  });

  test("are refused with a problem, also a checkpoint whose first line is known", async (t) => {
    const audit: ExchangeService["audit"] = async ({ onStart } = {}) => {
      onStart?.({ schemaVersion: 1, entries: 0 });
      throw new FxError("overloaded", "16 audits or positions wait for their turn.");
    };
    const { url } = await start(t, { audit });
    isProblem(await send(url, "GET", "/api/audit/checkpoint"), "overloaded");
  });

  test("end when the client goes, and the log says so with status 499", async (t) => {
    let ended = false;
    const audit: ExchangeService["audit"] = ({ signal } = {}) =>
      new Promise((_, reject) => {
        signal?.addEventListener("abort", () => {
          ended = true;
          reject(new FxError("unreachable", "Nobody waits for it any more."));
        });
      });
    const server = await start(t, { audit });
    const gone = new AbortController();
    const asked = fetch(`${server.url}/api/audit`, { signal: gone.signal });
    await pause(50);
    gone.abort();
    await assert.rejects(asked);
    while (!ended) await pause(5);
    while (!/"route":"\/api\/audit","status":499/.test(server.log())) await pause(5);
    assert.doesNotMatch(server.log(), /"level":50/);
  });
});
