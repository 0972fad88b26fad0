import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { pln } from "../../src/core/currency.ts";
import type { Exchange } from "../../src/core/exchange.ts";
import { type Entry, type EntryKind, entryKinds, entryText, parseEntry } from "../../src/core/journal.ts";
import { balanceLimit, type Money } from "../../src/core/money.ts";
import { entryHash } from "../../src/ledger/rows.ts";
import { adult, decimal, now, table } from "../support/fixture.ts";

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
  time: fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true }),
  key: fc.option(fc.string(), { nil: undefined }),
  by: fc.option(fc.string({ unit: "grapheme" }), { nil: undefined }),
  holder: fc.record({ name: fc.string({ unit: "binary" }), surname: fc.string({ unit: "grapheme" }) }, plain),
  blocked: fc.boolean(),
  balances: fc.uniqueArray(money, { selector: (balance) => balance.currency }),
};
const nothing = fc.constant(undefined);
const exchangeOf = (sold: Money, bought: Money) =>
  fc.record(
    {
      side: fc.constantFrom("toBuy" as const, "toSell" as const),
      sold: fc.constant(sold),
      bought: fc.constant(bought),
      bid: rate,
      ask: rate,
      table: fc.string(),
      tableId: fc.constant("0123456789abcdef0123456789abcdef"),
      effectiveDate: fc.constant("2026-06-08"),
    },
    plain,
  );
const note = fc.option(fc.string({ unit: "grapheme" }), { nil: undefined });
const anyEntry: fc.Arbitrary<Entry> = fc
  .record({
    kind: fc.constantFrom(...entryKinds),
    out: money,
    into: money,
    reverses: fc.uuid({ version: 7 }),
  })
  .chain(({ kind, out, into, reverses }) => {
    const isReversal = kind === "reversal";
    const isExchange = kind === "exchange";
    const has = (...kinds: EntryKind[]) => kinds.includes(kind);
    return fc.record(
      {
        kind: fc.constant(kind),
        ...head,
        reverses: fc.constant(isReversal ? reverses : undefined),
        note:
          isReversal || has("block", "unblock") ? fc.string() : has("deposit", "withdrawal") ? note : nothing,
        debited: fc.constant(has("exchange", "withdrawal", "reversal") ? out : undefined),
        credited: fc.constant(has("opening", "exchange", "deposit", "reversal") ? into : undefined),
        exchange: isExchange ? exchangeOf(out, into) : isReversal ? exchangeOf(into, out) : nothing,
      },
      plain,
    );
  });

