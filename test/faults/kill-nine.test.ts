import assert from "node:assert/strict";
import { test } from "node:test";
import { entryKinds } from "../../src/core/journal.ts";
import { killNine } from "./kill-nine.ts";

test("A kill -9 neither loses an answered request of any kind nor does one twice", async () => {
  const report = await killNine(5);
  for (const kind of entryKinds) assert.ok((report.answeredByKind[kind] ?? 0) > 5, JSON.stringify(report));
});
