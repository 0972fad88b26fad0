import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { describeFailure, Interrupted, RequestFailed } from "../../src/cli/errors.ts";
import { exitTable, outcomes } from "../../src/cli/exits.ts";
import { answerCodes, FxError, isOfRequest } from "../../src/core/errors.ts";

// Whole messages are in the recorded cases, and test/docs.test.ts asserts that the exits are those of docs/ERRORS.md.
describe("a failure", () => {
  test("Every failure has an exit of the table, and one that refuses a line of a batch does not end the batch", () => {
    for (const code of answerCodes) {
      const [exit] = outcomes[code];
      assert.ok(exitTable.some(([listed]) => listed === exit));
      assert.equal(isOfRequest(code), [3, 4, 5].includes(exit), code);
    }
  });

  test("A failure that passes says when to try again", () => {
    const { hint } = describeFailure(new FxError("rate-limited", "Too many.", { retryAfterSeconds: 120 }));
    assert.equal(hint, "Try again in 120 s.");
  });

  for (const [code, exit, isUnknown] of [
    ["insufficient-funds", 3, false],
    ["storage-unavailable", 8, true],
    ["internal", 1, true],
  ] as const) {
    test(`A failure with ${code} of a request that moves money is exit ${exit}, ${isUnknown ? "with" : "without"} its key`, () => {
      const told = describeFailure(new RequestFailed("k-1", new FxError(code, "It failed.")));
      assert.deepEqual([told.exit, told.key], [exit, isUnknown ? "k-1" : undefined]);
      assert.equal(/--key k-1/.test(told.hint ?? ""), isUnknown);
    });
  }

  test("A failure of a bug is exit 1, and its text has no PESEL", () => {
    const { exit, message } = describeFailure(new Error("no 44051401359 here"));
    assert.deepEqual([exit, message], [1, "no 440514***** here"]);
  });

  test("An interrupt after a request was carried out says how to see what was done", () => {
    const { hint, exit, key } = describeFailure(new Interrupted("SIGINT", { key: "k", state: "done" }));
    assert.match(hint ?? "", /--key k shows it/);
    assert.deepEqual([exit, key], [130, "k"]);
  });
});
