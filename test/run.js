import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";

// Runs every test, or those whose path contains an argument, after a build: some tests run the built command.
const root = new URL("..", import.meta.url);
const wanted = process.argv.slice(2);
const files = readdirSync(new URL("test", root), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts"))
  .map((file) => `test/${file}`)
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .sort();

if (files.length === 0) throw new Error(`There is no test for ${wanted.join(", ") || "anything"}.`);
runNode("build.js");
// The files are named one by one, because a pattern that matches nothing runs 0 tests and passes.
runNode(
  "--import",
  "tsx",
  "--test",
  "--test-timeout=120000",
  `--test-concurrency=${Math.max(2, availableParallelism())}`,
  ...files,
);

function runNode(...args) {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
