import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { BulkAnswer, BulkLine } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { adult, now, opening, terms, tradedRates } from "../support/fixture.ts";
import { inTransaction } from "../support/postgres.ts";
import { emptyDatabase, openStore } from "../support/postgres-store.ts";

const accounts = 30;
const openings = Array.from({ length: accounts }, (_, index) => ({
  kind: "opening" as const,
  ...opening({ index }),
}));
const order = (index: number, key?: string) => {
  return { kind: "exchange" as const, ...terms("buy 1 USD for PLN"), pesel: adult(index), key };
};

async function answersTo(service: LedgerService, ...chunks: readonly BulkLine[][]): Promise<BulkAnswer[]> {
  const lines = (async function* () {
    yield* chunks;
  })();
  const answers: BulkAnswer[] = [];
  for await (const chunk of service.bulk(lines)) answers.push(...chunk);
  return answers;
}

const outcome = (answer: BulkAnswer) => (answer instanceof Error ? answer.code : "done");

describe("a bulk in PostgreSQL", () => {
  test("does the lines of an account in their order, and answers all lines in theirs", async (t) => {
    const database = await emptyDatabase(t);
    const store = await openStore(t, database.url);
    const service = new LedgerService(store, await tradedRates(store), () => now);
    const orders = Array.from({ length: 300 }, (_, line) => order(line % accounts, `line ${line}`));
    const answers = await answersTo(service, [...openings, ...orders]);
    const dollars = answers.map((answer) =>
      "account" in answer
        ? answer.account.balances.find(({ currency }) => currency === "USD")?.minor
        : outcome(answer),
    );
    const expected = orders.map((_, line) => BigInt(100 * (1 + Math.floor(line / accounts))));
    assert.deepEqual(dollars, [...openings.map(() => "done"), ...expected]);
    assert.deepEqual((await service.audit()).findings, []);
  });

  test("goes on with other accounts while another process holds one", async (t) => {
    const database = await emptyDatabase(t);
    const store = await openStore(t, database.url);
    const service = new LedgerService(store, await tradedRates(store), () => now);
    await answersTo(service, openings);
    const done = "select from journal where sequence = 2";
    let answers: Promise<BulkAnswer[]> = Promise.resolve([]);
    await inTransaction(database.url, async (run) => {
      await run(`select from account where pesel = ${adult(0)} for update`);
      answers = answersTo(
        service,
        openings.map((_, index) => order(index)),
      );
      let ended = false;
      void answers.finally(() => {
        ended = true;
      });
      while (!ended && (await database.run(done)).length < accounts / 3);
      assert.equal(ended, false);
    });
    assert.deepEqual(new Set((await answers).map(outcome)), new Set(["done"]));
    assert.equal((await database.run(done)).length, accounts);
  });
});
