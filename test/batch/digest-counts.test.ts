import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DigestCounts } from "../../src/batch/digest-counts.ts";

/** Characters of base64url. */
const letters = "AZaz09-_";

test("a digest's count is how often it was counted, whatever was counted in between", () => {
  const digest = fc.string({ unit: fc.constantFrom(...letters), minLength: 16, maxLength: 16 });
  fc.assert(
    fc.property(
      fc.uniqueArray(digest, { minLength: 1, maxLength: 3000, size: "max" }),
      fc.array(fc.nat(), { maxLength: 6000, size: "max" }),
      (digests, picks) => {
        const counts = new DigestCounts();
        const model = new Map<string, number>();
        const asked = [...digests, ...picks.map((pick) => digests[pick % digests.length] as string)];
        for (const each of asked) {
          model.set(each, (model.get(each) ?? 0) + 1);
          assert.equal(counts.count(each), model.get(each));
        }
      },
    ),
    { numRuns: 20 },
  );
});

test("digests that differ in one character are counted apart", () => {
  const counts = new DigestCounts();
  const digest = "A".repeat(16);
  counts.count(digest);
  for (let at = 0; at < 16; at += 1) {
    for (const letter of letters.slice(1)) {
      assert.equal(counts.count(digest.slice(0, at) + letter + digest.slice(at + 1)), 1);
    }
  }
  assert.equal(counts.count(digest), 2);
});
