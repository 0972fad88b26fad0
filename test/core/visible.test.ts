import assert from "node:assert/strict";
import { test } from "node:test";
import { unfitForNames } from "../../src/core/account.ts";
import { visible, visibleLines } from "../../src/core/visible.ts";

const unfit = new RegExp(`[${unfitForNames}]`, "u");

function allCharacters(): string[] {
  const characters: string[] = [];
  for (let code = 0; code <= 0x10ffff; code += 1) characters.push(String.fromCodePoint(code));
  return characters;
}

test("Text from elsewhere is shown with the characters that no name may have as escapes, and otherwise unchanged", () => {
  for (const character of allCharacters()) {
    const shown = visible(character);
    if (unfit.test(character)) assert.match(shown, /^(\\[nrt]|(\\u[0-9a-f]{4}){1,2})$/);
    else assert.equal(shown, character);
  }
});

test("Text for a reader is the same text to a reader of JSON", () => {
  const characters = allCharacters();
  for (let first = 0; first < characters.length; first += 4096) {
    // Surrogates one after the other would be one character.
    const json = JSON.stringify(characters.slice(first, first + 4096).join("a"));
    for (const shown of [visible(json), visibleLines(json)]) {
      assert.equal(JSON.parse(shown), JSON.parse(json));
    }
  }
});

test("Text for a reader keeps tabs and line ends where it has several lines", () => {
  assert.equal(visibleLines("a\tb\r\nc\u001b\u009b\u202e\n"), "a\tb\r\nc\\u001b\\u009b\\u202e\n");
  assert.equal(visible("a\tb\r\nc\u001b"), "a\\tb\\r\\nc\\u001b");
});

test("Text for a reader keeps what names are written with", () => {
  for (const name of [
    "Łucja Święcka-Ząb",
    "علی\u200cرضا",
    "नमस्ते",
    "山田太郎",
    "👩‍💻",
    "O'Brien",
    "Zoe\u0301",
  ]) {
    assert.equal(visible(name), name);
  }
});
