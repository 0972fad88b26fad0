import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";

// Runs the tests, or those whose path contains an argument, after a build: some tests run the built command.
// With --fast: those that neither start a process or thread nor play long random sequences, without a build.
// With --watch: again after each change of src, test or docs.
const root = new URL("..", import.meta.url);
const options = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const unknown = options.filter((option) => !["--fast", "--watch"].includes(option));
if (unknown.length > 0) throw new Error(`There is no ${unknown.join(", ")}: only --fast and --watch.`);
const isFast = options.includes("--fast");
if (options.includes("--watch")) await watchChanges();
/**
 * Tests that break servers, disks, networks and rows, play long random sequences or transcripts, install fx, compare
 * its channels, follow the documents, or press keys take as long as all the others: they run in .ci/run.
 */
const leftOut = [
  ...["deploy/", "faults/", "simulation/", "rates/sequences", "http/long-reads"],
  ...["ledger/damage", "ledger/audit-columns", "ledger/clock"],
  ...["postgres/opening", "postgres/durability", "postgres/limits", "postgres/commit-order"],
  ...["channels", "privacy", "proxies", "docs-clients", "docs-scripts", "docs-transcripts"],
  ...["cli/bringing-over", "cli/hostile", "cli/manual", "cli/prices", "cli/terminal.test", "cli/transcripts"],
  "cli/commands/completion",
];
/** Tests that start no process and take long all the same: random values, every value of a list, waits. */
const long = [
  ...["wire/requests", "client/settling", "batch/encoding", "batch/identity", "cli/commands/batch/"],
  ...["http/bulk", "http/parameters", "http/rate-limit"],
];
/** Tests that take a minute or nearly. They are begun first, so that nothing waits for one of them at the end. */
const longest = ["web/looks", "channels", "faults/under-load", "cli/commands.test", "ledger/audit-columns"];
const isAmong = (starts, file) => starts.some((start) => file.startsWith(`test/${start}`));
/** The environment without the caller's own settings of fx and of PostgreSQL's clients. */
const surroundings = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(FX_(?!TEST_)|PG)/.test(name)),
);
const files = readdirSync(new URL("test", root), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts"))
  .map((file) => `test/${file}`)
  .filter((file) =>
    wanted.length === 0
      ? !isAmong(leftOut, file) && !(isFast && isAmong(long, file))
      : wanted.some((part) => file.includes(part)),
  )
  .sort();
const startsProcess = (file) => imports(new URL(file, root), /^node:(child_process|worker_threads)$/);
const inProcess = files.filter((file) => !startsProcess(file));
const withProcesses = files.filter(startsProcess);

if ((isFast ? inProcess : files).length === 0) {
  throw new Error(`There is no ${isFast ? "fast " : ""}test for ${wanted.join(", ") || "anything"}.`);
}
// The files are named one by one, because a pattern that matches nothing runs 0 tests and passes.
const cores = Math.max(2, availableParallelism());
// Twice as many as there are cores, because many tests wait for a process or a clock.
const atOnce = 2 * cores;
const runner = ["--import", "tsx", "--test", `--test-concurrency=${atOnce}`];
if (isFast) {
  await run(
    { FX_TEST_POSTGRES: "none" },
    process.execPath,
    ...runner,
    "--test-timeout=1800000",
    ...bundles(inProcess, cores + 1),
  );
} else {
  const [env] = await Promise.all([sharedPostgres(), run({}, "npm", "run", "--silent", "build")]);
  // Those that wait most, one after the other, so that each bundle has as many of them.
  const all = bundles([...withProcesses, ...inProcess], atOnce);
  await run(env, process.execPath, ...runner, "--test-timeout=1800000", ...all);
}

/**
 * A few files that import all of these, in the order in which they are to begin: to load the same modules again for each
 * takes as long as its tests. Three kinds stay alone: the longest; a file whose hooks for each test would be those of
 * all, except one that closes what a test has opened; and one that measures its process.
 */
function bundles(files, most) {
  const staysAlone = (file) =>
    /^(before|after)Each\((?!closeAll)|process\.cpuUsage/m.test(readFileSync(new URL(file, root), "utf8"));
  const begunFirst = files.filter((file) => isAmong(longest, file));
  const alone = [...new Set([...begunFirst, ...files.filter(staysAlone)])];
  const together = files.filter((file) => !alone.includes(file));
  const groups = Array.from({ length: Math.min(most, together.length) }, (_, nth) =>
    together.filter((_file, index) => index % most === nth),
  );
  const folder = mkdtempSync(join(tmpdir(), "fx-tests-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return [...alone.map((file) => [file]), ...groups].map((own, nth) => {
    // Node runs the files in the order of their names.
    const path = join(folder, `${String(nth).padStart(3, "0")}.test.mjs`);
    writeFileSync(path, own.length === 1 ? importing(own[0]) : importingAll(own));
    return path;
  });
}

function importing(file) {
  return `import ${JSON.stringify(new URL(file, root).href)};\n`;
}

/** The first test lasts until all are loaded, since hooks after all tests run as soon as none is left. */
function importingAll(files) {
  const imports = files.map((file) => `await import(${JSON.stringify(new URL(file, root).href)});\n`);
  return `import { test } from "node:test";
let isLoaded;
const loaded = new Promise((resolve) => (isLoaded = resolve));
test("The files of this process are loaded", () => loaded);
${imports.join("")}isLoaded();
`;
}

/** Runs the other arguments, and again after each change, until an interrupt. */
async function watchChanges() {
  const others = process.argv.slice(2).filter((argument) => argument !== "--watch");
  const watchers = ["src", "test", "docs"].map((folder) => watch(new URL(folder, root), { recursive: true }));
  for (;;) {
    const changed = Promise.race(watchers.map((watcher) => once(watcher, "change")));
    await once(spawn(process.execPath, ["test/run.js", ...others], { cwd: root, stdio: "inherit" }), "exit");
    await changed;
  }
}

/** Starts the server that all files share, which ends with this process. Gives what tells them of it. */
async function sharedPostgres() {
  if (!files.some((file) => imports(new URL(file, root), /\/support\/(adapters|postgres)\.ts$/))) return {};
  const { tsImport } = await import("tsx/esm/api");
  const { sharedServer } = await tsImport("./support/postgres.ts", import.meta.url);
  return { FX_TEST_POSTGRES_SHARED: await sharedServer() };
}

/** Whether a file imports what this names, itself or through others. An `await import` is for when it is needed. */
function imports(file, name, seen = new Set()) {
  if (seen.has(file.href)) return false;
  seen.add(file.href);
  const targets = readFileSync(file, "utf8").matchAll(/^(?:import|export) (?!type )[^;]*?from "([^"]+)";$/gm);
  return [...targets].some(
    ([, target]) =>
      name.test(target) || (/^\..*\.[jt]s$/.test(target) && imports(new URL(target, file), name, seen)),
  );
}

async function run(env, command, ...args) {
  const child = spawn(command, args, { cwd: root, stdio: "inherit", env: { ...surroundings, ...env } });
  const [status] = await once(child, "exit");
  if (status !== 0) process.exit(status ?? 1);
}
