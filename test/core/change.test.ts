import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type Account, accountBeforeEntries, credit } from "../../src/core/account.ts";
import {
  type Circumstances,
  entryOf,
  type GivenChange,
  parseCash,
  parseChange,
  parseHouseCash,
  parseReason,
  planChange,
  type Request,
  requestBehind,
  requestText,
  requireReadable,
} from "../../src/core/change.ts";
import type { CurrencyCode } from "../../src/core/currency.ts";
import { FxError } from "../../src/core/errors.ts";
import { parseTerms } from "../../src/core/exchange.ts";
import { houseNumber } from "../../src/core/house.ts";
import { type Entry, type EntryKind, entryKinds } from "../../src/core/journal.ts";
import type { Money } from "../../src/core/money.ts";
import type { RateTable } from "../../src/core/rates.ts";
import { emptyAccount, money, nextEntry, openingEntry } from "../support/entries.ts";
import { adult, decimal, now, opening, table, today } from "../support/fixture.ts";
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

const usd = "USD" as CurrencyCode;
const pln = "PLN" as CurrencyCode;
const open = credit(planChange(undefined, { kind: "opening", ...opening() }, {} as Circumstances).account, {
  currency: usd,
  minor: 5000n,
});
const empty = { ...open, balances: [] };
const blocked = { ...open, blocked: true };
const ids = { pesel, key: "k", by: "till 1" };
const undone = "019e9a70-3c5e-7000-8000-5d1f0c2b7a11";

/** For each kind, a request, the account that it is about, and the text that stands for it under its key. */
const examples: Readonly<Record<EntryKind, readonly [Request, Account | undefined, string]>> = {
  opening: [{ kind: "opening", ...opening(), ...ids }, undefined, '["opening","Jan","Kowalski","1000"]'],
  exchange: [
    { kind: "exchange", from: pln, to: usd, side: "toBuy", amount: decimal("100.0"), ...ids },
    open,
    '["order","PLN","USD","toBuy","100"]',
  ],
  deposit: [
    { kind: "deposit", currency: usd, amount: decimal("12.50"), note: "Counter 2", ...ids },
    open,
    '["deposit","USD","12.5","Counter 2"]',
  ],
  withdrawal: [
    { kind: "withdrawal", currency: usd, amount: decimal("50"), note: undefined, ...ids },
    open,
    '["withdrawal","USD","50",null]',
  ],
  reversal: [
    { kind: "reversal", reverses: undone.toUpperCase(), reason: "a slip", ...ids },
    open,
    `["reversal","${undone}","a slip"]`,
  ],
  renaming: [
    { kind: "renaming", name: "Maria", surname: "Nowak", ...ids },
    open,
    '["renaming","Maria","Nowak"]',
  ],
  closing: [{ kind: "closing", ...ids }, empty, '["closing"]'],
  block: [{ kind: "block", reason: "a freeze", ...ids }, open, '["block","a freeze"]'],
  unblock: [{ kind: "unblock", reason: "it ended", ...ids }, blocked, '["unblock","it ended"]'],
};

/** Circumstances in which everything is allowed, with one entry: a deposit of 50.00 USD, unless another is given. */
function circumstances(entry: Partial<Entry> = {}, reversedBy?: string): Circumstances {
  const deposit = nextEntry(emptyAccount(pesel), "deposit", { id: undone, credited: money(5000n, "USD") });
  const found = { entry: { ...deposit, ...entry }, reversedBy };
  return {
    table: () => table,
    requireQuoted: () => {},
    entry: (id) => (id.toLowerCase() === undone ? found : undefined),
  };
}

const nowhere = circumstances();
const suspended = () => {
  throw new FxError("trading-suspended", "now");
};

/** The plan of an example, with some of it, or its account, replaced. */
function plan(kind: EntryKind, account?: Account, change: object = {}, where = nowhere) {
  const [request, own] = examples[kind];
  return planChange(account ?? own, { ...request, ...change } as Request, where);
}

