import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { FxError } from "../../src/core/errors.ts";
import { LedgerService } from "../../src/ledger/service.ts";
import type { Store } from "../../src/ledger/store.ts";
import { adapters } from "../support/adapters.ts";
import { adult, now, opening, terms, tradedRates } from "../support/fixture.ts";
import { refuses } from "../support/service.ts";

// The codes that are kept, and for whom and how long, are in test/service/refusals.txt.
const dayMs = 86_400_000;

/** The outcome of a request: the code of its refusal, and whether it was answered before. */
async function outcome(answer: Promise<{ replayed: boolean }>): Promise<string> {
  const [what, replayed] = await answer.then(
    (settled) => ["settled", settled.replayed],
    (error: FxError) => [error.code, error.replayed],
  );
  return replayed ? `${what} before` : `${what}`;
}

async function start(store: Store, refusalsAtMost?: number) {
  const clock = { now };
  const service = new LedgerService(store, await tradedRates(store), () => clock.now, { refusalsAtMost });
  const order = (words: string, key?: string, index = 0) =>
    service.exchange({ ...terms(words), pesel: adult(index), key });
  return { service, clock, order };
}
type Start = Awaited<ReturnType<typeof start>>;

for (const { name, open, database } of adapters) {
  describe(`a refusal over ${name}`, () => {
    test("A refusal is kept until there are too many newer ones, and is the newest when it is given again", async (t) => {
      const { service, order, clock } = await start(await open(t), 2);
      await service.createAccount(opening());
      const sell = (key: string) => outcome(order("sell 1 USD for PLN", key));
      const poor = "insufficient-funds";
      for (const key of ["a", "b", "c"]) assert.equal(await sell(key), poor);
      for (const key of ["b", "c"]) assert.equal(await sell(key), `${poor} before`);
      assert.equal(await sell("a"), poor);
      clock.now = new Date(now.getTime() + 31 * dayMs);
      for (const key of ["a", "b"]) assert.equal(await sell(key), poor);
      assert.equal(await sell("a"), `${poor} before`);
    });

    if (database === undefined) return;
    const two = async (t: TestContext) => {
      const { open, run } = await database(t);
      return { one: await start(await open()), other: await start(await open()), run };
    };

    test("A refusal is one answer for two processes that are asked at once, while the account changes", async (t) => {
      const { one, other } = await two(t);
      await one.service.createAccount(opening());
      const seen = new Set<string>();
      for (let round = 0; round < 25; round += 1) {
        const ask = ({ order }: Start) => outcome(order("sell 10 USD for PLN", `k${round}`));
        const change = (round % 2 === 0 ? one : other).order("buy 10 USD for PLN");
        const answers = await Promise.all([ask(one), ask(other), ask(one)]);
        await change;
        const [first = ""] = answers.filter((answer) => !answer.endsWith(" before"));
        seen.add(first);
        assert.deepEqual(answers.toSorted(), [first, `${first} before`, `${first} before`]);
        // Leaves no dollars for the next round.
        await outcome(one.order("sell 10 USD for PLN"));
      }
      assert.deepEqual((await one.service.audit()).findings, []);
      assert.ok([...seen].every((answer) => ["settled", "insufficient-funds"].includes(answer)));
    });

    test("A refusal for an unknown account is one answer of two processes that are asked at once", async (t) => {
      const { one, other, run } = await two(t);
      const ask = ({ order }: Start) => outcome(order("buy 1 USD for PLN", "k", 5));
      const answers = await Promise.all([one, other, one, other].map(ask));
      assert.ok(
        answers.every((answer) => answer.startsWith("account-not-found")),
        answers.join(),
      );
      assert.equal((await run("select * from refusal")).length, 1);
      assert.equal(await outcome(one.order("buy 2 USD for PLN", "k", 5)), "idempotency-key-reused");
    });

    test("A refusal is kept without the body, and goes when its time has come, also after some that are dated ahead", async (t) => {
      const { open, run } = await database(t);
      const { service, order, clock } = await start(await open());
      await service.createAccount(opening());
      clock.now = new Date(now.getTime() + 400 * dayMs);
      for (const key of ["x", "y", "z"])
        await refuses(order("sell 1 USD for PLN", key), "insufficient-funds");
      clock.now = now;
      await refuses(service.createAccount(opening({ name: "Ewelina", key: "k" })), "account-exists");
      const kept = async () =>
        (await run("select * from refusal order by position")) as Record<string, unknown>[];
      const row = (await kept()).find((one) => one.idempotency_key === "k") ?? {};
      assert.equal(row.code, "account-exists");
      assert.doesNotMatch(JSON.stringify(Object.values(row).map(String)), /Ewelina/);
      clock.now = new Date(now.getTime() + 31 * dayMs);
      await refuses(order("sell 1 USD for PLN", "other"), "insufficient-funds");
      assert.deepEqual(
        (await kept()).map((one) => one.idempotency_key),
        ["x", "y", "z", "other"],
      );
    });
  });
}
