import assert from "node:assert/strict";
import { test } from "node:test";
import { failover } from "./failover.ts";

test("a primary that is killed under load takes no answered order with it, and the standby serves within seconds", {
  timeout: 90_000,
}, async () => {
  const report = await failover({ seconds: 1, noticeMs: 300 });
  assert.ok(report.answeredBefore > 20 && report.answered > report.answeredBefore, JSON.stringify(report));
  assert.ok(report.gapAfterPromotionMs.max < 5000, JSON.stringify(report));
});
