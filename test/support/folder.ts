import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext } from "node:test";

/** A new folder that lives until the end of the test, or of all tests of the file. Its path has no symbolic links. */
export function newFolder(t?: TestContext): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "fx-test-")));
  const remove = () => rmSync(path, { recursive: true, force: true });
  if (t === undefined) after(remove);
  else t.after(remove);
  return path;
}
