import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { BulkAnswer, BulkLine } from "../../src/core/service.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import { adult, now, opening, terms, tradedRates } from "../support/fixture.ts";
import { untilBlocked, withClient } from "../support/postgres.ts";
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

  for (const { holds, deadlineMs, outcomes } of [
    { holds: "for a moment, does every line when it lets go", deadlineMs: 10_000, outcomes: ["done"] },
    {
      holds: "for long, answers every line by the deadline",
      deadlineMs: 1000,
      outcomes: ["storage-unavailable"],
    },
  ]) {
    test(`of which another process holds an account ${holds}, and none twice`, async (t) => {
      const database = await emptyDatabase(t);
      const store = await openStore(t, database.url, { deadlineMs, lockTimeoutMs: 200 });
      const service = new LedgerService(store, await tradedRates(store), () => now);
      await answersTo(service, openings);
      const orders = openings.map((_, index) => order(index, "order"));
      const answers = await withClient(database.url, async (run) => {
        await run("begin");
        await run(`select from account where pesel = ${adult(0)} for update`);
        const answering = answersTo(service, orders);
        await untilBlocked(database);
        if (outcomes.includes("done")) await run("commit");
        return answering;
      });
      assert.deepEqual([...new Set(answers.map(outcome))], outcomes);
      assert.deepEqual(new Set((await answersTo(service, orders)).map(outcome)), new Set(["done"]));
      const done = await database.run("select from journal where sequence = 2");
      const all = await database.run("select from journal");
      assert.deepEqual([done.length, all.length], [accounts, 2 * accounts]);
    });
  }
});
