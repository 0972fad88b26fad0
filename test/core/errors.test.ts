import assert from "node:assert/strict";
import { test } from "node:test";
import { answerCodes, FxError } from "../../src/core/errors.ts";

test("the codes by which programs tell errors apart are these", () => {
  assert.equal(
    answerCodes.join(" "),
    "invalid-request invalid-pesel pesel-mismatch underage unsupported-currency same-currency invalid-amount " +
      "amount-too-small insufficient-funds balance-limit rate-changed already-reversed not-reversible account-closed account-not-empty account-not-found not-found method-not-allowed " +
      "account-exists idempotency-key-reused rates-unavailable storage-unavailable internal unauthorized forbidden rate-limited " +
      "overloaded",
  );
});

test("an error carries its code, message, fields, time to try again, and cause", () => {
  const fields = [{ pointer: "/name", detail: "must not be empty" }];
  const cause = new Error("the disk");
  const error = new FxError("overloaded", "Try again.", { fields, retryAfterSeconds: 3, cause });
  assert.deepEqual(
    [error.name, error.code, error.message, error.fields, error.retryAfterSeconds, error.cause],
    ["FxError", "overloaded", "Try again.", fields, 3, cause],
  );
});

test("an error without them has none, not even an empty cause that a log would print", () => {
  const error = new FxError("internal", "It failed.");
  assert.deepEqual([error.fields, error.retryAfterSeconds, "cause" in error], [undefined, undefined, false]);
});
