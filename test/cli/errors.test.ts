import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { describeFailure, Interrupted, RequestFailed } from "../../src/cli/errors.ts";
import { type Exit, exitTable } from "../../src/cli/exits.ts";
import { type ErrorCode, FxError, isOfRequest } from "../../src/core/errors.ts";

/** The exit of each code, and what the hint says to do. */
const rows: Readonly<Record<ErrorCode, readonly [exit: Exit, hint?: RegExp]>> = {
  "invalid-request": [3],
  "invalid-pesel": [3],
  "pesel-mismatch": [3],
  underage: [3],
  "unsupported-currency": [3, /^fx rates lists/],
  "same-currency": [3],
  "invalid-amount": [3],
  "amount-too-small": [3],
  "insufficient-funds": [3, /^fx account show has/],
  "balance-limit": [3],
  "rate-changed": [3, /^fx quote has/],
  "already-reversed": [3, /^fx receipt shows/],
  "not-reversible": [3, /^Make the opposite change/],
  "account-closed": [3, /^fx account create opens it again/],
  "account-blocked": [3, /^fx account show has the reason, and fx account unblock/],
  "account-not-blocked": [3],
  "account-not-empty": [3, /fx account withdraw/],
  "idempotency-key-reused": [3, /^fx receipt --pesel PESEL --key KEY/],
  "method-not-allowed": [3],
  "account-not-found": [4, /^fx account create opens one/],
  "not-found": [4],
  "account-exists": [5, /^fx account show has it/],
  "rates-unavailable": [6],
  "trading-suspended": [6, /fx trading resume/],
  "storage-unavailable": [7],
  "rate-limited": [7],
  overloaded: [7],
  unreachable: [7, /fx serve, or name a store/],
  internal: [1],
  "outcome-unknown": [8, /fx trading shows what holds now/],
  unauthorized: [10, /^Set FX_TOKEN, or FX_TOKEN_FILE .*\. fx doctor shows which one is sent\.$/],
  forbidden: [10, /^fx doctor shows which token/],
};

describe("a failure", () => {
  for (const [code, [exit, hint]] of Object.entries(rows) as [ErrorCode, (typeof rows)[ErrorCode]][]) {
    test(`A failure with ${code} is exit ${exit}, ${hint === undefined ? "without a hint" : "with a hint"}`, () => {
      const told = describeFailure(new FxError(code, "It failed."));
      assert.deepEqual([told.code, told.message, told.exit], [code, "It failed.", exit]);
      assert.match(told.hint ?? "", hint ?? /^$/);
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
