import assert from "node:assert/strict";
import { test } from "node:test";
import { manyProcesses } from "./many-processes.ts";

test("four processes on one database lose nothing, double nothing and overdraw nothing", {
  timeout: 90_000,
}, async () => {
  for (const report of await manyProcesses(6)) {
    assert.ok(report.settled > 100 && report.replayed > 20 && report.opened > 10, JSON.stringify(report));
    assert.ok((report.refusals["400 insufficient-funds"] ?? 0) > 10, JSON.stringify(report));
  }
});
