import assert from "node:assert/strict";
import { test } from "node:test";
import { holderWords, nameWords } from "../../src/core/names.ts";

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
  ["Guðrún Ħal Ŋai Ŧor", ["gudrun", "hal", "nai", "tor"]],
  ["ΝΊΚΟΣ", ["νικοσ"]],
  ["王小明", ["王小明"]],
  ["🙂", ["🙂"]],
  [" - ", []],
] as const) {
  test(`The name ${name} is found by ${words.join(", ") || "nothing"}`, () =>
    assert.deepEqual(nameWords(name), words));
}

test("A holder is found by the words of both names", () => {
  assert.deepEqual(holderWords({ name: "Anna Maria", surname: "Lis" }), ["anna", "maria", "lis"]);
});

test("A name is found alike whether its marks are letters of their own or composed", () => {
  assert.deepEqual(nameWords("Zażółć".normalize("NFC")), nameWords("Zażółć".normalize("NFD")));
});

test("A name is found by its words as by itself", () => {
  for (const name of ["Łukasz Weiß-Żółć", "김민준", "İstanbul ΝΊΚΟΣ"]) {
    assert.deepEqual(nameWords(nameWords(name).join(" ")), nameWords(name));
  }
});
