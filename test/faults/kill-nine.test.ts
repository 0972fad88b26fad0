import assert from "node:assert/strict";
import { test } from "node:test";
import { entryKinds } from "../../src/core/journal.ts";
import { killNine } from "./kill-nine.ts";

test("no kill -9 loses an answered request of any kind or does one twice", { timeout: 60_000 }, async () => {
  const report = await killNine(5);
  for (const kind of entryKinds) assert.ok((report.answered[kind] ?? 0) > 5, JSON.stringify(report));
});
