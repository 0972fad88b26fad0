import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { Change } from "../src/core/change.ts";
import type { CurrencyCode } from "../src/core/currency.ts";
import type { Receipt } from "../src/core/journal.ts";
import type { Pesel } from "../src/core/pesel.ts";
import type { ExchangeService } from "../src/core/service.ts";
import type { Subject } from "./service.contract.ts";
import { decimal, terms } from "./support/fixture.ts";
import { plain, refuses, texts } from "./support/service.ts";

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

/**
 * Deposits, withdrawals, reversals, changes of name, closings and blocks. `person` opens an account with 1000 PLN. Their
 * rules are in test/core/change.test.ts, and their answers in test/http/requests.txt.
 */
export function describeChanges(subjectNow: () => Subject, person: () => Promise<Pesel>): void {
  let service: ExchangeService;
  before(() => {
    service = subjectNow().service;
  });

  const reversalOf = ({ id, pesel }: Pick<Receipt, "id" | "pesel">): Change => {
    return { kind: "reversal", pesel, reverses: id, reason: "a slip" };
  };

  test("A change of each kind answers the account after it, and its receipt says what was done and why", async () => {
    const pesel = await person();
    const { receiptId: bought } = await service.exchange({ pesel, ...terms("buy 100 USD for PLN") });
    const { exchange } = await service.receipt(bought);
    const steps: readonly [Change, balances: string[], facts: unknown[]][] = [
      [
        cash("deposit", pesel, "20.5 PLN", { note: "counter 2" }),
        ["650.50 PLN", "100.00 USD"],
        ["20.50 PLN"],
      ],
      [cash("withdrawal", pesel, "0.5 PLN"), ["650.00 PLN", "100.00 USD"], ["0.50 PLN"]],
      [reversalOf({ id: bought, pesel }), ["1020.00 PLN", "0.00 USD"], ["100.00 USD", "370.00 PLN"]],
      [{ kind: "renaming", pesel, name: "Maria", surname: "Nowak" }, ["1020.00 PLN", "0.00 USD"], []],
      [cash("withdrawal", pesel, "1020 PLN"), ["0.00 PLN", "0.00 USD"], ["1020.00 PLN"]],
      [{ kind: "block", pesel, reason: "freeze" }, ["0.00 PLN", "0.00 USD"], []],
      [{ kind: "unblock", pesel, reason: "lifted" }, ["0.00 PLN", "0.00 USD"], []],
      [{ kind: "closing", pesel }, ["0.00 PLN", "0.00 USD"], []],
    ];
    for (const [change, held, moved] of steps) {
      const { account, receiptId, replayed } = await service.change(change);
      const isAt = [change.kind === "block", change.kind === "closing"];
      assert.deepEqual([account.blocked, account.closed, replayed], [...isAt, false], change.kind);
      assert.deepEqual(texts(account.balances), held);
      assert.deepEqual(plain(await service.account(pesel)), plain(account));
      const { kind, debited, credited, note, ...receipt } = await service.receipt(receiptId);
      const why = "reason" in change ? change.reason : "note" in change ? change.note : undefined;
      assert.deepEqual(
        [kind, note, texts([debited ?? [], credited ?? []].flat())],
        [change.kind, why, moved],
      );
      if (kind !== "reversal") continue;
      assert.deepEqual([receipt.reverses, receipt.exchange], [bought, exchange]);
      assert.equal((await service.receipt(bought)).reversedBy, receiptId);
    }
    const { items } = await service.statement(pesel, { limit: 10 });
    assert.deepEqual(
      items.map(({ holder }) => holder?.surname),
      [...Array(5).fill("Nowak"), ...Array(5).fill("Kowalski")],
    );
  });

  test("A reversal that two ask for at once is made once", async () => {
    const pesel = await person();
    const { receiptId: id } = await service.change(cash("deposit", pesel, "10 PLN"));
    const two = await Promise.allSettled([1, 2].map(() => service.change(reversalOf({ id, pesel }))));
    assert.deepEqual(two.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  });

  test("A change of each kind that is sent again with its key is done once, and the key is refused for another request", async () => {
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
      const first = await service.change({ ...done, key });
      assert.deepEqual(await service.change({ ...done, key }), { ...first, replayed: true });
      await refuses(service.change({ ...other, key }), "idempotency-key-reused");
    }
  });
}
