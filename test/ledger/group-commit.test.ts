import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { FxError } from "../../src/core/errors.ts";
import type { BulkLine } from "../../src/core/service.ts";
import { DamagedLedger } from "../../src/ledger/rows.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { FaultyStore } from "../simulation/faulty-store.ts";
import { adult, now, opening, terms, tradedRates } from "../support/fixture.ts";
import { answersTo, codesOf } from "../support/service.ts";

async function start(accounts = 1) {
  const store = new FaultyStore(openSqlite(":memory:"));
  const service = new LedgerService(store, await tradedRates(store), () => now);
  for (let index = 0; index < accounts; index += 1) await service.createAccount(opening({ index }));
  let commits = 0;
  service.commits.observe(() => {
    commits += 1;
  });
  return { service, store, commits: () => commits };
}

/** A store each of whose transactions waits, before and after it is durable, until `goOn` is called. */
function stalls(store: FaultyStore) {
  const transact = store.transact.bind(store);
  const waiting: (() => void)[] = [];
  const pause = () => new Promise<void>((resolve) => waiting.push(resolve));
  store.transact = async (lookups, decide) => {
    await pause();
    const answer = await transact(lookups, decide);
    await pause();
    return answer;
  };
  return {
    goOn: async () => {
      while (waiting.length === 0) await nextTurn();
      waiting.shift()?.();
      await nextTurn();
    },
    /** Lets every transaction pass from now on. */
    end: () => {
      store.transact = transact;
      const resumeAll = () => {
        for (const resume of waiting.splice(0)) resume();
      };
      resumeAll();
      setImmediate(resumeAll);
    },
  };
}

const order = (words: string, index = 0) => ({ ...terms(words), pesel: adult(index) });
const line = (words: string, index = 0): BulkLine => ({ kind: "exchange", ...order(words, index) });
const outcome = (promise: Promise<unknown>) =>
  promise.then(
    () => "done",
    (error: FxError) => error.code,
  );

/** The outcomes of the lines of a batch. */
async function bulk(service: LedgerService, ...lines: (readonly BulkLine[])[]) {
  return codesOf(await answersTo(service, ...lines));
}

