import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Change } from "../src/core/change.ts";
import type { CurrencyCode } from "../src/core/currency.ts";
import type { Receipt } from "../src/core/journal.ts";
import type { Pesel } from "../src/core/pesel.ts";
import type { ExchangeService } from "../src/core/service.ts";
import type { Subject } from "./service.contract.ts";
import { decimal, opening, table, terms } from "./support/fixture.ts";
import { refuses, texts } from "./support/service.ts";

type Cash = { readonly note?: string; readonly key?: string; readonly by?: string };

/** A deposit or a withdrawal of money given as text, such as "100.5 USD". */
export function cash(
  kind: "deposit" | "withdrawal",
  pesel: Pesel,
  words: string,
  { note, key, by }: Cash = {},
): Change {
  const [amount = "", currency] = words.split(" ");
  return { kind, pesel, amount: decimal(amount), currency: currency as CurrencyCode, note, key, by };
}

/** Deposits, withdrawals, reversals, changes of name, closings and blocks. `person` opens an account with 1000 PLN. */
export function describeChanges(subjectNow: () => Subject, person: () => Promise<Pesel>): void {
  let service: ExchangeService;
  let rates: Subject["rates"];
  before(() => {
    service = subjectNow().service;
    rates = subjectNow().rates;
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
    test("A deposit adds to the balance, and its receipt says what and why", async () => {
      const pesel = await person();
      const { account, receiptId, replayed } = await service.change(
        cash("deposit", pesel, "20.5 PLN", { note: "counter 2" }),
      );
      assert.deepEqual([texts(account.balances), replayed], [["1020.50 PLN"], false]);
      assert.deepEqual(await facts(receiptId), ["deposit", "20.50 PLN", "counter 2"]);
    });

    test("A deposit takes a currency of the table in force", async () => {
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
      test(`A deposit of ${words} is refused with ${code}`, async () => {
        const pesel = await person();
        await refuses(service.change(cash("deposit", pesel, words)), code);
        assert.deepEqual(await balances(pesel), ["1000.00 PLN"]);
      });
    }

    test("A deposit in PLN and a withdrawal need no rates; a deposit in another currency does", async () => {
      const pesel = await person();
      await service.change(cash("deposit", pesel, "10 USD"));
      await rates.use(undefined);
      try {
        await service.change(cash("deposit", pesel, "1 PLN"));
        await service.change(cash("withdrawal", pesel, "5 USD"));
        await refuses(service.change(cash("deposit", pesel, "1 USD")), "rates-unavailable");
      } finally {
        await rates.use(table);
      }
      assert.deepEqual(await balances(pesel), ["1001.00 PLN", "5.00 USD"]);
    });

    test("A deposit sent again with its key is done once, and the key is refused for another amount", async () => {
      const pesel = await person();
      const deposit = cash("deposit", pesel, "5 PLN", { key: "d" });
      const first = await service.change(deposit);
      assert.deepEqual(await service.change(deposit), { ...first, replayed: true });
      await refuses(service.change(cash("deposit", pesel, "6 PLN", { key: "d" })), "idempotency-key-reused");
      assert.deepEqual(await balances(pesel), ["1005.00 PLN"]);
    });
  });

  describe("a withdrawal", () => {
    test("A withdrawal takes from the balance", async () => {
      const pesel = await person();
      const { receiptId } = await service.change(cash("withdrawal", pesel, "999.99 PLN"));
      assert.deepEqual(await balances(pesel), ["0.01 PLN"]);
      assert.deepEqual(await facts(receiptId), ["withdrawal", "999.99 PLN", undefined]);
    });

    test("A withdrawal without cover is refused, and its key keeps that answer", async () => {
      const pesel = await person();
      const withdrawal = cash("withdrawal", pesel, "1000.01 PLN", { key: "w" });
      await refuses(service.change(withdrawal), "insufficient-funds");
      await service.change(cash("deposit", pesel, "1 PLN"));
      const again = await refuses(service.change(withdrawal), "insufficient-funds");
      assert.equal(again.replayed, true);
    });
  });

  describe("a reversal", () => {
    test("A reversal of an exchange gives back what was sold and takes what was bought, and both receipts name each other", async () => {
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

    test("A reversal of a withdrawal gives the money back", async () => {
      const pesel = await person();
      const { receiptId } = await service.change(cash("withdrawal", pesel, "10 PLN"));
      await service.change(reversalOf({ id: receiptId, pesel }));
      assert.deepEqual(await balances(pesel), ["1000.00 PLN"]);
    });

    test("A second reversal of an entry is refused", async () => {
      const pesel = await person();
      const { receiptId: id } = await service.change(cash("deposit", pesel, "10 PLN"));
      await service.change(reversalOf({ id, pesel }));
      await refuses(service.change(reversalOf({ id, pesel })), "already-reversed");
      assert.deepEqual(await balances(pesel), ["1000.00 PLN"]);
    });

    test("A reversal that two ask for at once is made once", async () => {
      const pesel = await person();
      const { receiptId: id } = await service.change(cash("deposit", pesel, "10 PLN"));
      const two = await Promise.allSettled([1, 2].map(() => service.change(reversalOf({ id, pesel }))));
      assert.deepEqual(two.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    });

    test("A reversal sent again with its key gets the first answer", async () => {
      const pesel = await person();
      const { receiptId: id } = await service.change(cash("deposit", pesel, "10 PLN"));
      const first = await service.change(reversalOf({ id, pesel }, "r"));
      assert.deepEqual(await service.change(reversalOf({ id, pesel }, "r")), { ...first, replayed: true });
    });

    test("A reversal without cover is refused", async () => {
      const pesel = await person();
      const { receiptId: id } = await service.change(cash("deposit", pesel, "10 PLN"));
      await service.change(cash("withdrawal", pesel, "1005 PLN"));
      await refuses(service.change(reversalOf({ id, pesel })), "insufficient-funds");
    });

    test("A reversal of an opening, a reversal or a change of name is refused, and leaves its key free", async () => {
      const pesel = await person();
      const { receiptId } = await service.change(cash("deposit", pesel, "10 PLN"));
      await service.change(reversalOf({ id: receiptId, pesel }));
      await service.change({ kind: "renaming", pesel, name: "Maria", surname: "Nowak" });
      const { items } = await service.statement(pesel, { limit: 4 });
      const others = items.filter(({ kind }) => kind !== "deposit");
      assert.equal(others.length, 3);
      for (const { id } of others) {
        for (const _ of [1, 2]) {
          const { replayed } = await refuses(
            service.change(reversalOf({ id, pesel }, "k")),
            "not-reversible",
          );
          assert.equal(replayed, false);
        }
      }
    });

    test("A reversal of an entry that does not exist is refused", async () => {
      const pesel = await person();
      const id = "0190b2c4-0000-7000-8000-000000000000";
      await refuses(service.change(reversalOf({ id, pesel })), "not-found");
    });
  });

  test("The key of each kind of change is refused for another request", async () => {
    const pesel = await person();
    const { receiptId: id } = await service.change(cash("deposit", pesel, "10 PLN"));
    const name = { kind: "renaming", pesel, name: "Maria", surname: "Nowak" } as const;
    const requests: readonly [done: Change, other: Change][] = [
      [cash("deposit", pesel, "1 PLN"), cash("withdrawal", pesel, "1 PLN")],
      [cash("withdrawal", pesel, "1 PLN"), cash("withdrawal", pesel, "2 PLN")],
      [reversalOf({ id, pesel }), { ...reversalOf({ id, pesel }), reason: "a slip!" } as Change],
      [name, { ...name, name: "Ewa" }],
      [cash("withdrawal", pesel, "1000 PLN"), name],
      [
        { kind: "block", pesel, reason: "freeze" },
        { kind: "block", pesel, reason: "hold" },
      ],
      [
        { kind: "unblock", pesel, reason: "lifted" },
        { kind: "block", pesel, reason: "lifted" },
      ],
      [{ kind: "closing", pesel }, cash("deposit", pesel, "1 PLN")],
    ];
    for (const [index, [done, other]] of requests.entries()) {
      const key = `k-${index}`;
      await service.change({ ...done, key });
      await refuses(service.change({ ...other, key }), "idempotency-key-reused");
    }
  });

  describe("a change of name", () => {
    test("A change of name counts from then on, and earlier entries keep theirs", async () => {
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

  describe("a block", () => {
    const block = (pesel: Pesel, key?: string): Change => ({ kind: "block", pesel, reason: "freeze", key });
    const unblock = (pesel: Pesel): Change => ({ kind: "unblock", pesel, reason: "lifted" });

    test("A blocked account gives nothing and exchanges nothing, until it is unblocked", async () => {
      const pesel = await person();
      const { receiptId: deposit } = await service.change(cash("deposit", pesel, "5 PLN"));
      const order = terms("buy 1 USD for PLN");
      const { receiptId: exchange } = await service.exchange({ pesel, ...order });
      const { account } = await service.change(block(pesel));
      assert.equal(account.blocked, true);
      const before = await balances(pesel);
      await refuses(service.exchange({ pesel, ...order }), "account-blocked");
      await refuses(service.change(cash("withdrawal", pesel, "1 PLN")), "account-blocked");
      await refuses(service.change(reversalOf({ id: deposit, pesel })), "account-blocked");
      await refuses(service.change(reversalOf({ id: exchange, pesel })), "account-blocked");
      await refuses(service.change({ kind: "closing", pesel }), "account-blocked");
      assert.deepEqual([(await service.account(pesel)).blocked, await balances(pesel)], [true, before]);
      assert.equal((await service.change(unblock(pesel))).account.blocked, false);
      await service.exchange({ pesel, ...order });
      await service.change(reversalOf({ id: deposit, pesel }));
    });

    test("A blocked account takes deposits, a new name and reversals that give money back, and stays blocked", async () => {
      const pesel = await person();
      const { receiptId: id } = await service.change(cash("withdrawal", pesel, "10 PLN"));
      await service.change(block(pesel));
      await service.change(cash("deposit", pesel, "5 PLN"));
      await service.change({ kind: "renaming", pesel, name: "Maria", surname: "Nowak" });
      const { account } = await service.change(reversalOf({ id, pesel }));
      assert.deepEqual(
        [account.blocked, account.name, texts(account.balances)],
        [true, "Maria", ["1005.00 PLN"]],
      );
      const read = await service.account(pesel);
      assert.deepEqual([read.blocked, read.surname, texts(read.balances)], [true, "Nowak", ["1005.00 PLN"]]);
      const { items } = await service.accounts({ limit: 200 });
      assert.equal(items.find((listed) => listed.pesel === pesel)?.blocked, true);
    });

    test("A block is refused before the rates, the currency, the amount and the funds", async () => {
      const pesel = await person();
      await service.change(block(pesel));
      await rates.use(undefined);
      try {
        await refuses(service.exchange({ pesel, ...terms("buy 1 USD for PLN") }), "account-blocked");
      } finally {
        await rates.use(table);
      }
      await refuses(service.change(cash("withdrawal", pesel, "0 XXX")), "account-blocked");
      await refuses(service.change(cash("withdrawal", pesel, "9999 PLN")), "account-blocked");
      await refuses(service.change({ kind: "closing", pesel }), "account-blocked");
    });

    test("A block keeps its reason, and a second one is refused, as is an unblock without a block", async () => {
      const pesel = await person();
      await refuses(service.change(unblock(pesel)), "account-not-blocked");
      const { receiptId } = await service.change(block(pesel));
      assert.deepEqual(await facts(receiptId), ["block", "freeze"]);
      await refuses(service.change(block(pesel)), "account-blocked");
      const lifted = await service.change(unblock(pesel));
      assert.deepEqual(await facts(lifted.receiptId), ["unblock", "lifted"]);
      await refuses(service.change(unblock(pesel)), "account-not-blocked");
    });

    test("A block and an unblock cannot be reversed", async () => {
      const pesel = await person();
      const { receiptId } = await service.change(block(pesel));
      await refuses(service.change(reversalOf({ id: receiptId, pesel })), "not-reversible");
    });

    test("A block sent again with its key is done once, although the account was unblocked since", async () => {
      const pesel = await person();
      const first = await service.change(block(pesel, "b"));
      await service.change(unblock(pesel));
      assert.deepEqual(await service.change(block(pesel, "b")), { ...first, replayed: true });
      assert.equal((await service.account(pesel)).blocked, false);
    });
  });

  describe("a closing", () => {
    const closed = async () => {
      const pesel = await person();
      await service.change(cash("withdrawal", pesel, "1000 PLN"));
      await service.change({ kind: "closing", pesel });
      return pesel;
    };

    test("A closing of an account that holds money is refused", async () => {
      await refuses(service.change({ kind: "closing", pesel: await person() }), "account-not-empty");
    });

    test("A closed account can be read", async () => {
      const { closed: isClosed, balances } = await service.account(await closed());
      assert.deepEqual([isClosed, texts(balances)], [true, ["0.00 PLN"]]);
    });

    test("A closed account refuses every change", async () => {
      const pesel = await closed();
      const { items } = await service.statement(pesel, { limit: 9 });
      const id = items.find(({ kind }) => kind === "withdrawal")?.id ?? "";
      await refuses(service.change(reversalOf({ id, pesel })), "account-closed");
      await refuses(service.change(cash("deposit", pesel, "1 PLN")), "account-closed");
      await refuses(service.change(cash("withdrawal", pesel, "1 PLN")), "account-closed");
      await refuses(service.change({ kind: "closing", pesel }), "account-closed");
      await refuses(service.change({ kind: "renaming", pesel, name: "A", surname: "B" }), "account-closed");
      await refuses(service.change({ kind: "block", pesel, reason: "freeze" }), "account-closed");
      await refuses(service.change({ kind: "unblock", pesel, reason: "lifted" }), "account-closed");
      await refuses(service.exchange({ pesel, ...terms("buy 1 USD for PLN") }), "account-closed");
    });

    test("A closed account can be opened again, with its history kept", async () => {
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
