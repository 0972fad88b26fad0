import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { type TestContext, test } from "node:test";

/**
 * A test for each case of a file of recorded cases, which begin with "# " and their names. TRANSCRIPTS_WRITE=1 writes the
 * file anew.
 * @param play gives the case as it is now: its requests, and their answers
 * @param mayWrite false where another suite writes the file
 */
export function testCases(
  file: URL,
  play: (recorded: string, t: TestContext) => Promise<string>,
  mayWrite = true,
): void {
  for (const recorded of readFileSync(file, "utf8").split(/^(?=# )/m)) {
    test(recorded.slice(2, recorded.indexOf("\n")), async (t) => {
      const again = await play(recorded, t);
      if (process.env.TRANSCRIPTS_WRITE === undefined) assert.equal(again, recorded);
      else if (mayWrite)
        writeFileSync(
          file,
          readFileSync(file, "utf8").replace(recorded, () => again),
        );
    });
  }
}