describe("a request that changes an account", () => {
  const moved = {
    debited: money(37_000n),
    credited: money(10_000n, "USD"),
  };
  const facts: Readonly<Record<EntryKind, object>> = {
    opening: { credited: money(100_000n) },
    exchange: moved,
    deposit: { credited: money(1250n, "USD"), note: "Counter 2" },
    withdrawal: { debited: money(5000n, "USD"), note: undefined },
    reversal: {
      ...{ debited: money(5000n, "USD"), credited: undefined, exchange: undefined },
      ...{ reverses: undone, note: "a slip" },
    },
    renaming: {},
    closing: {},
    block: { note: "a freeze" },
    unblock: { note: "it ended" },
  };
  const holder = { pesel, name: "Jan", surname: "Kowalski" };
  const state = { closed: false, blocked: false };
  const both = (zlotys: bigint, dollars: bigint) => [money(zlotys), money(dollars, "USD")];
  const after: Readonly<Record<EntryKind, Account>> = {
    opening: { ...holder, ...state, balances: [money(100_000n)] },
    exchange: { ...holder, ...state, balances: both(63_000n, 15_000n) },
    deposit: { ...holder, ...state, balances: both(100_000n, 6250n) },
    withdrawal: { ...holder, ...state, balances: both(100_000n, 0n) },
    reversal: { ...holder, ...state, balances: both(100_000n, 0n) },
    renaming: { ...open, name: "Maria", surname: "Nowak" },
    closing: { ...empty, closed: true },
    block: { ...open, blocked: true },
    unblock: { ...open, blocked: false },
  };

  for (const kind of entryKinds) {
    const [request, , text] = examples[kind];

    test(`A request of kind ${kind} gives its entry the facts of that kind, and the account what it asks for`, () => {
      const { account, ...found } = plan(kind);
      if (kind === "exchange") assert.equal(found.exchange?.tableId, table.id);
      const { exchange: _, ...rest } = found;
      assert.deepEqual(kind === "exchange" ? rest : found, facts[kind]);
      assert.deepEqual(account, after[kind]);
    });

    test(`A request of kind ${kind} is known again from its entry, by everything but its token`, () => {
      const head = { kind, id: undone, sequence: 2, time: now, ...ids };
      const entry = entryOf(head, plan(kind));
      assert.deepEqual([entry.kind, entry.id, entry.sequence, entry.time], [kind, undone, 2, now]);
      assert.deepEqual([entry.pesel, entry.key, entry.by], [pesel, "k", "till 1"]);
      const { name, surname, balances, blocked } = after[kind];
      assert.deepEqual([entry.holder, entry.balances, entry.blocked], [{ name, surname }, balances, blocked]);
      const behind = requestBehind(entry);
      assert.deepEqual(
        [behind.kind, behind.pesel, behind.key, behind.by, requestText(behind)],
        [kind, pesel, "k", undefined, text],
      );
    });

    test(`A request of kind ${kind} has the same text however it is spelt, and another if it asks for something else`, () => {
      assert.equal(requestText(request), text);
      assert.equal(requestText({ ...request, key: "other", by: undefined } as Request), text);
    });
  }

  test("An order to sell is known again by what it sells", () => {
    const order = { side: "toSell", from: usd, to: pln, amount: decimal("10") };
    const entry = entryOf(
      { kind: "exchange", id: undone, sequence: 2, time: now, pesel, key: undefined, by: undefined },
      plan("exchange", open, order),
    );
    assert.equal(requestText(requestBehind(entry)), '["order","USD","PLN","toSell","10"]');
  });

  test("An account that is opened again gets what is paid in now, beside what it held", () => {
    const { account, credited } = plan("opening", { ...open, closed: true }, { initial: decimal("2.5") });
    assert.deepEqual(credited, money(250n));
    assert.deepEqual(account.balances, both(100_250n, 5000n));
  });
});

