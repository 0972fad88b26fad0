import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCluster } from "./cluster.ts";

await startCluster({ folder: mkdtempSync(join(tmpdir(), "fx-cluster-")) });
