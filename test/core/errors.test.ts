import assert from "node:assert/strict";
import { test } from "node:test";
import { FxError } from "../../src/core/errors.ts";

test("An error carries its code, message, fields, time to try again, and cause", () => {
  const fields = [{ pointer: "/name", detail: "must not be empty" }];
  const cause = new Error("the disk");
  const error = new FxError("overloaded", "Try again.", { fields, retryAfterSeconds: 3, cause });
  assert.deepEqual(
    [error.name, error.code, error.message, error.fields, error.retryAfterSeconds, error.cause],
    ["FxError", "overloaded", "Try again.", fields, 3, cause],
  );
});

test("An error without fields, pause and cause has none of them, not even an empty cause", () => {
  const error = new FxError("internal", "It failed.");
  assert.deepEqual([error.fields, error.retryAfterSeconds, "cause" in error], [undefined, undefined, false]);
});
