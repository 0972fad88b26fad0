import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Change } from "../src/core/change.ts";
import type { CurrencyCode } from "../src/core/currency.ts";
import type { Receipt } from "../src/core/journal.ts";
import type { Pesel } from "../src/core/pesel.ts";
import type { ExchangeService } from "../src/core/service.ts";
import type { Subject } from "./service.contract.ts";
import { decimal, opening, terms } from "./support/fixture.ts";
import { refuses, texts } from "./support/service.ts";

type Cash = { readonly note?: string; readonly key?: string; readonly by?: string };

/** Of 100.5 USD, say. */
export function cash(
  kind: "deposit" | "withdrawal",
  pesel: Pesel,
  words: string,
  { note, key, by }: Cash = {},
): Change {
  const [amount = "", currency] = words.split(" ");
  return { kind, pesel, amount: decimal(amount), currency: currency as CurrencyCode, note, key, by };
}

/** The part about what changes an account and is neither an opening nor an exchange. `person` opens an account with 1000 PLN. */
export function describeChanges(subjectNow: () => Subject, person: () => Promise<Pesel>): void {
  let service: ExchangeService;
  before(() => {
    service = subjectNow().service;
  });

  const balances = async (pesel: Pesel) => texts((await service.account(pesel)).balances);
  const facts = async (id: string) => {
    const { kind, debited, credited, note } = await service.receipt(id);
    return [kind, ...texts([debited ?? [], credited ?? []].flat()), note];
  };
  const reversalOf = ({ id, pesel }: Pick<Receipt, "id" | "pesel">, key?: string): Change => {
    return { kind: "reversal", pesel, reverses: id, reason: "a slip", key };
  };

  describe("a deposit", () => {
    test("adds to the balance, and its receipt says what and why", async () => {
      const pesel = await person();
      const { account, receiptId, replayed } = await service.change(
        cash("deposit", pesel, "20.5 PLN", { note: "counter 2" }),
      );
      assert.deepEqual([texts(account.balances), replayed], [["1020.50 PLN"], false]);
      assert.deepEqual(await facts(receiptId), ["deposit", "20.50 PLN", "counter 2"]);
    });

    test("takes a currency of the table in force", async () => {
      const pesel = await person();
      await service.change(cash("deposit", pesel, "10 USD"));
      assert.deepEqual(await balances(pesel), ["1000.00 PLN", "10.00 USD"]);
    });

    for (const [words, code] of [
      ["1 XXX", "unsupported-currency"],
      ["1 ISK", "unsupported-currency"],
      ["0.001 PLN", "invalid-amount"],
      ["0 PLN", "invalid-amount"],
      ["9999999999999.99 PLN", "balance-limit"],
    ] as const) {
      test(`of ${words} is refused with ${code}`, async () => {
        const pesel = await person();
        await refuses(service.change(cash("deposit", pesel, words)), code);
        assert.deepEqual(await balances(pesel), ["1000.00 PLN"]);
      });
    }

    test("is done once for one key, and the key is not free for another amount", async () => {
      const pesel = await person();
      const deposit = cash("deposit", pesel, "5 PLN", { key: "d" });
      const first = await service.change(deposit);
      assert.deepEqual(await service.change(deposit), { ...first, replayed: true });
      await refuses(service.change(cash("deposit", pesel, "6 PLN", { key: "d" })), "idempotency-key-reused");
      assert.deepEqual(await balances(pesel), ["1005.00 PLN"]);
    });
  });

  describe("a withdrawal", () => {
    test("takes from the balance", async () => {
      const pesel = await person();
      const { receiptId } = await service.change(cash("withdrawal", pesel, "999.99 PLN"));
      assert.deepEqual(await balances(pesel), ["0.01 PLN"]);
      assert.deepEqual(await facts(receiptId), ["withdrawal", "999.99 PLN", undefined]);
    });

    test("without cover is refused, and its key keeps that answer", async () => {
      const pesel = await person();
      const withdrawal = cash("withdrawal", pesel, "1000.01 PLN", { key: "w" });
      await refuses(service.change(withdrawal), "insufficient-funds");
      await service.change(cash("deposit", pesel, "1 PLN"));
      const again = await refuses(service.change(withdrawal), "insufficient-funds");
      assert.equal(again.replayed, true);
    });
  });

  describe("a reversal", () => {
    test("of an exchange gives back what was sold and takes what was bought, and both receipts name each other", async () => {
      const pesel = await person();
      const { receiptId } = await service.exchange({ pesel, ...terms("buy 100 USD for PLN") });
      const exchange = await service.receipt(receiptId);
      const reversal = await service.change(reversalOf(exchange));
      assert.deepEqual(texts(reversal.account.balances), ["1000.00 PLN", "0.00 USD"]);
      assert.equal((await service.receipt(receiptId)).reversedBy, reversal.receiptId);
      const made = await service.receipt(reversal.receiptId);
      assert.deepEqual([made.reverses, made.note, made.exchange], [receiptId, "a slip", exchange.exchange]);
      const { items } = await service.statement(pesel, { limit: 3 });
      assert.deepEqual(
        items.map(({ kind, reversedBy }) => [kind, reversedBy]),
        [
          ["reversal", undefined],
          ["exchange", reversal.receiptId],
          ["opening", undefined],
        ],
      );
    });

    test("of a withdrawal gives the money back", async () => {
      const pesel = await person();
      const { receiptId } = await service.change(cash("withdrawal", pesel, "10 PLN"));
      await service.change(reversalOf({ id: receiptId, pesel }));
      assert.deepEqual(await balances(pesel), ["1000.00 PLN"]);
    });

    test("is made once for each entry", async () => {
      const pesel = await person();
      const { receiptId: id } = await service.change(cash("deposit", pesel, "10 PLN"));
      await service.change(reversalOf({ id, pesel }));
      await refuses(service.change(reversalOf({ id, pesel })), "already-reversed");
      assert.deepEqual(await balances(pesel), ["1000.00 PLN"]);
    });

    test("of one entry that two ask for at once is made once", async () => {
      const pesel = await person();
      const { receiptId: id } = await service.change(cash("deposit", pesel, "10 PLN"));
      const two = await Promise.allSettled([1, 2].map(() => service.change(reversalOf({ id, pesel }))));
      assert.deepEqual(two.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    });

    test("sent again under its key is answered again", async () => {
      const pesel = await person();
      const { receiptId: id } = await service.change(cash("deposit", pesel, "10 PLN"));
      const first = await service.change(reversalOf({ id, pesel }, "r"));
      assert.deepEqual(await service.change(reversalOf({ id, pesel }, "r")), { ...first, replayed: true });
    });

    test("without cover is refused", async () => {
      const pesel = await person();
      const { receiptId: id } = await service.change(cash("deposit", pesel, "10 PLN"));
      await service.change(cash("withdrawal", pesel, "1005 PLN"));
      await refuses(service.change(reversalOf({ id, pesel })), "insufficient-funds");
    });

    test("of an opening, or of a reversal, is refused", async () => {
      const pesel = await person();
      const { receiptId } = await service.change(cash("deposit", pesel, "10 PLN"));
      const reversal = await service.change(reversalOf({ id: receiptId, pesel }));
      const { items } = await service.statement(pesel, { limit: 3 });
      for (const id of [reversal.receiptId, items.at(-1)?.id ?? ""]) {
        await refuses(service.change(reversalOf({ id, pesel })), "not-reversible");
      }
    });

    test("of what is not there is refused", async () => {
      const pesel = await person();
      const id = "0190b2c4-0000-7000-8000-000000000000";
      await refuses(service.change(reversalOf({ id, pesel })), "not-found");
    });
  });

  describe("a change of name", () => {
    test("is the holder's from then on, and entries before keep theirs", async () => {
      const pesel = await person();
      const { account } = await service.change({ kind: "renaming", pesel, name: "Maria", surname: "Nowak" });
      assert.deepEqual([account.name, account.surname], ["Maria", "Nowak"]);
      assert.equal((await service.account(pesel)).surname, "Nowak");
      const { items } = await service.statement(pesel, { limit: 2 });
      assert.deepEqual(
        items.map(({ holder }) => holder?.surname),
        ["Nowak", "Kowalski"],
      );
    });
  });

  describe("a closing", () => {
    const closed = async () => {
      const pesel = await person();
      await service.change(cash("withdrawal", pesel, "1000 PLN"));
      await service.change({ kind: "closing", pesel });
      return pesel;
    };

    test("of an account that holds money is refused", async () => {
      await refuses(service.change({ kind: "closing", pesel: await person() }), "account-not-empty");
    });

    test("leaves the account readable", async () => {
      const { closed: isClosed, balances } = await service.account(await closed());
      assert.deepEqual([isClosed, texts(balances)], [true, ["0.00 PLN"]]);
    });

    test("ends every change of the account", async () => {
      const pesel = await closed();
      await refuses(service.change(cash("deposit", pesel, "1 PLN")), "account-closed");
      await refuses(service.change({ kind: "closing", pesel }), "account-closed");
      await refuses(service.change({ kind: "renaming", pesel, name: "A", surname: "B" }), "account-closed");
      await refuses(service.exchange({ pesel, ...terms("buy 1 USD for PLN") }), "account-closed");
    });

    test("is undone by opening the account again, with its history kept", async () => {
      const pesel = await closed();
      const { name, surname, initial } = opening({ pln: "7" });
      await service.createAccount({ pesel, name, surname, initial });
      assert.deepEqual([(await service.account(pesel)).closed, await balances(pesel)], [false, ["7.00 PLN"]]);
      const { items } = await service.statement(pesel, { limit: 9 });
      assert.deepEqual(
        items.map(({ kind, sequence }) => [kind, sequence]),
        [
          ["opening", 4],
          ["closing", 3],
          ["withdrawal", 2],
          ["opening", 1],
        ],
      );
    });
  });
}
