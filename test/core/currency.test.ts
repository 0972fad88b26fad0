import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  type CurrencyCode,
  compareCurrencies,
  currencies,
  minorUnitDigits,
  parseCurrencyCode,
  pln,
} from "../../src/core/currency.ts";

const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
const allCodes = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c)));
const withDigits = (digits: number) =>
  allCodes.filter((code) => minorUnitDigits(code as CurrencyCode) === digits).join(" ");

test("Quoted currencies have their ISO 4217 decimals, and XDR has two", () => {
  assert.equal(
    withDigits(2),
    "AUD BGN BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF IDR ILS INR MXN MYR NOK NZD PHP PLN RON SEK SGD THB TRY UAH USD XDR ZAR",
  );
});
test("Quoted currencies without decimals in ISO 4217 have none", () =>
  assert.equal(withDigits(0), "CLP ISK JPY KRW"));
test("No other code of three letters is a currency", () => {
  const kept = allCodes.filter((code) => minorUnitDigits(code as CurrencyCode) !== undefined);
  assert.equal(kept.length, 34);
});

test("Currencies are ordered by code, with PLN first", () => {
  const code = fc.constantFrom(...["PLN", "AUD", "PLA", "USD", "ZAR"].map((text) => text as CurrencyCode));
  fc.assert(
    fc.property(code, code, (a, b) => {
      assert.equal(compareCurrencies(a, b), a === b ? 0 : a === pln ? -1 : b === pln ? 1 : a < b ? -1 : 1);
    }),
  );
});

test("docs/DECISIONS.md names all 34 currencies with their digits", () => {
  const text = readFileSync(new URL("../../docs/DECISIONS.md", import.meta.url), "utf8");
  const row = text.split("\n").find((line) => line.startsWith("| minor units |")) ?? "";
  const [none = "", two = ""] = row.split(/ have 0;/);
  const codesIn = (part: string) => part.match(/\b(?!ISO|HUF has)[A-Z]{3}\b/g) ?? [];
  const named = [
    ...codesIn(none).map((code) => [code, 0] as const),
    ...codesIn(two.split(" is kept to 2")[0] ?? "").map((code) => [code, 2] as const),
  ];
  assert.deepEqual(
    new Map([...named].sort()),
    new Map([...currencies].sort().map((code) => [code as string, minorUnitDigits(code)])),
  );
  assert.equal(currencies.length, 34);
});

describe("gap: currency symbols", () => {
  test("A currency code in any case is read as upper case", () =>
    assert.equal(parseCurrencyCode("uSd"), "USD"));
  test("ſ and ı, which upper-case into ASCII, make no currency code", () => {
    assert.notEqual(parseCurrencyCode("uſd"), "USD");
    assert.notEqual(parseCurrencyCode("ıdr"), "IDR");
    for (const text of ["ſek", "seſ"]) assert.equal(parseCurrencyCode(text), text);
  });
});
