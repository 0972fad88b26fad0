import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { compareTables, identifyTable } from "../../src/core/rates.ts";
import { parseRateTable } from "../../src/rates/published.ts";

const usd = { currency: "dolar amerykański", code: "USD", bid: 3.6268, ask: 3.7 };
const eur = { currency: "euro", code: "EUR", bid: 4.1967, ask: 4.2815 };
const published = {
  table: "C",
  no: "108/C/NBP/2026",
  tradingDate: "2026-06-05",
  effectiveDate: "2026-06-08",
  rates: [usd, eur],
};
const withRate = (changes: object) => ({ ...published, rates: [eur, { ...usd, ...changes }] });

describe("the id of a table", () => {
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  const idOf = (untrusted: unknown, source = "nbp") =>
    identifyTable(parseRateTable(untrusted), source, sha256).id;

  test("The id of a rate table does not change between versions", () => {
    assert.equal(
      idOf(published),
      sha256(
        '["nbp","108/C/NBP/2026","2026-06-05","2026-06-08",[["EUR","4.1967","4.2815"],["USD","3.6268","3.7"]]]',
      ).slice(0, 32),
    );
  });

  test("A table with its id is otherwise as published", () => {
    const read = parseRateTable(published);
    assert.deepEqual(identifyTable(read, "nbp", sha256), { ...read, source: "nbp", id: idOf(published) });
  });

  test("The id of a table does not depend on names, or on the order of the rates", () => {
    assert.equal(idOf({ ...published, rates: [{ ...eur, currency: "€" }, usd] }), idOf(published));
    const { rates, ...head } = parseRateTable(published);
    const backwards = { ...head, rates: new Map([...rates].reverse()) };
    assert.equal(identifyTable(backwards, "nbp", sha256).id, idOf(published));
  });

  test("The id of a table is another for another source, number, date, bid, ask or currency", () => {
    const ids = [
      idOf(published),
      idOf(published, "demo"),
      idOf({ ...published, no: "109/C/NBP/2026" }),
      idOf({ ...published, tradingDate: "2026-06-04" }),
      idOf({ ...published, effectiveDate: "2026-06-09" }),
      idOf(withRate({ bid: 3.6267 })),
      idOf(withRate({ ask: 3.71 })),
      idOf(withRate({ code: "CAD" })),
    ];
    assert.equal(new Set(ids).size, ids.length);
  });
});

test("Tables are in the order of their effective dates, and those of one date in that of their numbers", () => {
  const [second, third, first] = [
    { number: "109/C/NBP/2026", effectiveDate: "2026-06-08" },
    { number: "107/C/NBP/2026", effectiveDate: "2026-06-09" },
    { number: "108/C/NBP/2026", effectiveDate: "2026-06-08" },
  ] as const;
  assert.deepEqual([second, third, first].sort(compareTables), [first, second, third]);
  assert.equal(compareTables(first, { ...first }), 0);
});
