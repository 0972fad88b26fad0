import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import fc from "fast-check";
import { type CurrencyCode, pln } from "../src/core/currency.ts";
import { FxError } from "../src/core/errors.ts";
import type { Pesel } from "../src/core/pesel.ts";
import type { BulkAnswer, BulkLine, ExchangeService } from "../src/core/service.ts";
import { adult, decimal, opening, terms } from "./support/fixture.ts";
import { answersTo, codesOf, dryRunOf } from "./support/service.ts";

/** The part about many orders and openings at once. `person` opens a new account with 1000 PLN. */
export function describeBulks(serviceNow: () => ExchangeService, person: () => Promise<Pesel>): void {
  let service: ExchangeService;
  before(() => {
    service = serviceNow();
  });

  const run = (...chunks: (readonly BulkLine[])[]) => answersTo(service, ...chunks);

  describe("a batch", () => {
    test("A batch of nothing is answered with nothing", async () => {
      assert.deepEqual(await run(), []);
    });

    test("A batch does the lines of one account in their order, whatever chunks they come in", async () => {
      const index = 8800;
      const pesel = adult(index);
      const buy = { kind: "exchange", pesel, ...terms("buy 100 USD for PLN") } as const;
      const sell = { kind: "exchange", pesel, ...terms("sell 100 USD for PLN") } as const;
      const answers = await run(
        [sell, { kind: "opening", ...opening({ index, pln: "1000" }) }],
        [sell, buy],
        [sell],
      );
      assert.deepEqual(codesOf(answers), ["account-not-found", "done", "insufficient-funds", "done", "done"]);
      const last = answers.at(-1);
      assert.ok(last !== undefined && "account" in last);
      assert.deepEqual(last.account.balances, (await service.account(pesel)).balances);
    });

    test("A batch whose source of lines fails answers the lines before, and fails with that error", async () => {
      const index = 8801;
      const fault = new Error("no more can be read");
      async function* lines(): AsyncGenerator<readonly BulkLine[]> {
        yield [{ kind: "opening", ...opening({ index, pln: "1000" }) }];
        throw fault;
      }
      const answers: BulkAnswer[] = [];
      const reading = async () => {
        for await (const chunk of service.bulk(lines())) answers.push(...chunk);
      };
      await assert.rejects(reading(), fault);
      assert.deepEqual(codesOf(answers), ["done"]);
    });

    test("A batch that nobody reads any more takes no more lines in, and waits for none", async () => {
      const pesel = await person();
      let taken = 0;
      async function* lines(): AsyncGenerator<readonly BulkLine[]> {
        yield [{ kind: "exchange", pesel, ...terms("buy 1 USD for PLN") }];
        taken += 1;
        await new Promise(() => {});
      }
      for await (const answers of service.bulk(lines())) {
        assert.deepEqual(codesOf(answers), ["done"]);
        break;
      }
      assert.ok(taken <= 1);
    });
  });
  const usd = "USD" as CurrencyCode;
  let unused = 9000;
  /** Accounts that exist or not, keys that were used or not, and orders that may be refused. */
  const wish = fc.record({
    kind: fc.constantFrom("opening", "exchange", "exchange", "deposit", "withdrawal", "unreadable"),
    account: fc.integer({ min: 0, max: 2 }),
    amount: fc.constantFrom("0", "0.01", "1", "300", "900", "9007199254740993"),
    currency: fc.constantFrom(pln, usd, "XXX" as CurrencyCode),
    key: fc.constantFrom(undefined, "a", "b", "c"),
    by: fc.constantFrom(undefined, "anna", "jan"),
  });
  type Wish = typeof wish extends fc.Arbitrary<infer T> ? T : never;

  const lineOf = (pesels: readonly Pesel[], { kind, account, amount, currency, key, by }: Wish): BulkLine => {
    const pesel = pesels[account] as Pesel;
    const common = { pesel, key, by };
    switch (kind) {
      case "opening":
        return { kind, name: "Anna", surname: "Nowak", initial: decimal(amount), ...common };
      case "exchange":
        return { kind, from: pln, to: currency, side: "toSell", amount: decimal(amount), ...common };
      case "deposit":
      case "withdrawal":
        return { kind, currency, amount: decimal(amount), note: undefined, ...common };
      default:
        return new FxError("invalid-request", "It cannot be read.");
    }
  };

  function tried(lines: readonly BulkLine[], size: number): Promise<BulkAnswer[]> {
    const starts = lines.flatMap((_, start) => (start % size === 0 ? start : []));
    return dryRunOf(service, ...starts.map((start) => lines.slice(start, start + size)));
  }

  test("A dry run of reversals finds a receipt in any case, would reverse it once, and finds none where the text is no id", async () => {
    const pesel = await person();
    const deposit = { kind: "deposit", pesel, currency: pln, amount: decimal("5"), note: undefined } as const;
    const { receiptId: id } = await service.change(deposit);
    await service.change(deposit);
    const reversalOf = (reverses: string) => ({ kind: "reversal", pesel, reverses, reason: "r" }) as const;
    const answers = await dryRunOf(service, ["Jan Kowalski", `${id}0`, id.toUpperCase(), id].map(reversalOf));
    assert.deepEqual(codesOf(answers), ["not-found", "not-found", "done", "already-reversed"]);
    assert.deepEqual(codesOf(await dryRunOf(service, [id, id.toUpperCase()].map(reversalOf))), [
      "done",
      "already-reversed",
    ]);
  });

  /** An answer without its receipt, which a dry run does not make. */
  const said = (answers: readonly BulkAnswer[], dry: readonly BulkAnswer[]) =>
    answers.map((answer, index) => {
      if (answer instanceof FxError) return [answer.code, answer.message, answer.replayed];
      const like = dry[index];
      const isMade = like !== undefined && "receiptId" in like && like.receiptId === "";
      return { sold: undefined, bought: undefined, ...answer, receiptId: isMade ? "" : answer.receiptId };
    });

  describe("a dry run", () => {
    test("A dry run answers every line as the run then does, whatever was done, refused or asked under its keys before", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(wish, { maxLength: 8 }),
          fc.array(wish, { minLength: 1, maxLength: 12 }),
          fc.integer({ min: 1, max: 12 }),
          async (earlier, wishes, size) => {
            unused += 1;
            const pesels = [await person(), await person(), adult(unused)];
            await run(earlier.map((each) => lineOf(pesels, each)));
            // An order that was refused for want of money could be done now.
            const cash = { kind: "deposit", currency: pln, note: undefined } as const;
            await run([{ ...cash, pesel: pesels[0] as Pesel, amount: decimal("1000") }]);
            const lines = wishes.map((each) => lineOf(pesels, each));
            const before = await Promise.all(pesels.slice(0, 2).map((pesel) => service.account(pesel)));
            const dry = await tried(lines, size);
            const after = await Promise.all(pesels.slice(0, 2).map((pesel) => service.account(pesel)));
            assert.deepEqual(after, before);
            const real = await run(lines);
            assert.deepEqual(said(dry, dry), said(real, dry));
          },
        ),
        { numRuns: 40 },
      );
    });
  });
}
