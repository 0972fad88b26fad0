import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/** A new folder that lives until the end of the test. Its path has no symbolic links. */
export function newFolder(t: TestContext): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "fx-test-")));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