describe("a request that the state of the account forbids", () => {
  const refused = (code: string, message: string) => ({ code, message });
  const missing = refused("account-not-found", "There is no account for this PESEL.");
  const closed = refused("account-closed", "The account is closed. Open it again to use it.");
  const isBlocked = refused(
    "account-blocked",
    "The account is blocked: nothing leaves it, and nothing is exchanged, until an operator unblocks it.",
  );
  const changes = entryKinds.filter((kind) => kind !== "opening");
  const house = accountBeforeEntries(houseNumber("cash")) as Account;
  const own = { pesel: house.pesel };

  for (const kind of changes) {
    test(`A request of kind ${kind} is refused without an account, and on a closed one`, () => {
      const [request] = examples[kind];
      assert.throws(() => planChange(undefined, request, nowhere), missing);
      assert.throws(() => plan(kind, { ...open, closed: true }), closed);
    });

    const isForHouse = ["deposit", "withdrawal", "reversal"].includes(kind);
    test(`A request of kind ${kind} ${isForHouse ? "can" : "cannot"} be about the house's own money`, () => {
      const where = circumstances(own);
      if (isForHouse) assert.equal(plan(kind, house, own, where).account.pesel, house.pesel);
      else assert.throws(() => plan(kind, house, own, where), missing);
    });
  }

  for (const kind of ["exchange", "withdrawal", "closing", "block", "reversal"] as const) {
    test(`A request of kind ${kind} that takes money or changes the state is refused on a blocked account`, () => {
      assert.throws(() => plan(kind, blocked), isBlocked);
    });
  }

  test("On a blocked account a deposit, a new name and a reversal that only gives money back go on", () => {
    const withdrawn = circumstances({ kind: "withdrawal", credited: undefined, debited: money(1n) });
    assert.equal(plan("deposit", blocked).account.blocked, true);
    assert.equal(plan("renaming", blocked).account.name, "Maria");
    assert.deepEqual(plan("reversal", blocked, {}, withdrawn).credited, money(1n));
  });

  test("An account that is not blocked cannot be unblocked, and one that holds money cannot be closed", () => {
    assert.throws(
      () => plan("unblock", open),
      refused("account-not-blocked", "The account is not blocked. There is nothing to lift."),
    );
    assert.throws(
      () => plan("closing", open),
      refused(
        "account-not-empty",
        "The account still holds money. Exchange or withdraw all of it, then close the account.",
      ),
    );
    assert.equal(plan("closing", { ...open, balances: [money(0n), money(0n, "USD")] }).account.closed, true);
  });

  test("While trading is suspended only exchanges are refused", () => {
    const where = { ...nowhere, table: suspended };
    assert.throws(() => plan("exchange", open, {}, where), { code: "trading-suspended" });
    for (const kind of changes.filter((each) => each !== "exchange")) plan(kind, undefined, {}, where);
  });

  test("Only a customer's deposit of foreign money asks whether its currency is quoted", () => {
    const asked: string[] = [];
    const where = {
      ...circumstances(own),
      requireQuoted: (currency: CurrencyCode) => void asked.push(currency),
    };
    plan("deposit", open, {}, where);
    plan("deposit", open, { currency: pln }, where);
    plan("deposit", house, { ...own, currency: "EUR" }, where);
    plan("withdrawal", open, {}, where);
    assert.deepEqual(asked, ["USD"]);
  });

  test("Cash in a currency that fx does not keep is refused", () => {
    for (const kind of ["deposit", "withdrawal"] as const) {
      assert.throws(
        () => plan(kind, open, { currency: "XXX" }),
        refused("unsupported-currency", `A ${kind} cannot be in this currency.`),
      );
    }
  });

  test("A withdrawal of more than there is does not repeat the amount", () => {
    assert.throws(
      () => plan("withdrawal", open, { amount: decimal("50.01") }),
      refused("insufficient-funds", "The order takes more USD than the account holds."),
    );
  });
});

describe("a reversal", () => {
  const reverse = (entry: Partial<Entry>, reversedBy?: string, account = open) =>
    plan("reversal", account, {}, circumstances(entry, reversedBy));

  test("A reversal of what is not there, or of another account's, finds no receipt", () => {
    const unknown = { code: "not-found", message: "There is no receipt with this id." };
    assert.throws(() => plan("reversal", open, { reverses: "other" }), unknown);
    assert.throws(() => reverse({ pesel: adult(1) }), unknown);
  });

  for (const kind of entryKinds) {
    const isReversible = ["exchange", "deposit", "withdrawal"].includes(kind);
    test(`An entry of kind ${kind} can${isReversible ? "" : "not"} be reversed`, () => {
      if (isReversible) assert.deepEqual(reverse({ kind }).debited, money(5000n, "USD"));
      else {
        assert.throws(() => reverse({ kind }), {
          code: "not-reversible",
          message:
            "Only an exchange, a deposit and a withdrawal can be reversed, and this receipt is of another kind.",
        });
      }
    });
  }

  test("A second reversal is refused, and names the first one, which a dry run has no receipt of", () => {
    const code = "already-reversed";
    assert.throws(() => reverse({}, "the-first"), {
      code,
      message: "This was reversed before: receipt the-first.",
    });
    assert.throws(() => reverse({}, ""), { code, message: "This was reversed before." });
  });

  test("A reversal of money that is no longer there says how much it would take", () => {
    assert.throws(() => reverse({}, undefined, empty), {
      code: "insufficient-funds",
      message: "The order takes 50.00 USD, which is more than the account holds.",
    });
  });

  test("A reversal of an exchange gives back both sides, and keeps what was exchanged", () => {
    const { debited, credited, exchange } = plan("exchange");
    const { account, ...undoing } = reverse(
      { kind: "exchange", debited, credited, exchange },
      undefined,
      plan("exchange").account,
    );
    assert.deepEqual([undoing.debited, undoing.credited, undoing.exchange], [credited, debited, exchange]);
    assert.deepEqual(account.balances, open.balances);
  });
});

