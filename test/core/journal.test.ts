import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { CurrencyCode } from "../../src/core/currency.ts";
import { type Entry, sealedText } from "../../src/core/journal.ts";
import { formatDecimal } from "../../src/core/money.ts";
import { adult, decimal } from "../support/fixture.ts";

const money = fc.record({
  currency: fc.constantFrom("PLN", "USD", "JPY") as fc.Arbitrary<CurrencyCode>,
  minor: fc.bigInt({ min: 0n, max: 999_999_999_999_999n }),
});
const rate = fc.option(
  fc.integer({ min: 1, max: 99_999_999 }).map((coefficient) => decimal(`${coefficient / 10_000}`)),
  { nil: undefined },
);
const head = {
  id: fc.uuid({ version: 7 }),
  pesel: fc.constant(adult()),
  sequence: fc.integer({ min: 1 }),
  time: fc.date({ noInvalidDate: true }),
  key: fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
  balances: fc.array(money, { minLength: 1, maxLength: 5 }),
};
const entries: fc.Arbitrary<Entry> = fc.oneof(
  fc.record({
    ...head,
    kind: fc.constant("opening" as const),
    name: fc.string({ unit: "grapheme" }),
    surname: fc.string(),
    initial: money,
  }),
  fc.record({
    ...head,
    kind: fc.constant("exchange" as const),
    side: fc.constantFrom("toBuy" as const, "toSell" as const),
    sold: money,
    bought: money,
    bid: rate,
    ask: rate,
    table: fc.string(),
    effectiveDate: fc.constant("2022-04-08") as fc.Arbitrary<
      Extract<Entry, { kind: "exchange" }>["effectiveDate"]
    >,
  }),
);

const text = ({ minor, currency }: { minor: bigint; currency: string }) => `${minor} ${currency}`;
const number = (value: Parameters<typeof formatDecimal>[0] | undefined) => value && formatDecimal(value);

describe("the text that an entry's hash is taken of", () => {
  it("is the JSON array of the hash before and of every field, whatever is in the texts", () => {
    fc.assert(
      fc.property(entries, fc.stringMatching(/^([\da-f]{64})?$/), (entry, before) => {
        const facts =
          entry.kind === "opening"
            ? [entry.name, entry.surname, text(entry.initial)]
            : [
                entry.side,
                text(entry.sold),
                text(entry.bought),
                number(entry.bid),
                number(entry.ask),
                entry.table,
                entry.effectiveDate,
              ];
        const { id, pesel, sequence, time, key, kind, balances } = entry;
        const fields = [before, id, pesel, sequence, time.getTime(), key, kind, facts, balances.map(text)];
        assert.equal(sealedText(entry, before), JSON.stringify(fields));
      }),
    );
  });
});
