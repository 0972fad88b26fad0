import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";

// Mutates the files of src that decide about money, or those whose path contains an argument. A mutant is to be killed
// by the tests of its own file, test/core/account.test.ts for src/core/account.ts, over SQLite alone.
const root = new URL("../..", import.meta.url);
/** The tests of files that have none of their name, or that more rules are asserted for elsewhere; the fastest first. */
const tests = {
  "ledger/decision": ["table-in-force", "refusal", "clock", "group-commit", "contract"],
  "ledger/audit": ["audit-findings", "checkpoint", "clock", "audit"],
  "ledger/chain": ["audit-findings", "clock", "checkpoint", "contract"],
};
const testsOf = (part) =>
  (tests[part]?.map((name) => `ledger/${name}`) ?? [part]).map((name) => `test/${name}.test.ts`);
const wanted = process.argv.slice(2);
const parts = readdirSync(new URL("test/core", root))
  .map((file) => `core/${file.replace(".test.ts", "")}`)
  .concat("ledger/group-commit", "ledger/decision", "ledger/audit", "ledger/chain", "rates/published")
  .filter((part) => wanted.length === 0 || wanted.some((want) => `src/${part}.ts`.includes(want)));

if (parts.length === 0) throw new Error(`No file that is mutated is at ${wanted.join(", ")}.`);
for (const part of parts) {
  const { status } = spawnSync(
    "npx",
    ["stryker", "run", "test/mutation/stryker.json", "--mutate", `src/${part}.ts`],
    {
      cwd: root,
      env: { ...process.env, FX_TESTS: testsOf(part).join(" ") },
      stdio: "inherit",
    },
  );
  if (status !== 0) process.exitCode = 1;
}
