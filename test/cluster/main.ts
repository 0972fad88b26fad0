import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { missingPackages } from "./cluster.ts";
import { showCluster } from "./show.ts";

const options = {
  "only-start": { type: "boolean", default: false },
  strict: { type: "boolean", default: false },
  loopback: { type: "boolean", default: false },
} as const;
const { values } = parseArgs({ options });

const missing = missingPackages();
if (missing !== undefined) {
  process.stderr.write(`${missing}\n`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "fx-cluster-"));
try {
  await showCluster({ folder, synchronousModeStrict: values.strict, namespaces: !values.loopback });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
