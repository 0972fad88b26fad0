#!/usr/bin/env node
import module from "node:module";

// Node 20 has no compile cache.
module.enableCompileCache?.();
try {
  await import("../dist/main.js");
} catch (error) {
  if (error.code !== "ERR_MODULE_NOT_FOUND" || !error.message.includes("dist/main.js")) throw error;
  process.stderr.write("fx: not built yet. Run npm install, or npm run build, in the folder of fx.\n");
  process.exitCode = 1;
}
