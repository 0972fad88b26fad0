import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatDecimal } from "../../src/core/decimal.ts";
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
const quotations = (untrusted: unknown) =>
  [...parseRateTable(untrusted).rates.values()].map(
    ({ currency, name, bid, ask }) => `${currency} ${name} ${formatDecimal(bid)} ${formatDecimal(ask)}`,
  );
const withRate = (changes: object) => ({ ...published, rates: [eur, { ...usd, ...changes }] });

describe("a published table", () => {
  test("A published table is read with its number, its dates and its rates by symbol", () => {
    const { number, tradingDate, effectiveDate } = parseRateTable(published);
    assert.deepEqual([number, tradingDate, effectiveDate], ["108/C/NBP/2026", "2026-06-05", "2026-06-08"]);
    assert.deepEqual(quotations(published), ["EUR euro 4.1967 4.2815", "USD dolar amerykański 3.6268 3.7"]);
    const keys = [...parseRateTable(published).rates].map(([code, { currency }]) => [code, currency]);
    assert.deepEqual(keys, [
      ["EUR", "EUR"],
      ["USD", "USD"],
    ]);
  });

  test("A published table is read without the currencies whose minor unit fx does not know", () => {
    assert.deepEqual(quotations(withRate({ code: "XAU" })), ["EUR euro 4.1967 4.2815"]);
  });

  test("A currency without a name is named by its code", () => {
    for (const currency of [undefined, 7]) {
      assert.equal(quotations(withRate({ currency }))[1], "USD USD 3.6268 3.7");
    }
  });

  test("A table's number may have one to three digits", () => {
    for (const no of ["1/C/NBP/2026", "23/C/NBP/2026"])
      assert.equal(parseRateTable({ ...published, no }).number, no);
  });

  test("A rate may have 12 decimal places", () => {
    assert.match(quotations(withRate({ bid: 1e-12 }))[1] ?? "", / 0\.000000000001 /);
  });

  const refusals: [what: string, untrusted: unknown, message: string][] = [
    ["nothing", undefined, "missing is not a rate table"],
    ["null", null, "null is not a rate table"],
    ["a list", [published], `${JSON.stringify([published]).slice(0, 60)} is not a rate table`],
    ["text", "C", '"C" is not a rate table'],
    ["another table", { ...published, table: "A" }, 'not a table C but "A"'],
    ["no table", { ...published, table: undefined }, "not a table C but missing"],
    ["no number", { ...published, no: undefined }, "the table number is missing"],
    [
      "a number that is no text",
      { ...published, no: ["108/C/NBP/2026"] },
      'the table number is ["108/C/NBP/2026"]',
    ],
    ...["1234/C/NBP/2026", "/C/NBP/2026", "108/C/NBP/20266", "108/C/NBP/202x"].map(
      (no): [string, unknown, string] => [
        `the number ${no}`,
        { ...published, no },
        `the table number is "${no}"`,
      ],
    ),
    ["no rates", { ...published, rates: undefined }, "it has no rates"],
    ["rates that are no list", { ...published, rates: { length: 1 } }, "it has no rates"],
    ["an empty list of rates", { ...published, rates: [] }, "it has no rates"],
    ["a currency twice", { ...published, rates: [usd, eur, usd] }, "USD stands in it twice"],
    ["a rate that is none", { ...published, rates: [usd, 3.7] }, "3.7 is not a rate"],
    ["no code", withRate({ code: undefined }), "a currency code is missing"],
    ["a code that is no text", withRate({ code: ["USD"] }), 'a currency code is ["USD"]'],
    ...["usd", "USDX", "XUSD", "US", "PLN"].map((code): [string, unknown, string] => [
      `the code ${code}`,
      withRate({ code }),
      `a currency code is "${code}"`,
    ]),
    ["no bid", withRate({ bid: undefined }), "the bid of USD is missing"],
    ["no ask", withRate({ ask: undefined }), "the ask of USD is missing"],
    ["a bid in text", withRate({ bid: "3.6268" }), 'the bid of USD is "3.6268"'],
    ["a bid of 0", withRate({ bid: 0 }), "the bid of USD is 0"],
    ["an ask below 0", withRate({ ask: -3.7 }), "the ask of USD is -3.7"],
    ["a bid that is no number", withRate({ bid: Number.NaN }), "the bid of USD is null"],
    ["a bid of 13 places", withRate({ bid: 1e-13 }), "the bid of USD is 1e-13"],
    ["a bid at its ask", withRate({ bid: 3.7 }), "the bid of USD is not below its ask"],
    ["a bid above its ask", withRate({ bid: 3.8 }), "the bid of USD is not below its ask"],
    ["no trading date", { ...published, tradingDate: undefined }, "its trading date is missing"],
    [
      "a date that is no text",
      { ...published, tradingDate: ["2026-06-05"] },
      'its trading date is ["2026-06-05"]',
    ],
    ...["2026-02-30", "x2026-06-08", "2026-06-08T00", "2026-06-8"].map(
      (effectiveDate): [string, unknown, string] => [
        `the effective date ${effectiveDate}`,
        { ...published, effectiveDate },
        `its effective date is "${effectiveDate}"`,
      ],
    ),
  ];
  for (const [what, untrusted, message] of refusals) {
    test(`A published table is refused with ${what}`, () => {
      assert.throws(() => parseRateTable(untrusted), { name: "InvalidRateTable", message });
    });
  }
});
