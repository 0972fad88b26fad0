#!/usr/bin/env node
// CommonJS, in syntax that Node 12 reads: an older Node than fx needs is told so before anything else is loaded.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major > 20 || (major === 20 && minor >= 12)) start();
else fail(`this is Node ${process.versions.node}, and fx needs 20.12 or newer. Nothing was done.`);

function start() {
  const { enableCompileCache } = require("node:module");
  // Node 20 has no compile cache.
  if (enableCompileCache) enableCompileCache();
  import("../dist/main.js").catch((error) => {
    if (error.code !== "ERR_MODULE_NOT_FOUND" || !error.message.includes("dist/main.js")) throw error;
    fail("not built yet. Run npm run build in the folder of fx.");
  });
}

function fail(message) {
  process.stderr.write(`fx: ${message}\n`);
  process.exitCode = 2;
}
