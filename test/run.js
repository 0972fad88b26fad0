import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

// Runs every test, or those whose path contains an argument, after a build: some tests run the built command.
// With --fast (under `node --import tsx`): those that start no process, without a build.
const root = new URL("..", import.meta.url);
const isFast = process.argv.includes("--fast");
const wanted = process.argv.slice(2).filter((argument) => argument !== "--fast");
const files = readdirSync(new URL("test", root), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts"))
  .map((file) => `test/${file}`)
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .filter((file) => !isFast || !startsProcesses(new URL(file, root)))
  .sort();

if (files.length === 0) {
  throw new Error(`There is no ${isFast ? "fast " : ""}test for ${wanted.join(", ") || "anything"}.`);
}
if (isFast) {
  // In this process, because loading the same modules again for each file takes as long as the tests.
  process.env.FX_TEST_POSTGRES = "none";
  for (const file of files) await import(new URL(file, root).href);
} else {
  run("npm", "run", "--silent", "build");
  // The files are named one by one, because a pattern that matches nothing runs 0 tests and passes.
  const concurrency = Math.max(2, availableParallelism());
  const options = ["--import", "tsx", "--test", "--test-timeout=120000", `--test-concurrency=${concurrency}`];
  run(process.execPath, ...options, ...files);
}

/** Whether a file imports node:child_process, itself or through others. An `await import` is for when it is needed. */
function startsProcesses(file, seen = new Set()) {
  if (seen.has(file.href)) return false;
  seen.add(file.href);
  const imports = readFileSync(file, "utf8").matchAll(/^(?:import|export) (?!type )[^;]*?from "([^"]+)";$/gm);
  return [...imports].some(
    ([, target]) =>
      target === "node:child_process" ||
      (/^\..*\.[jt]s$/.test(target) && startsProcesses(new URL(target, file), seen)),
  );
}

function run(command, ...args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
