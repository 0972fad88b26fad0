import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { FxError } from "../src/core/errors.ts";
import { provenBy } from "../src/core/proof.ts";
import type { AccountHead, BulkLine, ExchangeService } from "../src/core/service.ts";
import { sha256 } from "../src/ledger/rows.ts";
import { describeBooks } from "./service-books.contract.ts";
import { describeBulks } from "./service-bulk.contract.ts";
import { cash, describeChanges } from "./service-changes.contract.ts";
import { describePast } from "./service-past.contract.ts";
import { describeTokens } from "./service-tokens.contract.ts";
import { adult, type fixedRates, opening, table, terms } from "./support/fixture.ts";
import { answersTo, plain, refuses, texts } from "./support/service.ts";

export interface Subject {
  readonly service: ExchangeService;
  readonly rates: ReturnType<typeof fixedRates>;
  readonly clock: { now: Date };
  /** The service as a caller with the token of this name sees it, or without a token. */
  as(by: string | undefined): ExchangeService;
  close(): Promise<void>;
}

/** The contract of every ExchangeService, local or remote: the same outcomes, codes and messages. */
export function describeExchangeService(name: string, open: () => Promise<Subject>): void {
  describe(name, () => {
    let subject: Subject;
    let service: ExchangeService;
    let people = 0;

    before(async () => {
      subject = await open();
      service = subject.service;
    });
    after(() => subject.close());

    /** Opens a new account with this much PLN. */
    async function person(pln = "1000") {
      people += 1;
      await service.createAccount(opening({ index: people, pln }));
      return adult(people);
    }

    describe("opening an account", () => {
      test("an account is opened with one balance in PLN", async () => {
        const pesel = await person("12.30");
        const { name, surname, balances, ...rest } = await service.account(pesel);
        assert.deepEqual([name, surname, texts(balances)], ["Jan", "Kowalski", ["12.30 PLN"]]);
        assert.equal(rest.pesel, pesel);
      });

      test("an unknown account is told as such", async () => {
        await refuses(
          service.account(adult(9999)),
          "account-not-found",
          "There is no account for this PESEL.",
        );
      });
    });

    describe("exchanging", () => {
      test("the account after the exchange is the account that is read", async () => {
        const pesel = await person();
        const { account } = await service.exchange({ pesel, ...terms("sell 100 PLN for CHF") });
        assert.deepEqual(plain(await service.account(pesel)), plain(account));
      });

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

    describe("without usable rates", () => {
      before(() => subject.rates.use(undefined));
      after(() => subject.rates.use(table));

      test("Without usable rates, orders, quotes and rates say so, and when to try again", async () => {
        const pesel = await person();
        const order = terms("sell 1 PLN for USD");
        const asked = [
          () => service.exchange({ pesel, ...order }),
          () => service.quote(order),
          () => service.rates(),
          () => service.rateHistory(order.to, 9),
          () => service.rateTables(9),
        ];
        for (const ask of asked) {
          const error = await refuses(ask(), "rates-unavailable", "There is no rate table yet.");
          assert.equal(error.retryAfterSeconds, 7);
        }
      });
    });

    describe("with a table that is not traded at", () => {
      const reason = "The newest rate table is too old.";
      before(() => subject.rates.halt(reason));
      after(() => subject.rates.halt(undefined));

      test("A table that is not traded at is shown with its history and the reason", async () => {
        const { table: shown, recorded, notTraded } = await service.rates();
        assert.deepEqual(
          [shown.number, recorded, notTraded],
          [table.number, true, { code: "too-old", reason }],
        );
        assert.equal(
          (await service.rateHistory(terms("sell 1 USD for PLN").from, 9)).at(-1)?.number,
          table.number,
        );
      });

      test("Orders and quotes at a table that is not traded at are refused, with the reason", async () => {
        const order = terms("sell 1 PLN for USD");
        await refuses(service.exchange({ pesel: await person(), ...order }), "rates-unavailable", reason);
        await refuses(service.quote(order), "rates-unavailable", reason);
      });
    });

    describe("while trading is suspended", () => {
      const reason = "The bank corrects its table";
      after(() => service.changeTrading({ reason: undefined, by: undefined }));

      test("Orders are refused with the reason and leave their keys free, and the rates and quotes go on", async () => {
        const pesel = await person();
        const order = { pesel, ...terms("sell 1 PLN for USD"), key: "suspended" };
        const { suspension, notTraded } = await service.changeTrading({
          reason,
          by: undefined,
        });
        assert.deepEqual([suspension?.reason, notTraded?.code], [reason, "suspended"]);
        assert.deepEqual((await service.rates()).suspension, suspension);
        await refuses(service.exchange(order), "trading-suspended", notTraded?.reason);
        await service.quote(terms("sell 1 PLN for USD"));
        const resumed = await service.changeTrading({ reason: undefined, by: undefined });
        assert.equal(resumed.suspension, undefined);
        assert.equal((await service.exchange(order)).replayed, false);
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

      test("The proof of an unknown receipt is refused", async () => {
        await refuses(service.proof("019e9a70-3c5e-7000-8000-5d1f0c2b7a11"), "not-found");
      });
    });

    describe("an idempotency key", () => {
      test("A key makes an opening that is sent again have no second effect", async () => {
        const first = opening({ index: 8000, key: "open-1" });
        const { receiptId, replayed } = await service.createAccount(first);
        assert.equal(replayed, false);
        assert.deepEqual(await service.createAccount(first), { receiptId, replayed: true });
        await refuses(service.createAccount({ ...first, key: undefined }), "account-exists");
        await refuses(service.createAccount({ ...first, key: "open-2" }), "account-exists");
        await refuses(service.createAccount({ ...first, name: "Ewa" }), "idempotency-key-reused");
        const order = { pesel: adult(8000), ...terms("sell 1 PLN for USD"), key: "open-1" };
        await refuses(service.exchange(order), "idempotency-key-reused");
      });

      test("A key of an opening is the same however the marks of a name are written", async () => {
        const asked = (name: string) => service.createAccount(opening({ index: 8001, key: "open-1", name }));
        await asked("Zo\u0301sia");
        assert.equal((await asked("Z\u00f3sia")).replayed, true);
        assert.equal((await service.account(adult(8001))).name, "Z\u00f3sia");
      });

      test("A key makes an order that is sent again have no second effect, and the first answer, also when the money and the rates are gone", async () => {
        const pesel = await person();
        const order = { pesel, ...terms("sell 10 PLN for USD"), key: "k" };
        const first = await service.exchange(order);
        await service.exchange({ pesel, ...terms("sell 990 PLN for USD") });
        await subject.rates.use(undefined);
        try {
          const second = await service.exchange(order);
          assert.equal(second.replayed, true);
          assert.equal(second.receiptId, first.receiptId);
          assert.deepEqual(plain(second.account), plain(first.account));
        } finally {
          await subject.rates.use(table);
        }
        assert.deepEqual(await balances(pesel), ["0.00 PLN", "270.26 USD"]);
      });

      test("A key is refused for an order of another amount, side or currency, and takes 10 and 10.00 for the same", async () => {
        const pesel = await person();
        const order = (words: string) => service.exchange({ pesel, ...terms(words), key: 'a"\\b' });
        await order("sell 10 PLN for USD");
        for (const words of ["sell 11 PLN for USD", "buy 10 USD for PLN", "sell 10 PLN for EUR"]) {
          await refuses(
            order(words),
            "idempotency-key-reused",
            "This Idempotency-Key was used on this account for another request. Use a new key for a new request.",
          );
        }
        assert.equal((await order("sell 10.00 pln for usd")).replayed, true);
        assert.deepEqual(await balances(pesel), ["990.00 PLN", "2.70 USD"]);
      });

      test('The key "undefined" is a key like any other, and an order without a key is another order', async () => {
        const pesel = await person();
        const order = { pesel, ...terms("sell 10 PLN for USD") };
        const keys = [undefined, "undefined", undefined];
        const answers = await Promise.all(keys.map((key) => service.exchange({ ...order, key })));
        assert.ok(answers.every(({ replayed }) => !replayed));
      });

      test("A key that is sent again disturbs no order at the same time", async () => {
        const pesel = await person();
        const order = { pesel, ...terms("sell 10 PLN for USD"), key: "one" };
        const { receiptId } = await service.exchange(order);
        const keys = ["two", "one", "three"];
        const answers = await Promise.all(keys.map((key) => service.exchange({ ...order, key })));
        assert.deepEqual(
          answers.map(({ replayed }) => replayed),
          [false, true, false],
        );
        assert.equal(answers[1]?.receiptId, receiptId);
        assert.deepEqual((await service.statement(pesel, { limit: 10 })).items.length, 4);
      });

      test("A key used twice at once has one effect", async () => {
        const pesel = await person();
        const order = { pesel, ...terms("sell 10 PLN for USD"), key: "twice" };
        const [one, two] = await Promise.all([service.exchange(order), service.exchange(order)]);
        assert.deepEqual(plain(one.account), plain(two.account));
        assert.deepEqual([one.replayed, two.replayed].sort(), [false, true]);
        assert.deepEqual(await balances(pesel), ["990.00 PLN", "2.70 USD"]);
      });
    });

    describeBooks(() => subject, person);
    describeBulks(() => subject, person);
    describeChanges(() => subject, person);
    describeTokens(() => subject, person);
    describePast(() => subject);

    const toldBy = (answer: unknown) =>
      answer instanceof FxError ? [answer.code, answer.message] : "no refusal";

    async function balances(pesel: ReturnType<typeof adult>): Promise<string[]> {
      return texts((await service.account(pesel)).balances);
    }
  });
}
