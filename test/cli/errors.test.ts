import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { describeFailure, Interrupted, RequestFailed } from "../../src/cli/errors.ts";
import { exitTable, outcomes } from "../../src/cli/exits.ts";
import { type ErrorCode, FxError, isOfRequest } from "../../src/core/errors.ts";

describe("a failure", () => {
  // test/docs.test.ts asserts that the exits are those of docs/ERRORS.md.
  for (const [code, [exit, hint]] of Object.entries(outcomes) as [ErrorCode, readonly [number, string?]][]) {
    test(`A failure with ${code} is exit ${exit}, ${hint === undefined ? "without a hint" : "with a hint"}`, () => {
      const told = describeFailure(new FxError(code, "It failed."));
      assert.deepEqual([told.code, told.message, told.exit], [code, "It failed.", exit]);
      assert.equal(told.hint, hint ?? null);
      assert.ok(exitTable.some(([listed]) => listed === exit));
      // A line of a batch with this exit does not end the batch.
      assert.equal(isOfRequest(code), [3, 4, 5].includes(exit));
    });
  }

  test("A failure that passes says when to try again", () => {
    const { hint } = describeFailure(new FxError("rate-limited", "Too many.", { retryAfterSeconds: 120 }));
    assert.equal(hint, "Try again in 120 s.");
  });

  for (const [code, exit, isUnknown] of [
    ["insufficient-funds", 3, false],
    ["storage-unavailable", 8, true],
    ["internal", 1, true],
    ["outcome-unknown", 8, true],
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

  for (const [state, hint, key] of [
    ["unsent", /^$/, undefined],
    ["sent", /--key k finishes it/, "k"],
    ["done", /--key k shows it/, "k"],
    ["batch", /--id k\. Nothing is done twice/, undefined],
  ] as const) {
    test(`An interrupt in the state ${state} says how to go on, if something may be done`, () => {
      const told = describeFailure(new Interrupted("SIGINT", { key: "k", state }));
      assert.match(told.hint ?? "", hint);
      assert.deepEqual([told.exit, told.key], [130, key]);
    });
  }
});
