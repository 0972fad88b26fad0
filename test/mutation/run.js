import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";

// Mutates the files of src that decide about money, or those whose path contains an argument. A mutant is to be killed
// by the tests of its own file, test/core/account.test.ts for src/core/account.ts, which start no process.
const root = new URL("../..", import.meta.url);
const auditTests = "test/ledger/audit.test.ts test/ledger/audit-findings.test.ts";
/** Files whose tests have other names. */
const tests = {
  "ledger/decision":
    "test/ledger/contract.test.ts test/ledger/table-in-force.test.ts test/ledger/refusal.test.ts",
  "ledger/audit": auditTests,
  "ledger/chain": auditTests,
};
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
      env: { ...process.env, FX_TESTS: tests[part] ?? `test/${part}.test.ts` },
      stdio: "inherit",
    },
  );
  if (status !== 0) process.exitCode = 1;
}