describe("the text of an entry", () => {
  test("The text of an entry has all of its members", () => {
    fc.assert(
      fc.property(anyEntry, (entry) => {
        assert.deepEqual(parseEntry(entryText(entry)), entry);
      }),
    );
  });

  test("The text of an entry is JSON as any program writes it, so that another can take the same hash", () => {
    fc.assert(
      fc.property(anyEntry, (entry) => {
        const text = entryText(entry);
        assert.equal(JSON.stringify(JSON.parse(text)), text);
      }),
    );
  });

  test("The text of an entry is refused if a member has the wrong type", () => {
    const fields = [
      ...["id", "pesel", "kind", "key", "by", "name", "surname", "reverses", "note"],
      ...["side", "table", "tableId", "effectiveDate", "sequence", "time"],
    ];
    fc.assert(
      fc.property(anyEntry, fc.constantFrom(...fields), (entry, field) => {
        const json = JSON.parse(entryText(entry));
        const isNumber = ["sequence", "time"].includes(field);
        const wrong = isNumber ? ["5", 2 ** 60, 0.5, null] : [5, ["x"], ...(field === "key" ? [] : [null])];
        for (const value of wrong) {
          assert.throws(() => parseEntry(JSON.stringify({ ...json, [field]: value })), TypeError);
        }
      }),
    );
  });

  test("The text of an entry does not change between versions, nor does its hash", () => {
    const text =
      '{"id":"0197514f-b0c0-7000-8000-000000000002","pesel":"70011000003","sequence":2,"time":1780920000000,' +
      '"key":"order-1","kind":"exchange","name":"Jan","surname":"Kowalski",' +
      '"debited":"37000 PLN","credited":"10000 USD","side":"toBuy","bid":null,' +
      '"ask":"3.7","table":"108/C/NBP/2026",' +
      '"tableId":"0123456789abcdef0123456789abcdef","effectiveDate":"2026-06-08","balances":{"PLN":63000,"USD":10000}}';
    const exchange: Exchange = {
      side: "toBuy",
      sold: { currency: pln, minor: 37_000n },
      bought: { currency: "USD" as Money["currency"], minor: 10_000n },
      bid: undefined,
      ask: decimal("3.7000"),
      table: "108/C/NBP/2026",
      tableId: "0123456789abcdef0123456789abcdef",
      effectiveDate: "2026-06-08",
    };
    const entry: Entry = {
      kind: "exchange",
      id: "0197514f-b0c0-7000-8000-000000000002",
      pesel: adult(),
      sequence: 2,
      time: now,
      key: "order-1",
      by: undefined,
      holder: { name: "Jan", surname: "Kowalski" },
      blocked: false,
      reverses: undefined,
      note: undefined,
      debited: exchange.sold,
      credited: exchange.bought,
      exchange,
      balances: [
        { currency: pln, minor: 63_000n },
        { currency: "USD" as Money["currency"], minor: 10_000n },
      ],
    };
    assert.equal(entryText(entry), text);
    const whileBlocked = text.replace('"surname":"Kowalski",', '"surname":"Kowalski","blocked":true,');
    assert.equal(entryText({ ...entry, blocked: true }), whileBlocked);
    const named = text.replace('"key":"order-1",', '"key":"order-1","by":"counter 2",');
    assert.equal(entryText({ ...entry, by: "counter 2" }), named);
    const before = createHash("sha256").update("the entry before").digest("hex");
    const textHash = createHash("sha256").update(text).digest("hex");
    assert.equal(entryHash(text, before), createHash("sha256").update(before).update(textHash).digest("hex"));
  });

  const opening = (initial: string) =>
    `{"kind":"opening","balances":{},"credited":${JSON.stringify(initial)}}`;
  const noAmount = (text: string) => `${JSON.stringify(text)} is no amount of minor units`;
  for (const [what, text, name, message] of [
    ["no JSON", "[", "SyntaxError", /JSON/],
    ["no object", "null", "TypeError", /null/],
    ["of no kind", '{"balances":{}}', "TypeError", "the kind of an entry is text"],
    [
      "of an unknown kind",
      '{"kind":"x","balances":{}}',
      "RangeError",
      `an entry is one of ${entryKinds.join(", ")}`,
    ],
    ["of a kind that objects have", '{"kind":"toString","balances":{}}', "RangeError", /^an entry is one of/],
    ["no balances", '{"kind":"exchange"}', "TypeError", /undefined/],
    [
      "an exchange of nothing",
      '{"kind":"exchange","balances":{}}',
      "RangeError",
      "an entry of kind exchange needs debited",
    ],
    [
      "a closing that pays",
      '{"kind":"closing","balances":{},"debited":"1 PLN"}',
      "RangeError",
      "an entry of kind closing has no debited",
    ],
    ["a block without its reason", '{"kind":"block","balances":{}}', "RangeError", /needs note/],
    ...["false", "null", '"true"'].map(
      (is) =>
        [
          `blocked: ${is}`,
          `{"kind":"closing","balances":{},"blocked":${is}}`,
          "TypeError",
          /blocked/,
        ] as const,
    ),
    ["a balance that is no number", '{"kind":"closing","balances":{"PLN":"many"}}', "SyntaxError", /many/],
    ...["1", "PLN", "-1 PLN", "x1 PLN", "1 PLN2", "1 pln", "1.5 PLN"].map(
      (amount) => [`an amount of "${amount}"`, opening(amount), "RangeError", noAmount(amount)] as const,
    ),
    [
      "an exchange at a table without an id",
      '{"kind":"exchange","balances":{},"side":"toBuy","debited":"1 PLN","credited":"1 USD","bid":null,"ask":null,"table":"","effectiveDate":"2026-06-08"}',
      "RangeError",
      "an entry of kind exchange needs exchange",
    ],
    [
      "a rate that is no decimal",
      '{"kind":"exchange","balances":{},"side":"toBuy","debited":"1 PLN","credited":"1 USD","bid":"x","ask":null,"table":"","tableId":"0123456789abcdef0123456789abcdef","effectiveDate":"2026-06-08"}',
      "RangeError",
      '"x" is not a decimal',
    ],
  ] as const) {
    const whole = text.replace("{", '{"id":"","pesel":"","sequence":1,"time":1,"name":"","surname":"",');
    test(`The text of an entry cannot be ${what}`, () =>
      assert.throws(() => parseEntry(whole), { name, message }));
  }
});
