import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { pln } from "../../src/core/currency.ts";
import { type Entry, entryText, parseEntry } from "../../src/core/journal.ts";
import { balanceLimit, type Money } from "../../src/core/money.ts";
import { entryHash } from "../../src/ledger/batch.ts";
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

  test("and its hash are what they always were", () => {
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

  for (const [what, text] of [
    ["no JSON", "["],
    ["no object", "null"],
    ["no kind", '{"balances":{}}'],
    ["no balances", '{"kind":"exchange"}'],
    ["an amount without a currency", '{"kind":"opening","balances":{},"initial":"1"}'],
    ["a negative amount", '{"kind":"opening","balances":{},"initial":"-1 PLN"}'],
    ["a balance that is no number", '{"kind":"opening","balances":{"PLN":"many"},"initial":"1 PLN"}'],
    [
      "a rate that is no decimal",
      '{"kind":"exchange","balances":{},"sold":"1 PLN","bought":"1 USD","bid":"x","ask":null}',
    ],
  ] as const) {
    test(`cannot be ${what}`, () => {
      assert.throws(() => parseEntry(text));
    });
  }
});
