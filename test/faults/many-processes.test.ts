import assert from "node:assert/strict";
import { test } from "node:test";
import { manyProcesses } from "./many-processes.ts";

test("four processes on one database lose nothing, double nothing and overdraw nothing", {
  timeout: 90_000,
}, async () => {
  for (const report of await manyProcesses(6)) {
    assert.ok(report.settled > 20 && report.replayed > 2 && report.opened > 2, JSON.stringify(report));
    assert.ok((report.refusals["400 insufficient-funds"] ?? 0) > 2, JSON.stringify(report));
  }
});
