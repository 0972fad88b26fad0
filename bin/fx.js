#!/usr/bin/env node
import module from "node:module";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major > 20 || (major === 20 && minor >= 12)) {
  // Node 20 has no compile cache.
  module.enableCompileCache?.();
  try {
    await import("../dist/main.js");
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND" || !error.message.includes("dist/main.js")) throw error;
    fail("not built yet. Run npm install, or npm run build, in the folder of fx.");
  }
} else {
  // Before anything else is loaded, which an older Node could not read.
  fail(`this is Node ${process.versions.node}, and fx needs 20.12 or newer. Nothing was done.`);
}

function fail(message) {
  process.stderr.write(`fx: ${message}\n`);
  process.exitCode = 2;
}
