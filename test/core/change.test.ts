import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Account } from "../../src/core/account.ts";
import {
  type Circumstances,
  parseCash,
  parseReason,
  planChange,
  type Request,
} from "../../src/core/change.ts";
import type { CurrencyCode } from "../../src/core/currency.ts";
import { FxError } from "../../src/core/errors.ts";
import { parseTerms } from "../../src/core/exchange.ts";
import type { Entry } from "../../src/core/journal.ts";
import type { Money } from "../../src/core/money.ts";
import type { RateTable } from "../../src/core/rates.ts";
import { nextEntry } from "../support/entries.ts";
import { adult, decimal, opening, table } from "../support/fixture.ts";
import { valueAtBid } from "../support/fractions.ts";
import { tableOf } from "../support/rates.ts";

const other = tableOf("109/C/NBP/2026", "2026-06-09", { USD: [3.1, 3.2], EUR: [4.9, 5.1] });
const pesel = adult();
const codes = ["PLN", "USD", "EUR", "JPY", "HUF"] as CurrencyCode[];
const currency = fc.constantFrom(...codes);
const amount = fc
  .tuple(fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: 0, max: 2 }))
  .map(([coefficient, scale]) => ({ coefficient: BigInt(coefficient), scale }));
const exchange = fc
  .tuple(currency, currency, amount, fc.boolean())
  .filter(([from, to]) => from !== to)
  .map(([from, to, much, buys]): Request => {
    const terms = parseTerms({ from, to, ...(buys ? { toBuy: much } : { toSell: much }) });
    return { kind: "exchange", pesel, ...terms };
  });
const cash = fc
  .tuple(fc.constantFrom("deposit" as const, "withdrawal" as const), currency, amount)
  .map(([kind, code, much]): Request => ({ kind, pesel, currency: code, amount: much, note: undefined }));
/** The number of an existing entry. */
const reversal = fc.nat({ max: 40 });

/** An account with all that was done to it. */
class Book {
  account: Account;
  readonly entries: Entry[] = [];
  readonly reversedBy = new Map<string, string>();

  constructor(initial: string) {
    this.account = planChange(
      undefined,
      { kind: "opening", ...opening({ pln: initial }) },
      this.at(table),
    ).account;
  }

  at(inForce: RateTable | undefined): Circumstances {
    return {
      table: () => {
        if (inForce === undefined) throw new FxError("rates-unavailable", "There is no table.");
        return inForce;
      },
      requireTrading: () => {},
      requireQuoted: () => {},
      entry: (id) => {
        const entry = this.entries.find((one) => one.id === id);
        return entry && { entry, reversedBy: this.reversedBy.get(id) };
      },
    };
  }

  /** The entry that the request makes; undefined if it is refused. */
  do(request: Request, inForce: RateTable | undefined): Entry | undefined {
    try {
      const { account, ...facts } = planChange(this.account, request, this.at(inForce));
      const head = { ...this.account, sequence: this.entries.length, hash: "", time: new Date(0) };
      const entry = nextEntry(head, request.kind, { ...facts, balances: account.balances });
      this.account = account;
      this.entries.push(entry);
      if (entry.reverses !== undefined) this.reversedBy.set(entry.reverses, entry.id);
      return entry;
    } catch (error) {
      assert.ok(error instanceof FxError);
      return undefined;
    }
  }

  reverse({ id }: Entry, inForce: RateTable | undefined): Entry | undefined {
    return this.do({ kind: "reversal", pesel, reverses: id, reason: "a slip" }, inForce);
  }
}

const worth = (balances: readonly Money[]) =>
  balances.reduce((sum, money) => sum + valueAtBid(money, table), 0n);
const held = ({ balances }: Account) => balances.filter(({ minor }) => minor > 0n);

test("At one rate table, no sequence of orders, deposits, withdrawals and reversals makes money", () => {
  let [reversals, withdrawals] = [0, 0];
  fc.assert(
    fc.property(
      fc.array(fc.oneof(exchange, exchange, cash, reversal), { minLength: 10, maxLength: 40 }),
      (steps) => {
        const book = new Book("100000");
        let paidIn = worth(book.account.balances);
        for (const step of steps) {
          const asked =
            typeof step === "number" ? book.entries[step % (book.entries.length || 1)] : undefined;
          const entry = typeof step !== "number" ? book.do(step, table) : asked && book.reverse(asked, table);
          if (entry === undefined) continue;
          if (entry.exchange === undefined) {
            paidIn +=
              worth(entry.credited ? [entry.credited] : []) - worth(entry.debited ? [entry.debited] : []);
          }
          if (entry.kind === "reversal") reversals += 1;
          if (entry.kind === "withdrawal") withdrawals += 1;
          assert.ok(worth(book.account.balances) <= paidIn, "worth more than was paid in");
          assert.ok(book.account.balances.every(({ minor }) => minor >= 0n));
        }
      },
    ),
    { numRuns: 1000 },
  );
  assert.ok(reversals > 200 && withdrawals > 200, `${reversals} reversals, ${withdrawals} withdrawals`);
});

test("An exchange and its reversal leave every balance as it was, whatever table is in force by then, or none", () => {
  let count = 0;
  fc.assert(
    fc.property(
      fc.array(fc.oneof(exchange, cash), { maxLength: 10 }),
      exchange,
      fc.constantFrom(table, other, undefined),
      (before, order, inForce) => {
        const book = new Book("100000");
        for (const request of before) book.do(request, table);
        const balances = held(book.account);
        const exchanged = book.do(order, table);
        if (exchanged === undefined) return;
        assert.ok(book.reverse(exchanged, inForce) !== undefined, "not reversed");
        assert.deepEqual(held(book.account), balances);
        assert.equal(book.reverse(exchanged, inForce), undefined, "reversed twice");
        count += 1;
      },
    ),
    { numRuns: 1000 },
  );
  assert.ok(count > 200, `${count} reversed`);
});

test("A reversal undoes an entry of its own account only", () => {
  const book = new Book("1000");
  const deposit = book.do(
    { kind: "deposit", pesel, amount: decimal("5"), currency: codes[0] as CurrencyCode, note: undefined },
    table,
  );
  const stranger = { ...book.account, pesel: adult(1) };
  const request = {
    kind: "reversal",
    pesel: adult(1),
    reverses: String(deposit?.id),
    reason: "a slip",
  } as const;
  assert.throws(() => planChange(stranger, request, book.at(table)), { code: "not-found" });
});

test("A note and a reason have 1 to 200 characters, in code points, and no invisible ones", () => {
  const longest = "😀".repeat(200);
  const cash = { kind: "deposit", pesel, currency: "PLN", amount: decimal("1") } as const;
  const noted = (note: string) => parseCash({ ...cash, note }, "2026-06-08").note;
  for (const [read, pointer] of [
    [noted, "/note"],
    [parseReason, "/reason"],
  ] as const) {
    assert.equal(read(` ${longest} `), longest);
    for (const text of [`${longest}a`, "", "  ", "a\nb", "a\u0000", "a\u202eb", "\ud800"]) {
      assert.throws(
        () => read(text),
        (error: FxError) => error.code === "invalid-request" && error.fields?.[0]?.pointer === pointer,
      );
    }
  }
});
