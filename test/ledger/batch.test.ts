import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { parseCurrencyCode } from "../../src/core/currency.ts";
import { FxError } from "../../src/core/errors.ts";
import { Batcher } from "../../src/ledger/batch.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { openSqlite } from "../../src/sqlite/store.ts";
import { FaultyStore } from "../simulation/faulty-store.ts";
import { adult, now, opening, table, terms, tradedRates } from "../support/fixture.ts";
import { tableOf } from "../support/rates.ts";

async function start(accounts = 1) {
  const store = new FaultyStore(openSqlite(":memory:"));
  let commits = 0;
  const transact = store.transact.bind(store);
  store.transact = (touched, decide) => {
    commits += 1;
    return transact(touched, decide);
  };
  const service = new LedgerService(store, await tradedRates(store), () => now);
  for (let index = 0; index < accounts; index += 1) await service.createAccount(opening({ index }));
  commits = 0;
  return { service, store, commits: () => commits };
}

const order = (words: string, index = 0) => ({ ...terms(words), pesel: adult(index) });
const outcome = (promise: Promise<unknown>) =>
  promise.then(
    () => "settled",
    (error: FxError) => error.code,
  );

describe("a batch", () => {
  test("takes all orders that arrive together into one commit", async () => {
    const { service, commits } = await start(100);
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => service.exchange(order("buy 1 USD for PLN", index))),
    );
    assert.equal(commits(), 1);
  });

  test("waits for the orders that come in the same turn of the event loop as its first ones", async () => {
    const { service, commits } = await start(2);
    const later = new Promise((settled) => {
      setImmediate(() => settled(service.exchange(order("buy 1 USD for PLN", 1))));
    });
    await Promise.all([service.exchange(order("buy 1 USD for PLN")), later]);
    assert.equal(commits(), 1);
  });

  test("lets no refusal harm its neighbours", async () => {
    const { service } = await start();
    const outcomes = await Promise.all(
      ["buy 1 USD for PLN", "buy 9999 USD for PLN", "buy 1 THB for PLN", "sell 1 USD for PLN"].map((words) =>
        outcome(service.exchange(order(words))),
      ),
    );
    assert.deepEqual(outcomes, ["settled", "insufficient-funds", "unsupported-currency", "settled"]);
    assert.deepEqual((await service.audit()).findings, []);
  });

  test("decides each order on the account as those before it leave it", async () => {
    const { service } = await start();
    const outcomes = await Promise.all(
      Array.from({ length: 5 }, () => outcome(service.exchange(order("sell 300 PLN for USD")))),
    );
    assert.deepEqual(outcomes, ["settled", "settled", "settled", "insufficient-funds", "insufficient-funds"]);
  });

  test("whose commit fails fails exactly its own orders, and the next one goes through", async () => {
    const { service, store } = await start();
    store.fault = "fails";
    const failed = ["buy 1 USD for PLN", "buy 1 EUR for PLN"].map((words) =>
      outcome(service.exchange(order(words))),
    );
    assert.deepEqual(await Promise.all(failed), ["storage-unavailable", "storage-unavailable"]);
    store.fault = "none";
    assert.equal(await outcome(service.exchange(order("buy 1 USD for PLN"))), "settled");
    assert.equal((await service.statement(adult(), { limit: 10 })).items.length, 2);
  });

  test("past the bound of the queue is refused as overloaded, with a time to try again", async () => {
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

  test("that waited too long behind a stalled one is refused, and was not begun", async () => {
    const store = openSqlite(":memory:");
    const stalled = openSqlite(":memory:");
    store.transact = (touched, decide) =>
      new Promise<void>((done) => setTimeout(done, 600)).then(() => stalled.transact(touched, decide));
    const batcher = new Batcher(store, () => now, { longestWaitMs: 300 });
    const request = { pesel: adult(), key: undefined, body: () => "" };
    let begun = 0;
    const outcomes = await Promise.allSettled(
      Array.from({ length: 300 }, () => batcher.run({ request, decide: () => ({ answer: ++begun }) })),
    );
    const codes = outcomes.map((one) => (one.status === "fulfilled" ? "done" : one.reason.code));
    assert.deepEqual(codes, [...Array(256).fill("done"), ...Array(44).fill("overloaded")]);
    const { reason } = outcomes.at(-1) as PromiseRejectedResult;
    assert.match(reason.message, /it was not begun, and nothing was changed/);
    assert.equal(reason.retryAfterSeconds, 1);
    await batcher.drained();
    assert.equal(begun, 256);
  });

  test("of a bulk alone takes in chunks that come some turns apart", async () => {
    const { store, commits } = await start();
    const batcher = new Batcher(store, () => now);
    const command = {
      request: { pesel: adult(), key: undefined, body: () => "" },
      decide: () => ({ answer: 1 }),
    };
    const chunks = [];
    for (let chunk = 0; chunk < 40; chunk += 1) {
      for (let turn = 0; turn < 3; turn += 1) await nextTurn();
      chunks.push(batcher.runAll([command]));
    }
    assert.deepEqual((await Promise.all(chunks)).flat(), Array(40).fill(1));
    assert.ok(commits() < 20, `${commits()} commits`);
  });

  test("of a bulk does not wait for more single orders than those that come at once", async () => {
    const { store } = await start();
    const batcher = new Batcher(store, () => now);
    const command = {
      request: { pesel: adult(), key: undefined, body: () => "" },
      decide: () => ({ answer: 1 }),
    };
    let orders = 0;
    const coming = setInterval(() => {
      orders += 1;
      void batcher.run(command);
    }, 1);
    await batcher.runAll([command]);
    clearInterval(coming);
    assert.ok(orders < 50, `${orders} orders came before the bulk's line was done`);
  });

  test("of a bulk beside single orders waits until the process has been idle", async () => {
    const { service, store } = await start();
    const batcher = new Batcher(store, () => now);
    const admitted = async () => {
      await batcher.admit();
      const until = performance.now() + 30;
      while (performance.now() < until);
      return Promise.race([batcher.admit().then(() => "at once"), nextTurn().then(() => "later")]);
    };
    assert.equal(await admitted(), "at once");
    await batcher.run({
      request: { pesel: adult(), key: undefined, body: () => "" },
      decide: () => ({ answer: 1 }),
    });
    assert.equal(await admitted(), "later");
    await service.close();
  });

  test("is answered before the service closes", async () => {
    const { service } = await start();
    const settled = outcome(service.exchange(order("buy 1 USD for PLN")));
    await service.close();
    assert.equal(await settled, "settled");
  });

  test("that throws on reading fails only the command that read", async () => {
    const store = openSqlite(":memory:");
    const batcher = new Batcher(store, () => now);
    const request = { pesel: adult(), key: undefined, body: () => "" };
    const decide = () => {
      throw new TypeError("a bug");
    };
    const failing = batcher.run({ request, decide });
    const fine = batcher.run({ request, decide: () => ({ answer: 1 }) });
    await assert.rejects(failing, TypeError);
    assert.equal(await fine, 1);
  });
});

