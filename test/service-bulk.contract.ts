import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { FxError } from "../src/core/errors.ts";
import type { Pesel } from "../src/core/pesel.ts";
import type { BulkAnswer, BulkLine, ExchangeService } from "../src/core/service.ts";
import type { Subject } from "./service.contract.ts";
import { adult, decimal, opening, terms } from "./support/fixture.ts";
import { texts } from "./support/service.ts";

/** The part about many orders and openings at once. `person` opens a new account with 1000 PLN. */
export function describeBulks(subjectNow: () => Subject, person: () => Promise<Pesel>): void {
  let service: ExchangeService;
  before(() => {
    service = subjectNow().service;
  });

  async function run(...chunks: readonly (readonly BulkLine[])[]): Promise<BulkAnswer[]> {
    async function* lines() {
      yield* chunks;
    }
    const answers: BulkAnswer[] = [];
    for await (const chunk of service.bulk(lines())) answers.push(...chunk);
    return answers;
  }
  const codes = (answers: readonly BulkAnswer[]) =>
    answers.map((answer) => (answer instanceof FxError ? answer.code : "done"));

  describe("a bulk", () => {
    test("of nothing is answered with nothing", async () => {
      assert.deepEqual(await run(), []);
    });

    test("does the lines of one account in their order, whatever chunks they come in", async () => {
      const index = 8800;
      const pesel = adult(index);
      const buy = { kind: "exchange", pesel, ...terms("buy 100 USD for PLN") } as const;
      const sell = { kind: "exchange", pesel, ...terms("sell 100 USD for PLN") } as const;
      const answers = await run(
        [sell, { kind: "opening", ...opening({ index, pln: "1000" }) }],
        [sell, buy],
        [sell],
      );
      assert.deepEqual(codes(answers), ["account-not-found", "done", "insufficient-funds", "done", "done"]);
      const last = answers.at(-1);
      assert.ok(last !== undefined && "account" in last);
      assert.deepEqual(last.account.balances, (await service.account(pesel)).balances);
    });

    test("says what each order sold and bought, and what a deposit leaves", async () => {
      const pesel = await person();
      const cash = { kind: "deposit", pesel, amount: decimal("5"), note: undefined } as const;
      const { balances } = await service.account(pesel);
      const currency = balances[0]?.currency ?? assert.fail();
      const [order, deposit] = await run([
        { kind: "exchange", pesel, ...terms("buy 10 USD for PLN") },
        { ...cash, currency },
      ]);
      assert.ok(order !== undefined && "account" in order && order.sold && order.bought);
      assert.deepEqual(texts([order.sold, order.bought]), ["37.00 PLN", "10.00 USD"]);
      assert.ok(deposit !== undefined && "account" in deposit);
      assert.deepEqual(texts(deposit.account.balances), ["968.00 PLN", "10.00 USD"]);
    });

    test("answers a line that cannot be read with what is wrong, in its place", async () => {
      const pesel = await person();
      const wrong = new FxError("invalid-request", "This is no line.");
      assert.deepEqual(
        codes(await run([wrong, { kind: "exchange", pesel, ...terms("buy 1 USD for PLN") }, wrong])),
        ["invalid-request", "done", "invalid-request"],
      );
    });

    test("sent again with its keys does nothing twice", async () => {
      const pesel = await person();
      const lines = [1, 2].map(
        (number): BulkLine => ({
          kind: "exchange",
          pesel,
          ...terms(`buy ${number} USD for PLN`),
          key: `bulk-${number}`,
        }),
      );
      const first = await run(lines);
      const again = await run(lines);
      const told = (answers: readonly BulkAnswer[]) =>
        answers.map((answer) => answer instanceof FxError || [answer.receiptId, answer.replayed]);
      assert.deepEqual(
        told(again),
        first.map((answer) => answer instanceof FxError || [answer.receiptId, true]),
      );
    });
  });
}
