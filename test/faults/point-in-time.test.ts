import assert from "node:assert/strict";
import { test } from "node:test";
import { cannotRestore, pointInTime } from "./point-in-time.ts";

test("a ledger restored to a moment has what was answered before it, nothing that was sent after it, and a clean audit", {
  skip: cannotRestore(),
  timeout: 120_000,
}, async () => {
  const { answered, lost, again } = await pointInTime({ seconds: 0.5 });
  assert.ok(
    answered.before > 20 && answered.after > 20 && lost.entries > 20,
    JSON.stringify({ answered, lost }),
  );
  assert.ok(again.replayed >= answered.before && again.settled > 0, JSON.stringify(again));
});
