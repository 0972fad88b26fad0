import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nameWords, parseNameSought } from "../../src/core/names.ts";

describe("a name is found", () => {
  for (const [name, words] of [
    ["Łukasz Żółć", ["lukasz", "zolc"]],
    ["ŚLĄSKA", ["slaska"]],
    ["Nowak-Kowalska", ["nowak", "kowalska"]],
    ["Nowak – Kowalska", ["nowak", "kowalska"]],
    ["Jan Jan", ["jan"]],
    ["O'Brien D’Angelo d´Arc", ["obrien", "dangelo", "darc"]],
    ["J. R. Kowalski", ["j", "r", "kowalski"]],
    [
      "Weiß Ørsted Đoković Ægir Œuvre İsmet Ilgız Þór",
      ["weiss", "orsted", "dokovic", "aegir", "oeuvre", "ismet", "ilgiz", "thor"],
    ],
    ["ΝΊΚΟΣ", ["νικοσ"]],
    ["王小明", ["王小明"]],
    ["🙂", ["🙂"]],
    [" - ", []],
  ] as const) {
    test(`${name}: by ${words.join(", ") || "nothing"}`, () => assert.deepEqual(nameWords(name), words));
  }

  test("alike whether its marks are letters of their own or composed", () => {
    assert.deepEqual(nameWords("Zażółć".normalize("NFC")), nameWords("Zażółć".normalize("NFD")));
  });

  test("by its words as by itself", () => {
    for (const name of ["Łukasz Weiß-Żółć", "김민준", "İstanbul ΝΊΚΟΣ"]) {
      assert.deepEqual(nameWords(nameWords(name).join(" ")), nameWords(name));
    }
  });
});

describe("what is looked for", () => {
  test("is a name's words", () => assert.deepEqual(parseNameSought(" Kow JAN "), ["kow", "jan"]));

  for (const [text, message] of [
    ["", "The name must have a letter or a digit."],
    [" -.' ", "The name must have a letter or a digit."],
    [Array.from({ length: 21 }, (_, nth) => `n${nth}`).join(" "), "The name must have at most 20 words."],
  ] as const) {
    test(`cannot be ${JSON.stringify(text.slice(0, 9))}`, () =>
      assert.throws(() => parseNameSought(text), { code: "invalid-request", message }));
  }
});