describe("a change is read", () => {
  const given = { pesel, key: "k", by: "till 1" };
  const name = " Zofia ";
  const reason = " a slip ";
  const read = { ...given };
  const cases: readonly [given: object, read: object][] = [
    [
      { kind: "deposit", currency: "usd", amount: decimal("1"), note: " x " },
      { kind: "deposit", currency: usd, amount: decimal("1"), note: "x" },
    ],
    [
      { kind: "withdrawal", currency: "PLN", amount: decimal("1") },
      { kind: "withdrawal", currency: pln, amount: decimal("1"), note: undefined },
    ],
    [
      { kind: "reversal", reverses: undone, reason },
      { kind: "reversal", reverses: undone, reason: "a slip" },
    ],
    [
      { kind: "renaming", name, surname: "Nowak" },
      { kind: "renaming", name: "Zofia", surname: "Nowak" },
    ],
    [{ kind: "closing" }, { kind: "closing" }],
    [
      { kind: "block", reason },
      { kind: "block", reason: "a slip" },
    ],
    [
      { kind: "unblock", reason },
      { kind: "unblock", reason: "a slip" },
    ],
  ];
  const parse = (fields: object) => parseChange({ ...given, ...fields } as object as GivenChange, today);

  for (const [fields, expected] of cases) {
    const { kind } = expected as { kind: string };
    test(`A change of kind ${kind} is read without what its kind does not have, its texts before its PESEL`, () => {
      assert.deepEqual(parse({ ...fields, json: true }), { ...expected, ...read });
      assert.throws(() => parse({ ...fields, pesel: "1" }), { code: "invalid-pesel" });
      if (kind === "closing") return;
      const text =
        kind === "renaming"
          ? { name: "" }
          : kind === "deposit" || kind === "withdrawal"
            ? { note: "" }
            : { reason: "" };
      assert.throws(() => parse({ ...fields, pesel: "1", ...text }), { code: "invalid-request" });
    });
  }

  test("A reversal of the house's own money is read by the number of its account", () => {
    const fields = { kind: "reversal", reverses: undone, reason, pesel: houseNumber("bank") };
    assert.deepEqual(parse(fields), { ...fields, reason: "a slip", key: "k", by: "till 1" });
  });

  test("Cash of the house is read for the place that is named", () => {
    const fields = {
      kind: "deposit",
      currency: "eur",
      amount: decimal("2"),
      key: "k",
      by: "till 1",
    } as const;
    assert.deepEqual(parseHouseCash({ ...fields, account: "bank" }), {
      ...{ ...fields, currency: "EUR", pesel: houseNumber("bank"), note: undefined },
    });
  });
});

test("An unreadable amount, table name or currency pair is refused before the account is looked up", () => {
  const long = decimal("0.1234567890123456789");
  for (const kind of entryKinds) requireReadable(examples[kind][0]);
  const wrong: readonly [EntryKind, object, code: string][] = [
    ["opening", { initial: long }, "invalid-request"],
    ["exchange", { amount: long }, "invalid-request"],
    ["deposit", { amount: long }, "invalid-request"],
    ["exchange", { table: "ł" }, "invalid-request"],
    ["exchange", { to: pln }, "same-currency"],
  ];
  for (const [kind, change, code] of wrong) {
    assert.throws(() => requireReadable({ ...examples[kind][0], ...change } as Request), { code });
  }
  requireReadable({ ...examples.exchange[0], table: table.number } as Request);
});

test("The request behind an opening is that of its entry, whatever the account holds by then", () => {
  const entry = openingEntry(pesel, { minor: 12n, balances: [money(500n)] });
  assert.equal(requestText(requestBehind(entry)), '["opening","Jan","Kowalski","0.12"]');
});
