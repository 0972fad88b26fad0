import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import fc from "fast-check";
import { FxError } from "../src/core/errors.ts";
import { provenBy } from "../src/core/proof.ts";
import type { AccountHead, BulkLine, ExchangeService } from "../src/core/service.ts";
import { sha256 } from "../src/ledger/rows.ts";
import { describeCases } from "./service/cases.ts";
import { describeBooks } from "./service-books.contract.ts";
import { describeBulks } from "./service-bulk.contract.ts";
import { adult, type fixedRates, opening, terms } from "./support/fixture.ts";
import { answersTo, cash, refuses } from "./support/service.ts";

export interface Subject {
  readonly service: ExchangeService;
  readonly rates: ReturnType<typeof fixedRates>;
  readonly clock: { now: Date };
  /** The service as a caller with the token of this name sees it, or without a token. */
  as(by: string | undefined): ExchangeService;
}

/** Opens a service over a new ledger, which lives until the end of the test. */
export type Open = (t: Pick<TestContext, "after">) => Promise<Subject>;

/**
 * The contract of every ExchangeService, local or remote: the same outcomes, codes and messages. Most of it are the cases
 * in test/service.
 */
export function describeExchangeService(name: string, open: Open, mayWrite = false): void {
  describe(name, () => {
    let subject: Subject;
    let service: ExchangeService;
    let people = 0;

    const cleanUps: (() => unknown)[] = [];
    before(async () => {
      subject = await open({ after: (cleanUp) => void cleanUps.push(cleanUp as () => unknown) });
      service = subject.service;
    });
    after(async () => {
      for (const cleanUp of cleanUps.reverse()) await cleanUp();
    });

    describeCases(open, mayWrite);

    /** Opens a new account with this much PLN. */
    async function person(pln = "1000") {
      people += 1;
      await service.createAccount(opening({ index: people, pln }));
      return adult(people);
    }

    describe("exchanging", () => {
      test("a quote of any terms is what the order that follows it does, or the same refusal", async () => {
        const codes = ["PLN", "USD", "EUR", "JPY", "HUF", "XDR"];
        const pesel = await person("1000000000");
        // More than all the orders below can take.
        const held = {
          USD: 10_000_000,
          EUR: 10_000_000,
          XDR: 10_000_000,
          JPY: 1_000_000_000,
          HUF: 1_000_000_000,
        };
        for (const [code, amount] of Object.entries(held)) {
          await service.exchange({ pesel, ...terms(`buy ${amount} ${code} for PLN`) });
        }
        const anyTerms = fc
          .record({
            verb: fc.constantFrom("buy", "sell"),
            minor: fc.oneof(fc.nat(20), fc.nat(500_000)),
            codes: fc.shuffledSubarray(codes, { minLength: 2, maxLength: 2 }),
          })
          .map(({ verb, minor, codes: [one, other] }) => terms(`${verb} ${minor / 100} ${one} for ${other}`));
        const outcomes = { settled: 0, refused: 0 };
        await fc.assert(
          fc.asyncProperty(anyTerms, async (asked) => {
            const quote = await service.quote(asked).catch((error: FxError) => error);
            const order = await service.exchange({ pesel, ...asked }).catch((error: FxError) => error);
            if (order instanceof FxError || quote instanceof FxError) {
              assert.deepEqual([quote, order].map(toldBy), [toldBy(quote), toldBy(quote)]);
              outcomes.refused += 1;
            } else {
              const { source, ...priced } = quote;
              const receipt = await service.receipt(order.receiptId);
              assert.deepEqual([priced, source], [receipt.exchange, "fixed"]);
              outcomes.settled += 1;
            }
          }),
          { numRuns: 60 },
        );
        assert.ok(outcomes.settled > 30 && outcomes.refused > 0, JSON.stringify(outcomes));
      });
    });

    describe("the proof of a receipt", () => {
      test("The proof of a receipt leads from its entry to the head that a checkpoint has", async () => {
        const pesel = await person();
        const { receiptId } = await service.exchange({ pesel, ...terms("sell 10 PLN for USD") });
        const exchanged = await service.proof(receiptId);
        // More than one page of the account's chain.
        const lines = Array.from({ length: 600 }, () => cash("deposit", pesel, "1 PLN") as BulkLine);
        await answersTo(service, lines);
        const proof = await service.proof(receiptId.slice(0, 30));
        assert.deepEqual([exchanged.head.entries, proof.head.entries, proof.after.length], [2, 602, 600]);
        assert.equal(JSON.parse(proof.entry).id, receiptId);
        const heads: AccountHead[] = [];
        await service.audit({ onHeads: async (some) => void heads.push(...some) });
        const seen = heads.find(({ customer }) => customer === proof.head.customer);
        assert.deepEqual(provenBy(proof, seen, sha256), proof);
        assert.deepEqual(provenBy(proof, exchanged.head, sha256), exchanged);
        const { items } = await service.statement(pesel, { limit: 200 });
        const newest = await service.proof(items[0]?.id ?? "");
        assert.deepEqual([newest.after, newest.head], [[], proof.head]);
      });
    });

    test("A receipt is refused by a beginning of its id that several have, of which two are named", async () => {
      const { receiptId } = await service.exchange({ pesel: await person(), ...terms("buy 1 USD for PLN") });
      const several =
        /^More than one receipt begins like this, such as \S{36} and \S{36}\. Give more of the id\.$/;
      await refuses(service.receipt(receiptId.slice(0, 8)), "invalid-request", several);
    });

    describeBooks(() => service, person);
    describeBulks(() => service, person);
    const toldBy = (answer: unknown) =>
      answer instanceof FxError ? [answer.code, answer.message] : "no refusal";
  });
}
