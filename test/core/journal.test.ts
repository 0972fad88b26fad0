import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { pln } from "../../src/core/currency.ts";
import { planExchange } from "../../src/core/exchange.ts";
import {
  accountAfter,
  type Entry,
  entryText,
  isAnswerToOpening,
  isAnswerToOrder,
  parseEntry,
} from "../../src/core/journal.ts";
import { balanceLimit, type Money } from "../../src/core/money.ts";
import { entryHash } from "../../src/ledger/batch.ts";
import { openingEntry } from "../support/entries.ts";
import { adult, decimal, now, table, terms } from "../support/fixture.ts";

const currency = fc.constantFrom(pln, ...table.rates.keys());
const plain = { noNullPrototype: true };
const money: fc.Arbitrary<Money> = fc.record(
  { currency, minor: fc.bigInt({ min: 0n, max: balanceLimit }) },
  plain,
);
const rate = fc.option(fc.constantFrom(decimal("3.7"), decimal("0.0266"), decimal("4")), { nil: undefined });
const head = {
  id: fc.uuid({ version: 7 }),
  pesel: fc.nat(1000).map(adult),
  sequence: fc.integer({ min: 1 }),
  time: fc.date({ noInvalidDate: true }),
  key: fc.option(fc.string(), { nil: undefined }),
  balances: fc.uniqueArray(money, { selector: (balance) => balance.currency }),
};
const anyEntry: fc.Arbitrary<Entry> = fc.oneof(
  fc.record(
    {
      kind: fc.constant("opening" as const),
      ...head,
      name: fc.string({ unit: "binary" }),
      surname: fc.string({ unit: "grapheme" }),
      initial: money,
    },
    plain,
  ),
  fc.record(
    {
      kind: fc.constant("exchange" as const),
      ...head,
      side: fc.constantFrom("toBuy" as const, "toSell" as const),
      sold: money,
      bought: money,
      bid: rate,
      ask: rate,
      table: fc.string(),
      tableId: fc.option(fc.constant("0123456789abcdef0123456789abcdef"), { nil: undefined }),
      effectiveDate: fc.constant("2026-06-08"),
    },
    plain,
  ),
);

describe("the text of an entry", () => {
  test("says all of it", () => {
    fc.assert(
      fc.property(anyEntry, (entry) => {
        assert.deepEqual(parseEntry(entryText(entry)), entry);
      }),
    );
  });

  test("is JSON as any program writes it, so that another can take the same hash", () => {
    fc.assert(
      fc.property(anyEntry, (entry) => {
        const text = entryText(entry);
        assert.equal(JSON.stringify(JSON.parse(text)), text);
      }),
    );
  });

  test("from before tables had ids, and its hash, are what they always were", () => {
    const text =
      '{"id":"0197514f-b0c0-7000-8000-000000000002","pesel":"70011000003","sequence":2,"time":1780920000000,' +
      '"key":"order-1","kind":"exchange","side":"toBuy","sold":"37000 PLN","bought":"10000 USD","bid":null,' +
      '"ask":"3.7","table":"108/C/NBP/2026","effectiveDate":"2026-06-08","balances":{"PLN":63000,"USD":10000}}';
    const entry: Entry = {
      kind: "exchange",
      id: "0197514f-b0c0-7000-8000-000000000002",
      pesel: adult(),
      sequence: 2,
      time: now,
      key: "order-1",
      side: "toBuy",
      sold: { currency: pln, minor: 37_000n },
      bought: { currency: "USD" as Money["currency"], minor: 10_000n },
      bid: undefined,
      ask: decimal("3.7000"),
      table: "108/C/NBP/2026",
      tableId: undefined,
      effectiveDate: "2026-06-08",
      balances: [
        { currency: pln, minor: 63_000n },
        { currency: "USD" as Money["currency"], minor: 10_000n },
      ],
    };
    assert.equal(entryText(entry), text);
    const before = createHash("sha256").update("the entry before").digest("hex");
    assert.equal(entryHash(text, before), createHash("sha256").update(before).update(text).digest("hex"));
  });

  const opening = (initial: string) =>
    `{"kind":"opening","balances":{},"initial":${JSON.stringify(initial)}}`;
  const noAmount = (text: string) => `${JSON.stringify(text)} is no amount of minor units`;
  for (const [what, text, name, message] of [
    ["no JSON", "[", "SyntaxError", /JSON/],
    ["no object", "null", "TypeError", /null/],
    ["no kind", '{"balances":{}}', "RangeError", "an entry is an opening or an exchange"],
    ["no balances", '{"kind":"exchange"}', "TypeError", /undefined/],
    ["a balance that is no number", '{"balances":{"PLN":"many"}}', "SyntaxError", /many/],
    ...["1", "PLN", "-1 PLN", "x1 PLN", "1 PLN2", "1 pln", "1.5 PLN"].map(
      (amount) => [`an amount of "${amount}"`, opening(amount), "RangeError", noAmount(amount)] as const,
    ),
    [
      "a rate that is no decimal",
      '{"kind":"exchange","balances":{},"sold":"1 PLN","bought":"1 USD","bid":"x","ask":null}',
      "RangeError",
      '"x" is not a decimal',
    ],
  ] as const) {
    test(`cannot be ${what}`, () => assert.throws(() => parseEntry(text), { name, message }));
  }
});

describe("an entry answers the request that led to it, sent again,", () => {
  const opened = openingEntry(adult(), { minor: 1000n });
  const request = { pesel: adult(), name: "Jan", surname: "Kowalski", initial: decimal("10.0") };
  const order = { ...terms("buy 100 USD for PLN"), pesel: adult() };
  const { exchange, account } = planExchange(
    { pesel: adult(), name: "Jan", surname: "Kowalski", balances: [{ currency: pln, minor: 100_000n }] },
    order,
    table,
  );
  const head = { id: "", pesel: adult(), sequence: 2, time: now, key: "k", balances: account.balances };
  const settled: Entry = { kind: "exchange", ...head, ...exchange };

  test("and no other opening, and no order", () => {
    assert.equal(isAnswerToOpening(opened, request), true);
    assert.equal(isAnswerToOpening(settled, request), false);
    for (const other of [{ name: "Ewa" }, { surname: "Nowak" }, { initial: decimal("10.01") }]) {
      assert.equal(isAnswerToOpening(opened, { ...request, ...other }), false);
    }
  });

  test("and no other order, and no opening", () => {
    assert.equal(isAnswerToOrder(settled, { ...order, amount: decimal("100.00") }), true);
    assert.equal(isAnswerToOrder(opened, order), false);
    for (const other of [
      "buy 101 USD for PLN",
      "sell 370 PLN for USD",
      "buy 100 USD for EUR",
      "buy 100 EUR for PLN",
    ]) {
      assert.equal(isAnswerToOrder(settled, { ...order, ...terms(other) }), false, other);
    }
  });

  test("with the amount that was fixed: what was sold if that was", () => {
    const sold: Entry = { ...settled, side: "toSell" };
    assert.equal(isAnswerToOrder(sold, { ...order, ...terms("sell 370 PLN for USD") }), true);
    assert.equal(isAnswerToOrder(sold, { ...order, ...terms("sell 100 PLN for USD") }), false);
  });

  test("with the account as it was then", () => {
    assert.deepEqual(accountAfter(settled, { name: "Jan", surname: "Kowalski" }), account);
  });
});
