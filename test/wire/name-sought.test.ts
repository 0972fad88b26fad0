import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseNameSought } from "../../src/wire/name-sought.ts";

describe("what is looked for", () => {
  test("A name sought is the words of the name", () =>
    assert.deepEqual(parseNameSought(" Kow JAN "), ["kow", "jan"]));

  for (const [text, message] of [
    ["", "The name must have a letter or a digit."],
    [" -.' ", "The name must have a letter or a digit."],
    [Array.from({ length: 21 }, (_, nth) => `n${nth}`).join(" "), "The name must have at most 20 words."],
  ] as const) {
    test(`A name sought cannot be ${JSON.stringify(text.slice(0, 9))}`, () =>
      assert.throws(() => parseNameSought(text), { code: "invalid-request", message }));
  }
});
