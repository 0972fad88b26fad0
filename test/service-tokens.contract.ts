import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Change } from "../src/core/change.ts";
import type { Pesel } from "../src/core/pesel.ts";
import type { BulkLine, ExchangeService } from "../src/core/service.ts";
import type { Subject } from "./service.contract.ts";
import { cash } from "./service-changes.contract.ts";
import { adult, opening, terms } from "./support/fixture.ts";
import { answersTo, codesOf, refuses } from "./support/service.ts";

/** The part about whose token a request has. `person` opens a new account with 1000 PLN. */
export function describeTokens(subjectNow: () => Subject, person: () => Promise<Pesel>): void {
  let service: ExchangeService;
  let as: Subject["as"];
  before(() => {
    service = subjectNow().service;
    as = subjectNow().as;
  });

  const order = (pesel: Pesel, words = "sell 100 PLN for USD", key = "k") => ({
    pesel,
    ...terms(words),
    key,
  });
  const entries = async (pesel: Pesel) => (await service.statement(pesel, { limit: 100 })).items;
  const usedByAnother =
    "This Idempotency-Key was used on this account with another token. See what was done with it before you use a new key.";

  const run = (by: string | undefined, ...lines: BulkLine[]) => answersTo(as(by), lines);

  describe("the name of the token", () => {
    test("The token's name is in the receipt and in the statement of every kind of entry", async () => {
      const pesel = adult(7400);
      await as("anna").createAccount(opening({ index: 7400 }));
      await as("jan").exchange({ pesel, ...terms("sell 100 PLN for USD") });
      await as("anna").change(cash("deposit", pesel, "5 PLN"));
      const { receiptId } = await as("jan").change(cash("withdrawal", pesel, "1 PLN"));
      const changes: Change[] = [
        { kind: "reversal", pesel, reverses: receiptId, reason: "a slip" },
        { kind: "renaming", pesel, name: "Ewa", surname: "Lis" },
      ];
      for (const change of changes) await as("ewa").change(change);
      const items = await entries(pesel);
      assert.deepEqual(items.map(({ kind, by }) => [kind, by]).reverse(), [
        ["opening", "anna"],
        ["exchange", "jan"],
        ["deposit", "anna"],
        ["withdrawal", "jan"],
        ["reversal", "ewa"],
        ["renaming", "ewa"],
      ]);
      for (const { id, by } of items) assert.equal((await service.receipt(id)).by, by);
      assert.deepEqual((await service.audit()).findings, []);
    });

    test("The token's name is in the entry of a closing, and of each line of a batch", async () => {
      const index = 7401;
      const pesel = adult(index);
      const rich = await person();
      await run(
        "anna",
        { kind: "opening", ...opening({ index, pln: "0" }) },
        { kind: "exchange", ...order(rich) },
        cash("deposit", pesel, "5 PLN") as BulkLine,
        cash("withdrawal", pesel, "5 PLN") as BulkLine,
      );
      await as("jan").change({ kind: "closing", pesel });
      const named = async (pesel: Pesel) => (await entries(pesel)).map(({ kind, by }) => `${kind} ${by}`);
      assert.deepEqual(await named(pesel), [
        "closing jan",
        "withdrawal anna",
        "deposit anna",
        "opening anna",
      ]);
      assert.deepEqual(await named(rich), ["exchange anna", "opening undefined"]);
    });

    test("A till is that of the token asked for, on the day", async () => {
      const pesel = await person();
      const before = await service.till({ by: "anna" });
      await as("anna").change(cash("deposit", pesel, "5 PLN"));
      await as("jan").change(cash("deposit", pesel, "7 PLN"));
      const { date, by, entries, currencies, last, digest } = await service.till({ by: "anna" });
      assert.deepEqual([date, by, entries], [before.date, "anna", before.entries + 1]);
      const inPln = (till: typeof before) => till.currencies.find(({ currency }) => currency === "PLN");
      const cameBefore = inPln(before)?.in ?? 0n;
      assert.equal(currencies.find(({ currency }) => currency === "PLN")?.in, cameBefore + 500n);
      assert.ok(last !== undefined && digest !== before.digest);
      assert.deepEqual(await service.till({ date: "2020-01-01", by: "anna" }), {
        ...{ date: "2020-01-01", by: "anna", currencies: [], entries: 0, first: undefined, last: undefined },
        digest: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      });
    });
  });

  describe("a key that another token used", () => {
    test("A key that another token used is refused for the same request, which is neither done again nor answered", async () => {
      const pesel = await person();
      await as("anna").exchange(order(pesel));
      await refuses(as("jan").exchange(order(pesel)), "idempotency-key-reused", usedByAnother);
      await refuses(
        as("jan").exchange(order(pesel, "sell 7 PLN for USD")),
        "idempotency-key-reused",
        usedByAnother,
      );
      assert.equal((await entries(pesel)).length, 2);
    });

    test("A key that another token used at the same time is refused, and disturbs no other order", async () => {
      const pesel = await person();
      const outcomes = () => {
        const asked = { anna: ["k"], jan: ["k", "other"], ewa: ["own"] };
        const orders = Object.entries(asked).flatMap(([by, keys]) =>
          keys.map((key) => as(by).exchange(order(pesel, "sell 100 PLN for USD", key))),
        );
        return Promise.all(
          orders.map((answer) =>
            answer.then(
              ({ replayed }) => (replayed ? "replayed" : "done"),
              ({ code }) => code,
            ),
          ),
        );
      };
      const [first, second, ...others] = await outcomes();
      assert.deepEqual(
        [[first, second].sort(), others],
        [
          ["done", "idempotency-key-reused"],
          ["done", "done"],
        ],
      );
      const [one, other, ...again] = await outcomes();
      assert.deepEqual(
        [[one, other].sort(), again],
        [
          ["idempotency-key-reused", "replayed"],
          ["replayed", "replayed"],
        ],
      );
      assert.equal((await entries(pesel)).length, 4);
    });

    test("A key has its first answer for its own token, and for a caller without a token", async () => {
      const pesel = await person();
      const first = await as("anna").exchange(order(pesel));
      await as("jan").exchange(order(pesel, "sell 1 PLN for USD", "other"));
      for (const by of ["anna", undefined]) {
        const again = await as(by).exchange(order(pesel));
        assert.deepEqual([again.receiptId, again.replayed], [first.receiptId, true]);
        assert.deepEqual(again.account.balances, first.account.balances);
      }
    });

    test("A key that another token used is refused for openings, deposits, changes of name and lines of a batch, too", async () => {
      const index = 7402;
      const pesel = adult(index);
      const given = opening({ index, key: "open" });
      const changes: Change[] = [
        cash("deposit", pesel, "5 PLN", { key: "cash" }),
        { kind: "renaming", pesel, name: "Ewa", surname: "Lis", key: "name" },
      ];
      await as("anna").createAccount(given);
      for (const change of changes) await as("anna").change(change);
      await refuses(as("jan").createAccount(given), "idempotency-key-reused", usedByAnother);
      for (const change of changes) {
        await refuses(as("jan").change(change), "idempotency-key-reused", usedByAnother);
      }
      const lines: BulkLine[] = [{ kind: "opening", ...given }, changes[0] as BulkLine];
      assert.deepEqual(codesOf(await run("jan", ...lines)), Array(2).fill("idempotency-key-reused"));
      assert.ok((await run("anna", ...lines)).every((answer) => answer.replayed));
      assert.equal((await entries(pesel)).length, 3);
    });

    test("The key of a refusal is refused to another token, and the refusal stays that token's answer", async () => {
      const pesel = await person();
      const refused = order(pesel, "sell 10 USD for PLN");
      await refuses(as("anna").exchange(refused), "insufficient-funds");
      await refuses(as("jan").exchange(refused), "idempotency-key-reused", usedByAnother);
      await as("jan").exchange(order(pesel, "buy 20 USD for PLN", "other"));
      await refuses(as("jan").exchange(refused), "idempotency-key-reused", usedByAnother);
      for (const by of ["anna", undefined]) {
        const again = await refuses(as(by).exchange(refused), "insufficient-funds");
        assert.equal(again.replayed, true);
      }
      assert.equal((await entries(pesel)).length, 2);
    });
  });

  describe("a key that was used without a token", () => {
    test("A key that was used without a token has its first answer for any token", async () => {
      const pesel = await person();
      const refused = order(pesel, "sell 999 USD for PLN", "refused");
      const { receiptId } = await service.exchange(order(pesel));
      await refuses(service.exchange(refused), "insufficient-funds");
      for (const by of ["anna", "jan"]) {
        const again = await as(by).exchange(order(pesel));
        assert.deepEqual([again.receiptId, again.replayed], [receiptId, true]);
        assert.equal((await refuses(as(by).exchange(refused), "insufficient-funds")).replayed, true);
      }
    });
  });
}