describe("the position of the house", () => {
  test("is what customers gave it less what they took, at any time", async () => {
    const { service } = await start(2);
    await service.exchange(order("buy 100 USD for PLN", 0));
    await service.exchange(order("sell 40 USD for EUR", 0));
    const { currencies } = await service.position();
    assert.deepEqual(
      currencies.map(({ currency, customers, house }) => `${currency} ${customers} ${house}`),
      ["PLN 163000 37000", "EUR 3388 -3388", "USD 6000 -6000"],
    );
  });

  test("shows the spread earned at mid rates", async () => {
    const { service } = await start();
    // 370.00 paid for 100.00 USD, which are 366.34 at the mid of 3.6268 and 3.7000.
    await service.exchange(order("buy 100 USD for PLN"));
    assert.deepEqual((await service.position()).spreadEarned, { currency: "PLN", minor: 366n });
  });

  test("of a house without an exchange is 0 in PLN", async () => {
    const { service } = await start(0);
    assert.deepEqual(await service.position(), {
      currencies: [{ currency: "PLN", customers: 0n, house: 0n }],
      spreadEarned: { currency: "PLN", minor: 0n },
    });
  });
});

describe("the table in force and its history", () => {
  test("know nothing of tables that come after it", async () => {
    const { service, store } = await start();
    await store.saveTables([
      tableOf("107/C/NBP/2026", "2026-06-05"),
      table,
      tableOf("109/C/NBP/2026", "2026-06-09"),
      tableOf("110/C/NBP/2026", "2026-06-10"),
    ]);
    assert.equal((await service.rates()).previous?.number, "107/C/NBP/2026");
    const history = await service.rateHistory(parseCurrencyCode("USD"), 90);
    assert.deepEqual(
      history.map((rate) => rate.table),
      ["107/C/NBP/2026", "108/C/NBP/2026"],
    );
  });
});

describe("statements, receipts and lists", () => {
  test("a statement is read in pages, newest first, each entry once", async () => {
    const { service } = await start();
    for (let count = 0; count < 6; count += 1) await service.exchange(order("buy 1 USD for PLN"));
    const sequences: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await service.statement(adult(), { limit: 3, cursor });
      sequences.push(...page.items.map(({ sequence }) => sequence));
      cursor = page.next;
    } while (cursor !== undefined);
    assert.deepEqual(sequences, [7, 6, 5, 4, 3, 2, 1]);
  });

  test("accounts are listed in pages, by PESEL, each once", async () => {
    const { service } = await start(7);
    const first = await service.accounts({ limit: 4 });
    const second = await service.accounts({ limit: 4, cursor: first.next });
    const pesels = [...first.items, ...second.items].map(({ pesel }) => pesel);
    assert.deepEqual(pesels, [0, 1, 2, 3, 4, 5, 6].map(adult).sort());
    assert.equal(second.next, undefined);
  });

  test("an unknown id has no receipt", async () => {
    const { service } = await start();
    await assert.rejects(service.receipt("no-such-id"), { code: "not-found" });
  });

  test("a cursor that no page gave is refused", async () => {
    const { service } = await start(2);
    const ofAnother = (await service.statement(adult(1), { limit: 1 })).items[0]?.id;
    for (const cursor of ["x", ofAnother]) {
      await assert.rejects(service.statement(adult(), { limit: 1, cursor }), { code: "invalid-request" });
    }
    await assert.rejects(service.accounts({ limit: 1, cursor: "x" }), { code: "invalid-request" });
  });
});
