import assert from "node:assert/strict";
import { test } from "node:test";
import { killNine } from "./kill-nine.ts";

test("no kill -9 loses an answered order or settles one twice", { timeout: 60_000 }, async () => {
  const report = await killNine(5);
  assert.ok(report.answered > 100, JSON.stringify(report));
});