describe("a group commit", () => {
  test("A group commit takes all orders that arrive together into one commit", async () => {
    const { service, commits } = await start(100);
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => service.exchange(order("buy 1 USD for PLN", index))),
    );
    assert.equal(commits(), 1);
    assert.equal(service.commits.waiting, 0);
  });

  test("Requests that arrive during a commit share the next one, and nobody is answered before it is durable", async () => {
    const { service, store, commits } = await start(3);
    const stalled = stalls(store);
    const settled: string[] = [];
    const ask = async (name: string, index: number) => {
      await service.exchange(order("buy 1 USD for PLN", index));
      settled.push(name);
    };
    const all = [ask("first", 0)];
    await stalled.goOn();
    assert.equal((await store.account(adult(0)))?.sequence, 2, "written");
    assert.deepEqual(settled, [], "not answered yet");
    all.push(ask("second", 1), ask("third", 2));
    assert.equal(service.commits.waiting, 2);
    await stalled.goOn();
    assert.deepEqual(settled, ["first"]);
    await stalled.goOn();
    assert.deepEqual(settled, ["first"]);
    await stalled.goOn();
    await Promise.all(all);
    assert.deepEqual(settled, ["first", "second", "third"]);
    assert.equal(commits(), 2);
  });

  test("A group commit puts single orders before the lines of a batch", async () => {
    const { service } = await start(2);
    const lines = Array.from({ length: 300 }, () => line("buy 0.01 USD for PLN"));
    const done: string[] = [];
    const ofBulk = bulk(service, lines).then((results) => done.push(`bulk of ${results.length}`));
    while (service.commits.waiting === 0) await nextTurn();
    const single = service.exchange(order("buy 1 USD for PLN", 1)).then(() => done.push("single"));
    await Promise.all([ofBulk, single]);
    assert.deepEqual(done, ["single", "bulk of 300"]);
  });

  test("A group commit beside a flood of single orders is full, and has room for a batch", async () => {
    const { service, commits } = await start(2);
    const done: string[] = [];
    const flood = Array.from({ length: 2005 }, () => service.exchange(order("buy 0.01 USD for PLN")));
    const last = Promise.all(flood).then(() => done.push("flood"));
    const lines = Array.from({ length: 300 }, () => line("buy 0.01 USD for PLN", 1));
    const ofBulk = bulk(service, lines).then(() => done.push("bulk"));
    await Promise.all([last, ofBulk]);
    assert.deepEqual(done, ["bulk", "flood"]);
    assert.equal(commits(), 10, "2305 orders in groups of 256 at most");
  });

  test("A group commit lets the event loop take its turn between the commits of a batch", async () => {
    const { service } = await start();
    const many = Array.from({ length: 10 }, () => Array(256).fill(line("buy 0.01 USD for PLN")));
    let isDone = false;
    let turns = 0;
    const ofBulk = bulk(service, ...many).then(() => {
      isDone = true;
    });
    for (; !isDone; turns += 1) await nextTurn();
    await ofBulk;
    assert.ok(turns >= 10, `${turns} turns`);
  });

  test("A group commit keeps the order of a batch's lines within an account, and reads only a few chunks ahead", async () => {
    const { service } = await start();
    let read = 0;
    async function* lines() {
      for (; read < 1000; read += 1) yield [line(`buy ${1 + read}.00 HUF for PLN`)];
    }
    const answers = service.bulk(lines())[Symbol.asyncIterator]();
    await answers.next();
    for (let turn = 0; turn < 100; turn += 1) await nextTurn();
    assert.ok(read < 100, `${read} chunks`);
    for (let more = await answers.next(); more.done !== true; more = await answers.next());
    const { items } = await service.statement(adult(), { limit: 1000 });
    const bought = items.flatMap(({ kind, credited }) =>
      kind === "exchange" ? Number(credited?.minor) : [],
    );
    assert.deepEqual(
      bought.reverse(),
      Array.from({ length: bought.length }, (_, index) => 100 * (1 + index)),
    );
    assert.ok(bought.length > 300);
  });

  test("A group commit fails only the order that needs a damaged row, where its writes meet the damage", async () => {
    const { service, store } = await start(9);
    const transact = store.transact.bind(store);
    store.transact = (lookups, decide) => {
      if (lookups.some(({ pesel }) => pesel === adult(5))) throw new DamagedLedger("on purpose");
      return transact(lookups, decide);
    };
    const orders = Array.from({ length: 9 }, (_, index) => order("buy 1 USD for PLN", index));
    const expected = Array.from({ length: 9 }, (_, index) => (index === 5 ? "storage-unavailable" : "done"));
    assert.deepEqual(await Promise.all(orders.map((each) => outcome(service.exchange(each)))), expected);
    const lines = orders.map((each): BulkLine => ({ kind: "exchange", ...each }));
    assert.deepEqual(await bulk(service, lines), expected);
    for (let index = 0; index < 9; index += 1) {
      assert.equal((await store.account(adult(index)))?.sequence, index === 5 ? 1 : 3);
    }
  });

  test("A group commit fails all of its orders where its commit fails, and the next one goes through", async () => {
    const { service, store, commits } = await start();
    store.fault = "fails";
    const failed = ["buy 1 USD for PLN", "buy 1 EUR for PLN"].map((words) =>
      outcome(service.exchange(order(words))),
    );
    assert.deepEqual(await Promise.all(failed), ["storage-unavailable", "storage-unavailable"]);
    store.fault = "none";
    assert.equal(await outcome(service.exchange(order("buy 1 USD for PLN"))), "done");
    assert.equal((await service.statement(adult(), { limit: 10 })).items.length, 2);
    assert.equal(commits(), 2, "a failed commit counts, too");
  });

  test("An order past the bound of the queue is refused as overloaded, with a time to try again", async () => {
    const { service } = await start();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 16_385 }, () => service.exchange(order("buy 1 THB for PLN"))),
    );
    const last = outcomes.at(-1) as PromiseRejectedResult;
    assert.ok(last.reason instanceof FxError);
    assert.deepEqual([last.reason.code, last.reason.retryAfterSeconds], ["overloaded", 1]);
    assert.match(last.reason.message, /^Too many orders are waiting for the store\. Try again/);
    assert.equal((outcomes.at(-2) as PromiseRejectedResult).reason.code, "unsupported-currency");
  });

  test("A group commit refuses what waited too long behind a stalled commit, and has not begun it", async (t) => {
    const { service, store, commits } = await start(2);
    const stalled = stalls(store);
    const first = service.exchange(order("buy 1 USD for PLN"));
    await stalled.goOn();
    const late = service.exchange(order("buy 1 USD for PLN", 1));
    const lateLine = bulk(service, [line("buy 1 USD for PLN", 1)]);
    while (service.commits.waiting < 2) await nextTurn();
    const clock = performance.now.bind(performance);
    t.mock.method(performance, "now", () => clock() + 11_000);
    stalled.end();
    await first;
    const refusal = { code: "overloaded", retryAfterSeconds: 1 };
    await assert.rejects(late, { ...refusal, message: /the order was not begun, and nothing was changed/ });
    assert.deepEqual(await lateLine, ["overloaded"]);
    assert.equal(commits(), 1, "nothing is committed for them");
    assert.equal((await store.account(adult(1)))?.sequence, 1);
    assert.equal(await outcome(service.exchange(order("buy 1 USD for PLN", 1))), "done");
  });

  test("A group commit is answered before the service closes", async () => {
    const { service } = await start();
    const settled = outcome(service.exchange(order("buy 1 USD for PLN")));
    await service.close();
    assert.equal(await settled, "done");
  });

  test("A group commit in which a bug shows fails only the order that met it", async () => {
    const { service, store } = await start(2);
    const transact = store.transact.bind(store);
    store.transact = (lookups, decide) =>
      transact(lookups, (view) =>
        decide({
          ...view,
          account: (pesel) => {
            if (pesel === adult(1)) throw new TypeError("a bug");
            return view.account(pesel);
          },
        }),
      );
    const failing = service.exchange(order("buy 1 USD for PLN", 1));
    const fine = service.exchange(order("buy 1 USD for PLN"));
    await assert.rejects(failing, { code: "internal", cause: new TypeError("a bug") });
    await fine;
    const lines = [line("buy 1 USD for PLN", 1), line("buy 1 USD for PLN")];
    assert.deepEqual(await bulk(service, lines), ["internal", "done"]);
  });
});
